//! The language that people are told in. English stands in the code, beside the rule; the other languages have catalogues
//! of what stands for each English sentence (`language/ja`).
//!
//! A sentence may have named places: `Correct the image {image} ({place}).`, which another language may have in another order.
//! What stands in them (names, numbers, the cluster's own words, commands) is the same in each language, and so are causes and
//! Kubernetes' own words.

mod catalogue;

use std::fmt::Display;

use self::catalogue::JAPANESE;
use super::{Case, Thresholds, WorkloadCase};

/// What summaries, remedies and explanations are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    /// The language that a locale such as `ja_JP.UTF-8` stands for; English, where it is none that we speak.
    pub fn of_locale(locale: &str) -> Self {
        match locale.split(['_', '.', '@']).next() {
            Some("ja") => Self::Japanese,
            _ => Self::English,
        }
    }

    /// That in which a sentence of ours seems to be written: kana stand in each Japanese one.
    pub fn of_text(text: &str) -> Self {
        if text.contains(|c| matches!(c, '\u{3040}'..='\u{30ff}')) { Self::Japanese } else { Self::English }
    }

    /// By which HTML and others know it.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// What stands for an English text. One that the catalogue lacks stays as it is.
    pub fn of(self, english: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Japanese => JAPANESE.get(english).copied().unwrap_or(english),
        }
    }

    /// Adds a part to a text, as the language is set.
    pub(crate) fn join(self, out: &mut String, part: &str) {
        match self {
            Self::English => out.push_str(part),
            Self::Japanese => join(out, part),
        }
    }

    /// A sentence with what stands in its places.
    pub(crate) fn fill(self, english: &'static str, values: &[(&str, &dyn Display)]) -> String {
        fill(self.of(english), values)
    }
}

/// Fills each place once: braces in a value are no places.
fn fill(template: &'static str, values: &[(&str, &dyn Display)]) -> String {
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

/// The texts and places of a template, in which a brace is written twice, as in `format!`.
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

/// Adds a part, as Japanese is set: a space stands between its letters and others, and none among them. Which of them a place
/// will hold no template can know.
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

/// Kana and kanji.
fn is_japanese_letter(c: char) -> bool {
    matches!(c, '\u{3005}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Who knows which language is spoken.
pub(crate) trait Speaks {
    fn language(&self) -> Language;
}

impl Speaks for Language {
    fn language(&self) -> Language {
        *self
    }
}

impl Speaks for Thresholds {
    fn language(&self) -> Language {
        self.language
    }
}

impl Speaks for Case<'_> {
    fn language(&self) -> Language {
        Case::language(self)
    }
}

impl Speaks for WorkloadCase<'_> {
    fn language(&self) -> Language {
        WorkloadCase::language(self)
    }
}

impl<S: Speaks + ?Sized> Speaks for &S {
    fn language(&self) -> Language {
        (**self).language()
    }
}

/// A sentence in the language of a case: `say!(case, "Restart {name}.", name)`. In English it is `format!`.
///
/// The sentence is a literal, which `tests/languages.rs` finds in the sources and looks for in each catalogue.
macro_rules! say {
    ($speaks:expr, $english:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        match $crate::diagnosis::language::Speaks::language(&$speaks) {
            $crate::diagnosis::language::Language::English => {
                format!($english $(, $name = $crate::diagnosis::language::value!($name $(= $value)?))*)
            }
            other => other.fill(
                $english,
                &[$((stringify!($name), &$crate::diagnosis::language::value!($name $(= $value)?))),*],
            ),
        }
    };
}

/// What stands in a place: the variable of its name, where nothing else is given.
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident = $value:expr) => {
        $value
    };
}

/// A text without places, in the language of a case: `phrase!(case, "its node")`.
macro_rules! phrase {
    ($speaks:expr, $english:literal) => {
        $crate::diagnosis::language::Speaks::language(&$speaks).of($english)
    };
}

pub(crate) use {phrase, say, value};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_place_is_never_read_for_places() {
        let values: [(&str, &dyn Display); 2] = [("a", &"{b}"), ("b", &7)];
        assert_eq!(fill("{b}: {a}, {a}", &values), "7: {b}, {b}");
        assert_eq!(fill("{{a}} {a} 100%}} [{b}]", &values), "{a} {b} 100%} [7]");
        assert_eq!(fill("open {", &values), "open {");
    }

    #[test]
    fn a_space_stands_between_japanese_and_other_letters_and_nowhere_else() {
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
    fn a_locale_names_a_language() {
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
