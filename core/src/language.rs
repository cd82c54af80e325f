//! Languages of summaries and remedies. An English sentence and its Japanese translation stand side by side, next to the
//! rule; a sentence without a translation is English in all languages.
//!
//! A sentence can have named placeholders: `Correct the image {image} ({place}).` A translation can reorder them. The
//! values (names, numbers, text from the cluster, commands), the causes and the terms of Kubernetes are the same in all
//! languages.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Language of summaries, remedies and explanations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    /// The language for a locale such as `ja_JP.UTF-8`. English if the locale is not supported.
    pub fn of_locale(locale: &str) -> Self {
        match locale.split(['_', '.', '@']).next() {
            Some("ja") => Self::Japanese,
            _ => Self::English,
        }
    }

    /// Guesses the language of one of our texts: every Japanese sentence contains kana.
    pub fn of_text(text: &str) -> Self {
        if text.contains(|c| matches!(c, '\u{3040}'..='\u{30ff}')) { Self::Japanese } else { Self::English }
    }

    /// Language tag for HTML and other formats.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// The text in this language.
    pub fn of(self, english: &'static str, japanese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }

    /// Appends a part to a text with the spacing rules of the language.
    pub(crate) fn join(self, out: &mut String, part: &str) {
        match self {
            Self::English => out.push_str(part),
            Self::Japanese => join(out, part),
        }
    }
}

/// Fills each placeholder of a Japanese sentence once. Braces in a value are not placeholders.
pub fn fill(template: &'static str, values: &[(&str, &dyn Display)]) -> String {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
    let parts = parts(template).into_iter().map(|part| match part {
        Part::Place(name) => Part::Filled(value(name).unwrap_or_default()),
        part => part,
    });
    parts.fold(String::with_capacity(template.len() + 32), |mut out, part| {
        join(&mut out, part.text());
        out
    })
}

enum Part {
    Text(&'static str),
    Place(&'static str),
    Filled(String),
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Place(_) => "",
            Self::Filled(text) => text,
        }
    }
}

/// Splits a template into texts and placeholders. Braces are escaped by doubling, as in `format!`.
fn parts(template: &'static str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, brace) = rest.split_at(at);
        parts.push(Part::Text(text));
        let inside = brace.strip_prefix('{').filter(|inside| !inside.starts_with('{')).and_then(|i| i.split_once('}'));
        if let Some((name, after)) = inside {
            parts.push(Part::Place(name));
            rest = after;
        } else {
            parts.push(Part::Text(&brace[..1]));
            rest = &brace[brace.len().min(2)..];
        }
    }
    parts.push(Part::Text(rest));
    parts
}

/// Appends a part in Japanese typography: a space between Japanese and other letters, none between Japanese letters.
/// This depends on the value of each placeholder, so a template cannot contain the spaces.
fn join(out: &mut String, part: &str) {
    let (before, after) = (out.trim_end_matches(' ').chars().next_back(), part.trim_start_matches(' ').chars().next());
    let (Some(before), Some(after)) = (before, after) else {
        out.push_str(part);
        return;
    };
    let is_apart = out.ends_with(' ') || part.starts_with(' ');
    if is_apart && is_japanese(before) && is_japanese(after) {
        out.truncate(out.trim_end_matches(' ').len());
        out.push_str(part.trim_start_matches(' '));
        return;
    }
    let touch = |one: char, other: char| is_japanese_letter(one) && other.is_ascii_alphanumeric();
    if !is_apart && (touch(before, after) || touch(after, before)) {
        out.push(' ');
    }
    out.push_str(part);
}

fn is_japanese(c: char) -> bool {
    is_japanese_letter(c) || matches!(c, '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff65}')
}

/// Whether the character is kana or kanji.
fn is_japanese_letter(c: char) -> bool {
    matches!(c, '\u{3005}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Types that know the language of the output.
pub trait HasLanguage {
    fn language(&self) -> Language;
}

impl HasLanguage for Language {
    fn language(&self) -> Language {
        *self
    }
}

impl<S: HasLanguage + ?Sized> HasLanguage for &S {
    fn language(&self) -> Language {
        (**self).language()
    }
}

/// Formats a sentence in the language of a case: `translate!(case, "Restart {name}.", "{name} を再起動する。", name)`.
///
/// In English it equals `format!`. The translation may be left out. The compiler checks that both have the same
/// placeholders.
#[macro_export]
macro_rules! translate {
    ($speaks:expr, $english:literal, $japanese:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        match $crate::language::HasLanguage::language(&$speaks) {
            $crate::language::Language::English => {
                format!($english $(, $name = $crate::value!($name $(= $value)?))*)
            }
            $crate::language::Language::Japanese => {
                // Never called: only for the compiler's check of the placeholders.
                let _ = || format!($japanese $(, $name = $crate::value!($name $(= $value)?))*);
                $crate::language::fill(
                    $japanese,
                    &[$((stringify!($name), &$crate::value!($name $(= $value)?))),*],
                )
            }
        }
    };
    ($speaks:expr, $english:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        format!($english $(, $name = $crate::value!($name $(= $value)?))*)
    };
}

/// The value of a placeholder: by default, the variable with its name.
#[macro_export]
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident = $value:expr) => {
        $value
    };
}

/// A text without placeholders: `phrase!(case, "its node", "そのノード")`. The translation may be left out.
#[macro_export]
macro_rules! phrase {
    ($speaks:expr, $english:literal, $japanese:literal $(,)?) => {
        $crate::language::HasLanguage::language(&$speaks).of($english, $japanese)
    };
}

pub use {phrase, translate, value};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_placeholders_are_not_parsed() {
        let values: [(&str, &dyn Display); 2] = [("a", &"{b}"), ("b", &7)];
        assert_eq!(fill("{b}: {a}, {a}", &values), "7: {b}, {b}");
        assert_eq!(fill("{{a}} {a} 100%}} [{b}]", &values), "{a} {b} 100%} [7]");
        assert_eq!(fill("open {", &values), "open {");
    }

    #[test]
    fn japanese_text_has_spaces_only_next_to_other_letters() {
        let values: [(&str, &dyn Display); 4] =
            [("node", &"唯一のノード"), ("n", &7), ("when", &" 1 s 未満"), ("quoted", &": \"エラー 発生\"")];
        for (template, filled) in [
            ("{node} で動く", "唯一のノードで動く"),
            ("全{n}ノード", "全 7 ノード"),
            ("全 {n} ノード", "全 7 ノード"),
            ("起動から{when} で終了{quoted}", "起動から 1 s 未満で終了: \"エラー 発生\""),
            ("{node} (cordon)、{node}", "唯一のノード (cordon)、唯一のノード"),
        ] {
            assert_eq!(fill(template, &values), filled);
        }
    }

    #[test]
    fn locale_selects_the_language() {
        for (locale, language) in [
            ("ja_JP.UTF-8", Language::Japanese),
            ("ja", Language::Japanese),
            ("ja.UTF-8", Language::Japanese),
            ("jam_JM", Language::English),
            ("en_US.UTF-8", Language::English),
            ("C.UTF-8", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of_locale(locale), language, "{locale:?}");
        }
    }
}
