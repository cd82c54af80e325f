//! Judges whether a value is a secret or a word of a sentence.

use crate::message::code;

/// Whether this is a command of Rails, and not a value: `bin/rails credentials:edit`.
pub(super) fn is_task(before: &str, value: &str) -> bool {
    let task = value.trim_end_matches(['`', '\'', '"', '.']);
    before.ends_with("credentials:") && matches!(task, "edit" | "show" | "diff" | "fetch")
}

/// Whether this is the name of a secret in AWS: `arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf`.
pub(super) fn is_resource(before: &str) -> bool {
    let word = before.rsplit([' ', '"', '\'', '=']).next().unwrap_or_default();
    word.starts_with("arn:") && word.ends_with(":secret:")
}

/// Whether the value is the next clause of an error: `failed to retrieve credentials: operation error STS`.
pub(super) fn is_next_clause(before: &str, value: &str) -> bool {
    const FAILURES: [&str; 6] = ["failed to ", "cannot ", "can't ", "could not ", "couldn't ", "unable to "];
    const VERBS: [&str; 15] = [
        "retrieve", "fetch", "get", "obtain", "load", "read", "find", "verify", "parse", "validate", "decode",
        "refresh", "request", "resolve", "acquire",
    ];
    // `Invalid credentials: MINIO_ROOT_USER length should be at least 3`.
    if before.ends_with("nvalid credentials: ") && is_variable(value) {
        return true;
    }
    let Some(clause) = before.strip_suffix(": ").filter(|_| value.bytes().all(|b| b.is_ascii_lowercase())) else {
        return false;
    };
    let clause = clause.rsplit([':', '\n', ';']).next().unwrap_or(clause).to_ascii_lowercase();
    let verb = |failure: &&str| clause.rsplit_once(*failure).and_then(|(_, rest)| rest.split(' ').next());
    FAILURES.iter().filter_map(verb).any(|verb| VERBS.contains(&verb))
}

/// Whether this is the name of an environment variable of several words.
fn is_variable(value: &str) -> bool {
    value.split('_').count() > 1
        && value.split('_').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase()))
}

/// Whether this is a value of a command that the reader fills in: `<PASSWORD>`, and in JSON `'<PASSWORD>'`, between the
/// quotes that end and begin the argument of the shell.
pub(super) fn is_placeholder(value: &str) -> bool {
    let name = value.trim_matches('\'').strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-'))
}

/// Whether this is the name of an error of the system, as Erlang and Node.js print it: `/var/lib/x/.cookie: eacces`.
pub(super) fn is_errno(value: &str) -> bool {
    let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
    let is_whole = value[end..].bytes().next().is_none_or(|b| matches!(b, b'"' | b'\'' | b',' | b')' | b'}' | b']'));
    is_whole && code::is_errno(&value[..end])
}

/// Rejects the part after the colon in `host:5000/image@sha256`.
pub(super) fn is_no_port(value: &str) -> bool {
    let first = value.split('/').next().unwrap_or_default();
    first.is_empty() || !first.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether there are both letters and digits, and it is not a number with its unit: `30s`, `1.5Gi`.
pub(super) fn is_letters_and_digits(value: &str) -> bool {
    let is_amount = || value.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<f64>().is_ok();
    is_no_word(value) && has_digit(value) && value.bytes().any(|b| b.is_ascii_alphabetic()) && !is_amount()
}

/// Whether there are upper-case letters, lower-case letters and digits. No name in Kubernetes has all of them.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].iter().all(|is| value.iter().any(is))
}

/// Whether the value is not a natural word: it contains a digit, inner capitals or base64 padding.
pub(super) fn is_random(value: &str) -> bool {
    let inner =
        || value.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase());
    is_no_word(value) && (has_digit(value) || inner() || value.ends_with('='))
}

/// Rejects words that follow `password:` in a sentence, the start of an error that `failed to fetch token:` wraps, and
/// paths.
pub(super) fn is_no_word(value: &str) -> bool {
    const WORDS: &str = " not no yes is was must has have does cannot can't missing required invalid expired unset empty unable failed \
        authentication unexpected serviceaccount serviceaccounts rpc error context dial request unauthorized forbidden denied \
        access illegal could couldn't the got timeout get post put eof null nil none undefined true false permission connection \
        open read unknown wrong bad file secret secrets token key keys password value found only too neither either \
        duplicate unsupported internal ";
    // References that a shell or Kubernetes expands are not secrets: $DB_PASSWORD, ${TOKEN}, $(TOKEN).
    let is_reference = value.starts_with("$(") || value.starts_with("${");
    let word = value.trim_end_matches([':', '.', '!', '?', ')']).to_ascii_lowercase();
    let is_known = || WORDS.split_ascii_whitespace().any(|known| known == word);
    !(is_reference || word.is_empty() || is_known() || is_path(value))
}

/// Whether this is an absolute path of at least two names.
fn is_path(value: &str) -> bool {
    let Some(path) = value.trim_end_matches([':', '.', '/']).strip_prefix('/') else { return false };
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
            && !is_mixed(name.as_bytes())
    };
    path.contains('/') && path.split('/').all(is_name)
}

/// Whether the value after a verb is no word of a sentence: `password is hunter2`, but `password is required`.
pub(super) fn is_stated(value: &str) -> bool {
    const WORDS: &str = " a an the in on at of to by as and or for from with if then that this it its be been being now also already \
        already still never always currently probably likely both different same identical equal shorter longer short long weak strong \
        simple easy old new needed ok okay done set default incorrect correct blank absent present available unavailable here there ready \
        about less more than greater exactly what which where when why how stale plain plaintext sensitive hidden secure insecure \
        optional mandatory unknown command commands mechanism mechanisms method methods type types extension user users \
        login plain service server client response packet type code state method1 used sent kept off out up unsafe exempt \
        due part subject one two wrongly because but like such any all ";
    const ENDINGS: [&str; 10] = ["ed", "ing", "able", "ible", "ful", "ory", "ent", "ive", "less", "ally"];
    let word = value.trim_end_matches([':', '.', '!', '?', ')', ',']);
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'\'');
    let word = word.to_ascii_lowercase();
    let is_known = || WORDS.split_ascii_whitespace().any(|known| known == word);
    is_no_word(value) && !(is_word && (is_known() || ENDINGS.iter().any(|end| word.ends_with(end))))
}

/// How often letters and digits alternate in a word, or a capital follows a small letter. In a random word that is at
/// every second to fourth character.
pub(super) fn turns(word: &str) -> usize {
    let is_turn = |pair: &[u8]| match pair {
        [a, b] if a.is_ascii_digit() => b.is_ascii_alphabetic(),
        [a, b] if a.is_ascii_lowercase() => b.is_ascii_digit() || b.is_ascii_uppercase(),
        [a, b] if a.is_ascii_uppercase() => b.is_ascii_digit(),
        _ => false,
    };
    word.as_bytes().windows(2).filter(|pair| is_turn(pair)).count()
}
