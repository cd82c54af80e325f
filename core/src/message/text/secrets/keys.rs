//! Private keys of several lines.

use std::borrow::Cow;

use super::{MASK, mask};

/// Replaces each private key in a text of several lines by one line, `***`. Logs are cut at the beginning: if only the
/// end of a key is left, the lines above it that look like a key are removed too.
pub fn without_keys(text: &str) -> Cow<'_, str> {
    const MARK: &str = "PRIVATE KEY";
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<Cow<'_, str>> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        let is_mark = |word: &str| line.contains(word) && line.contains(MARK);
        let (begins, ends) = (is_mark("-----BEGIN "), is_mark("-----END "));
        if begins {
            within = !ends;
            kept.push(mask(line).into_owned().into());
        } else if ends {
            if !std::mem::take(&mut within) {
                while kept.last().is_some_and(|above| is_of_key(above)) {
                    kept.pop();
                }
                kept.push(MASK.into());
            }
        } else if !(within && is_of_key(line)) {
            within = false;
            kept.push(line.into());
        }
    }
    kept.join("\n").into()
}

/// Whether the line can be part of a key: base64, a header (`Proc-Type: 4,ENCRYPTED`), or the blank line after the
/// headers.
fn is_of_key(line: &str) -> bool {
    let line = line.trim();
    let is_base64 =
        !line.contains(' ') && line.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    is_base64 || ["Proc-Type:", "DEK-Info:"].iter().any(|header| line.starts_with(header))
}
