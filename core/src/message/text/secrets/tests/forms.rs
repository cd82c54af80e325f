//! Secrets in the forms in which programs print them, and lines that only resemble these.

use super::super::{MASK, mask};

fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| line.replace('¦', ""))
}

#[test]
fn forms_of_secrets_are_masked() {
    let mut wrong = Vec::new();
    for line in lines(include_str!("forms.txt")) {
        let (before, rest) = line.split_once('«').unwrap();
        let (secret, behind) = rest.split_once('»').unwrap();
        let masked = mask(&format!("{before}{secret}{behind}")).into_owned();
        if masked != format!("{before}{MASK}{behind}") {
            wrong.push(masked);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Also after other words, as in the message of an Event.
#[test]
fn forms_within_a_sentence_are_masked() {
    for line in lines(include_str!("forms.txt")) {
        let secret = line.split(['«', '»']).nth(1).unwrap();
        let text = format!("probe failed: {} (exit code 1)", line.replace(['«', '»'], ""));
        assert!(!mask(&text).contains(secret), "{}", mask(&text));
    }
}

#[test]
fn lines_without_a_secret_stay_readable() {
    let changed = |line: &String| mask(line) != *line;
    let changed: Vec<_> =
        lines(include_str!("readable.txt")).filter(changed).map(|line| mask(&line).into_owned()).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}
