//! The language that people are told in. English stands in the code, beside the rule; the other languages have catalogues
//! of what stands for each English sentence (`language/ja`).
//!
//! A sentence may have named places: `Correct the image {image} ({place}).`, which another language may have in another order.
//! What stands in them (names, numbers, the cluster's own words, commands) is the same in each language, and so are causes and
//! Kubernetes' own words.

mod catalogue;

use std::fmt::{Display, Write as _};

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

    /// What stands for an English text. One that the catalogue lacks stays as it is.
    pub fn of(self, english: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Japanese => JAPANESE.get(english).copied().unwrap_or(english),
        }
    }

    /// A sentence with what stands in its places.
    pub(crate) fn fill(self, english: &'static str, values: &[(&str, &dyn Display)]) -> String {
        fill(self.of(english), values)
    }
}

/// Fills each place once, from left to right: braces in a value are no places.
fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..];
        let inside = brace.strip_prefix('{').filter(|inside| !inside.starts_with('{')).and_then(|i| i.split_once('}'));
        if let Some((name, after)) = inside {
            if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
                let _ = write!(out, "{value}");
            }
            rest = after;
        } else {
            // As in `format!`, a brace is written twice.
            out.push_str(&brace[..1]);
            rest = &brace[brace.len().min(2)..];
        }
    }
    out.push_str(rest);
    out
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
        assert_eq!(fill("{{a}} {a} 100%}} 日本{b}語", &values), "{a} {b} 100%} 日本7語");
        assert_eq!(fill("open {", &values), "open {");
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
