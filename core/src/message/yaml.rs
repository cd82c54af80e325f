//! Mistakes in YAML files that users write, in plain words: the parser reports them in the terms of its own states.

/// A mistake, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub message: String,
    pub hint: Option<&'static str>,
}

const QUOTE: &str = "quote a text that contains `: ` or begins with `*`, `&`, `!`, `@`, `%`, `{` or `[`";
const CLOSE: &str = "close each `[` with `]` and each `{` with `}`, or quote the text";
const INDENT: &str = "begin all keys of a map in the same column, and indent what belongs to a key with spaces";
const CLOSE_QUOTE: &str =
    "close a text with the quote that it begins with; within \"...\" write \\\" for a quote, and within '...' write ''";
const TIME: &str = "write a time such as 2026-11-21T12:30:00Z";

/// Words of the parser, in lower case, what they mean, and what helps. The first that applies counts.
/// Sources: granit-parser src/scanner, src/parser; serde-saphyr src/de/error.rs.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("found a tab", "a tab is in the indentation", "indent with spaces"),
    ("mapping values are not allowed", "a `:` that makes no key, or a wrong indentation", QUOTE),
    ("trailing content after", "more text follows a closed quote", CLOSE_QUOTE),
    ("quoted scalar", "a quote is not closed", CLOSE_QUOTE),
    ("found unexpected end of stream", "the file ends within a quote or bracket", CLOSE_QUOTE),
    ("flow mapping", "a `{` is not closed, or a comma is missing", CLOSE),
    ("flow sequence", "a `[` is not closed, or a comma is missing", CLOSE),
    ("illegal placement of ':'", "a `[` or `{` is not closed before this", CLOSE),
    ("unclosed bracket", "a `[` or `{` is not closed", CLOSE),
    ("anchor", "a text begins with a sign of YAML", QUOTE),
    ("alias", "a text begins with a sign of YAML", QUOTE),
    (" tag", "a text begins with a sign of YAML", QUOTE),
    ("unexpected character", "a text begins with a sign of YAML", QUOTE),
    ("cannot start any token", "a text begins with a sign of YAML", QUOTE),
    ("block mapping", "the indentation does not fit the lines above", INDENT),
    ("block collection", "the indentation does not fit the lines above", INDENT),
    ("indentation", "the indentation does not fit the lines above", INDENT),
    ("simple key", "a key without `:`, or a wrong indentation", INDENT),
    ("expected sequence start", "a list is expected here", "write `- ` before each entry, or `[a, b]`"),
    (
        "expected mapping start",
        "a map of keys and values is expected here",
        "write `key: value`, each in a line of its own",
    ),
    ("expected string scalar", "a text is expected here", QUOTE),
    ("null into string", "a text is missing here", "write a text after the key, or remove the key"),
    ("as year", "this is no time", TIME),
    ("parse four digit", "this is no time", TIME),
    ("invalid digit, expected 0-9", "this is no time", TIME),
    (
        "multiple documents",
        "the file has several documents",
        "write each in a file of its own, without `---` between them",
    ),
];

/// What an error of the parser means, with what helps. `placed` writes its line and column.
pub fn explained(error: &serde_saphyr::Error, placed: impl FnOnce(u64, u64) -> String) -> String {
    let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
    let words = error.without_snippet().to_string();
    let words = words.lines().next().unwrap_or_default();
    let Mistake { message, hint } = mistake(&words.replace(&format!(" at line {line}, column {column}"), ""));
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{message} ({}){hint}", placed(line, column))
}

/// What an error of the parser means. `error` is its first line, without the place.
pub fn mistake(error: &str) -> Mistake {
    let lower = error.to_ascii_lowercase();
    if let Some(key) = lower.strip_prefix("duplicate mapping key: ") {
        let length = key.find(',').unwrap_or(key.len());
        let key = &error[error.len() - key.len()..][..length];
        return Mistake { message: format!("the key `{key}` is there twice"), hint: Some("remove one of them") };
    }
    match MISTAKES.iter().find(|(words, _, _)| lower.contains(words)) {
        Some((_, message, hint)) => Mistake { message: (*message).to_owned(), hint: Some(hint) },
        None => Mistake { message: error.to_owned(), hint: None },
    }
}

/// Whether the value in a line begins with `!`, which YAML takes as a tag: a condition loses its first word.
pub fn begins_with_tag(line: &str) -> bool {
    let value = line.trim_start().trim_start_matches("- ").split_once(": ").map(|(_, value)| value.trim_start());
    value.is_some_and(|value| value.starts_with('!'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_has_plain_words() {
        for (error, message) in [
            ("while scanning a plain scalar, found a tab", "a tab is in the indentation"),
            (
                "while parsing a block mapping, did not find expected key",
                "the indentation does not fit the lines above",
            ),
            (
                "while parsing a flow mapping, did not find expected ',' or '}'",
                "a `{` is not closed, or a comma is missing",
            ),
            ("invalid trailing content after double-quoted scalar", "more text follows a closed quote"),
            ("invalid indentation in multiline quoted scalar", "a quote is not closed"),
            ("unexpected character: `@'", "a text begins with a sign of YAML"),
            ("expected sequence start", "a list is expected here"),
            ("cannot deserialize null into string; use Option<String>", "a text is missing here"),
            (
                "duplicate mapping key: Category, set DuplicateKeyPolicy in Options if acceptable",
                "the key `Category` is there twice",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(mistake(error).message, message, "{error}");
        }
    }

    #[test]
    fn negated_condition_without_quotes_is_a_tag() {
        assert!(begins_with_tag("    - when: !object.isInProgress"));
        assert!(!begins_with_tag("    - when: '!object.isInProgress'") && !begins_with_tag("    when: a != b"));
    }
}
