//! The form of a cause file: one cause, as a human writes it in YAML.
//!
//! `build.rs` compiles this file as well, so it uses only serde.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One failure: when it applies, how it is explained, what helps.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CauseFile {
    /// Name of the cause. It is the Event reason, a label and a metric label: never rename it.
    #[cfg_attr(shindan, schemars(regex(pattern = "^[A-Z][A-Za-z0-9]{0,62}$")))]
    pub cause: String,
    /// One of the nine categories; stable for alerts.
    pub category: String,
    /// The signal that the cause reads.
    pub on: String,
    /// When the cause applies; of several alternatives one must hold. Without it, the cause applies to each occurrence of
    /// the signal.
    #[serde(rename = "match", default, skip_serializing_if = "OneOrMany::is_empty")]
    pub alternatives: OneOrMany<Match>,
    /// How long it must last, or happen again, before it counts: `30s`, `2m`. At once where omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
    /// How it ranks against other findings of the same pod.
    #[serde(default, skip_serializing_if = "is_default")]
    pub precedence: Precedence,
    /// Causes of the same signal that give way to this one where both match, and all that give way to those; `*` for all
    /// causes that do not have it themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// When an object that had this cause counts as healthy again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRule>,
    /// The object outside the pod in which the cause lies; the first that has a name.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub root: OneOrMany<RootTemplate>,
    /// One line: the object that fails, what failed, the decisive detail.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub summary: OneOrMany<Text>,
    /// What `shindan explain` and the page of the cause show.
    pub explain: ExplainTexts,
    /// What helps, most likely first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<RemedyTemplate>,
    /// The same texts in Japanese. A missing one falls back to English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<Japanese>,
}

impl CauseFile {
    /// Reads a file. An error begins with its line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| match error.location() {
            Some(place) => format!("{}:{}: {}", place.line(), place.column(), without_snippet(&error)),
            None => format!("1:1: {}", without_snippet(&error)),
        })
    }
}

/// The first line of an error: the lines below it show the file.
fn without_snippet(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// When a cause applies: all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// Reasons of the state or Event that carries the message; any where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Words of the message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub message: Words,
    /// A CEL expression over the fields of the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// Patterns of a message: literal text in any case, where `*` stands for any text in between.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Words {
    /// At least one of them must occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// Each of them must occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// None of them may occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub none: Vec<String>,
}

/// How a cause ranks against others of the same pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Precedence {
    /// It names the failure.
    #[default]
    Specific,
    /// General: only where nothing specific matched.
    Umbrella,
    /// Likely the consequence of whatever else is found.
    Symptom,
    /// Only where nothing else matched.
    LastResort,
}

/// When an object that had the cause counts as healthy again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RecoveryRule {
    /// It never started: Ready for 30 s proves the cause gone.
    NeverStarted,
    /// It starts and ends: Ready for 10 min since the last start.
    Restarting,
}

/// An object outside the pod.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RootTemplate {
    /// `Node`, `Registry`, `Image`, `ConfigMap`, ...
    pub kind: String,
    /// Template of its name; no root where it renders empty.
    pub name: String,
    /// A CEL expression over the fields of the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// A text, or one of several: the first whose condition holds.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Text {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<String>,
}

/// What `shindan explain` and the page of the cause show.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainTexts {
    /// What is wrong, in one sentence.
    pub meaning: String,
    /// How it differs from causes that look alike.
    pub distinguish: String,
    /// What to do.
    pub action: String,
    /// The Kubernetes (or runtime) source that emits the signal.
    pub source: String,
}

/// One remedy: a typed action, or an advice.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemedyTemplate {
    /// A CEL expression over the fields of the signal: the remedy is offered only where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// A typed action, see docs/actions.md. Without it, the remedy is a text, with a command where one is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Parameters of the action.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub with: std::collections::BTreeMap<String, String>,
    /// One sentence that begins with an imperative verb. Actions that have a text of their own may go without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same in Japanese.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<String>,
    /// A command that only reads; values are quoted for the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it removes the cause or only its effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Kind,
}

/// Whether a remedy removes the cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// It removes the cause.
    #[default]
    Fix,
    /// It restores the service; the cause stays.
    Mitigate,
}

/// The Japanese of a cause's texts.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Japanese {
    /// That of a summary which is one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<JapaneseExplain>,
}

/// The Japanese of an explanation. Its source is a place in code, and has none.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JapaneseExplain {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinguish: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

/// One value, or a list of them.
#[derive(Debug, Clone)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value or a list of them")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OneOrMany(vec![T::deserialize(StrDeserializer::new(text))?]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(OneOrMany(vec![T::deserialize(MapAccessDeserializer::new(map))?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Ok(OneOrMany(Vec::deserialize(SeqAccessDeserializer::new(list))?))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a map with text, when and ja")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text { when: None, text: text.to_owned(), ja: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let (mut when, mut text, mut ja) = (None, None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "when" => when = Some(map.next_value()?),
                        "text" => text = Some(map.next_value()?),
                        "ja" => ja = Some(map.next_value()?),
                        other => return Err(A::Error::unknown_field(other, &["when", "text", "ja"])),
                    }
                }
                Ok(Text { when, text: text.ok_or_else(|| A::Error::missing_field("text"))?, ja })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(shindan)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        let many = generator.subschema_for::<Vec<T>>();
        // A text may stand for a map that has only that.
        schemars::json_schema!({"anyOf": [{"type": "string"}, one, many]})
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
