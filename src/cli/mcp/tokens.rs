//! An upper estimate of the tokens of a text, so that answers stay within their bounds.
//!
//! It needs no vocabulary. The tests compare it with the tokenizer `o200k_base`.

/// Estimates the tokens of a text. It is higher than the real number by a third for most texts.
pub(super) fn at_most(text: &str) -> usize {
    let mut rest = text.as_bytes();
    // In tenths of a token.
    let mut sum = 0;
    let mut follows_digit = false;
    while let Some(&first) = rest.first() {
        let kind = Kind::of(first);
        let length = rest.iter().take_while(|byte| Kind::of(**byte) == kind).count();
        let (run, after) = rest.split_at(length);
        let is_at_digit = follows_digit || after.first().is_some_and(u8::is_ascii_digit);
        sum += match kind {
            Kind::Letter => 10 * word(run, is_at_digit),
            Kind::Digit => 10 * length.div_ceil(3),
            // A single space belongs to the word after it.
            Kind::Space => 10 * (length - 1),
            Kind::Mark => 6 * length,
            // Characters of other scripts have up to four bytes, and often a token each.
            Kind::Other => 7 * length,
        };
        follows_digit = kind == Kind::Digit;
        rest = after;
    }
    // The reserve is for text without words, such as keys and hashes.
    (sum * 13).div_ceil(100)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Space,
    Mark,
    Other,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'0'..=b'9' => Self::Digit,
            b' ' => Self::Space,
            0..=127 => Self::Mark,
            _ => Self::Other,
        }
    }
}

/// Tokens of a run of letters. What does not look like a word, such as the suffix of a pod, has a token for one or two
/// letters.
fn word(letters: &[u8], is_at_digit: bool) -> usize {
    let vowels = letters.iter().filter(|letter| b"aeiouyAEIOUY".contains(letter)).count();
    if is_at_digit || vowels * 5 < letters.len() {
        return (letters.len() * 7).div_ceil(10);
    }
    // A capital begins another token.
    let capitals =
        letters.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count();
    letters.len().div_ceil(7) + capitals
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tiktoken_rs::{CoreBPE, o200k_base_singleton};

    fn tokenizer() -> &'static CoreBPE {
        o200k_base_singleton()
    }

    /// The English texts of all causes, as an answer has them.
    fn texts() -> impl Iterator<Item = String> {
        shindan_core::rules::known().map(|known| {
            let explain = known.explain(shindan_core::language::Language::English);
            let texts = [explain.meaning, explain.distinguish, explain.action, explain.source];
            serde_json::to_string(&serde_json::json!({"cause": known.cause, "untrusted": texts})).unwrap()
        })
    }

    #[test]
    fn texts_of_the_catalogue_have_no_more_tokens_than_estimated() {
        let (mut real, mut estimated) = (0, 0);
        for text in texts() {
            let of_text = tokenizer().encode_ordinary(&text).len();
            assert!(of_text <= at_most(&text), "{of_text} > {}: {text}", at_most(&text));
            real += of_text;
            estimated += at_most(&text);
        }
        assert!(estimated * 10 < real * 18, "the estimate is of use: {estimated} for {real}");
    }

    #[test]
    fn names_hashes_and_keys_have_no_more_tokens_than_estimated() {
        for text in [
            "web-7d9f8b6c5-x2x4z ".repeat(30),
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ".repeat(10),
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0 ".repeat(10),
            "2026-11-21T09:00:00Z ".repeat(30),
            "コンテナ web はメモリの上限 15Mi を超え、起動のたびに強制終了される。".repeat(20),
            "診断 ❌ 🚀 ∑ Ж ".repeat(40),
        ] {
            let real = tokenizer().encode_ordinary(&text).len();
            assert!(real <= at_most(&text), "{real} > {}: {text}", at_most(&text));
        }
    }

    proptest! {
        #[test]
        fn random_texts_have_no_more_tokens_than_estimated(text in "([a-z]{4,12} |[a-zA-Z0-9+/]{4,40} |[!-~]{4,20} |[0-9a-f]{8,64} ){20,40}") {
            let real = tokenizer().encode_ordinary(&text).len();
            prop_assert!(real <= at_most(&text), "{real} > {}", at_most(&text));
        }
    }
}
