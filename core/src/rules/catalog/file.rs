//! The form of a cause file: one cause, as a human writes it in YAML.
//!
//! `build.rs` compiles this file as well, so it uses only serde.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One failure: when it applies, how it is explained, what helps.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CauseFile {
    /// Name of the cause. It is the Event reason, a label and a metric label: never rename it. That of a rule has a prefix:
    /// `acme.example/BadLicense`.
    #[cfg_attr(shindan, schemars(regex(pattern = "^([a-z0-9][-a-z0-9.]*/)?[A-Z][A-Za-z0-9]{0,62}$")))]
    pub cause: String,
    /// One of the ten categories; stable for alerts.
    pub category: String,
    /// The signal that the cause reads.
    pub signal: String,
    /// When the cause applies; of several alternatives one must hold. Without it, the cause applies to each occurrence of
    /// the signal.
    #[serde(rename = "match", default, skip_serializing_if = "OneOrMany::is_empty")]
    pub alternatives: OneOrMany<Match>,
    /// How long it must last, or happen again, before it counts: `30s`, `2m`, or the name of a setting such as
    /// `neverReady`. At once where omitted, or where no condition holds.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub threshold: OneOrMany<Choice>,
    /// Its rank among the causes of the signal, and among the findings of a pod; `specific` where omitted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub precedence: Precedence,
    /// Causes of the same signal that give way to this one where both match, and all that give way to those; `*` for all
    /// causes that do not have it themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// How certain it is; `Certain` where nothing is given or no condition holds.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub confidence: OneOrMany<Choice>,
    /// How bad it is; it follows from the impact where nothing is given or no condition holds.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub severity: OneOrMany<Choice>,
    /// A CEL expression: where it holds, the failure is worth a record and no alarm (severity Info, no Event).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<String>,
    /// What only follows from it, listed among the other findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<ConsequenceTemplate>,
    /// When an object that had this cause counts as healthy again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRule>,
    /// The object outside the pod in which the cause lies; the first that has a name.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub root: OneOrMany<RootTemplate>,
    /// One line: the object that fails, what failed, the decisive detail.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub summary: OneOrMany<SummaryText>,
    /// What `shindan explain` and the page of the cause show.
    pub explain: Box<ExplainTexts>,
    /// What helps, most likely first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<RemedyTemplate>,
    /// The same texts in Japanese. A missing one falls back to English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<Box<Japanese>>,
}

impl CauseFile {
    /// The part that decides when the cause applies. The texts are most of a file, and a cluster has few of all causes.
    #[must_use]
    pub fn without_texts(self) -> Self {
        Self {
            confidence: OneOrMany::default(),
            severity: OneOrMany::default(),
            noted: None,
            consequences: Vec::new(),
            root: OneOrMany::default(),
            summary: OneOrMany::default(),
            explain: Box::default(),
            remedies: Vec::new(),
            ja: None,
            ..self
        }
    }

    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        serde_saphyr::from_str(text).map_err(|error| ParseError::of(&error))
    }
}

/// Why a text is no cause file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Line and column, counted from 1.
    pub place: (u64, u64),
    pub message: String,
    /// A name that does not exist, and the names that do.
    pub unknown: Option<(String, Vec<&'static str>)>,
}

impl ParseError {
    pub(super) fn of(error: &serde_saphyr::Error) -> Self {
        let place = error.location().map_or((1, 1), |place| (place.line(), place.column()));
        // The lines below the first show the file.
        let first = error.without_snippet().to_string().lines().next().unwrap_or_default().to_owned();
        let message = first.replace(&format!(" at line {}, column {}", place.0, place.1), "");
        let (mut place, mut message, mut unknown) = (place, message, None);
        match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                message = format!("unknown key `{field}`");
                unknown = Some((field.clone(), expected.clone()));
            }
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => {
                message = format!("unknown value `{variant}`");
                unknown = Some((variant.clone(), expected.clone()));
            }
            serde_saphyr::Error::SerdeMissingField { field, .. } => {
                message = format!("the key `{field}` is missing");
                place = if matches!(*field, "cause" | "category" | "signal" | "explain") { (1, 1) } else { place };
            }
            _ => {}
        }
        Self { place, message, unknown }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place;
        write!(f, "{line}:{column}: {}", self.message)
    }
}

/// When a cause applies: all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// Kinds of custom resources by plural and group, such as `widgets.acme.example`; any where empty. The operator follows
    /// these kinds, and conditions and texts can read each field of their objects: `resource.spec.replicas`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
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

/// A value, and when it applies: of several, the first whose condition holds.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// A CEL expression over the fields of the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// `Certain`, `Likely` or `Possible`; `Critical`, `Warning` or `Info`; a threshold.
    pub is: String,
}

/// Another finding that only follows from this one.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsequenceTemplate {
    /// A CEL expression over the fields of the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Name of the other cause.
    pub cause: String,
    /// How it follows.
    pub text: String,
    /// The same in Japanese.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<String>,
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
pub struct SummaryText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ja: Option<String>,
}

/// What `shindan explain` and the page of the cause show.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
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
    /// Whether it removes the cause, only its effect, or reads more to find the cause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Kind,
}

/// What a remedy does about the cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(shindan, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// It removes the cause.
    #[default]
    Fix,
    /// It restores the service; the cause stays.
    Mitigate,
    /// It only reads, to find what to change.
    Investigate,
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
                let mut values = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                values.shrink_to_fit();
                Ok(OneOrMany(values))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<'de> Deserialize<'de> for SummaryText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            when: Option<String>,
            text: String,
            ja: Option<String>,
        }
        let of_text = |text| Full { when: None, text, ja: None };
        let Full { when, text, ja } = deserializer.deserialize_any(TextOr(of_text, PhantomData))?;
        Ok(Self { when, text, ja })
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            when: Option<String>,
            is: String,
        }
        let of_text = |is| Full { when: None, is };
        let Full { when, is } = deserializer.deserialize_any(TextOr(of_text, PhantomData))?;
        Ok(Self { when, is })
    }
}

/// Reads a text by a function, or a map as it is.
struct TextOr<F, T>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: Fn(String) -> T> Visitor<'de> for TextOr<F, T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a map")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        Ok(self.0(text.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
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
