//! Values of the fields of signals, which the catalogue matches and inserts into its texts.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::facts::ObjectFacts;

/// Values by the paths that expressions and templates use.
pub(crate) trait Fields {
    /// [`Value::None`] if the field does not exist.
    fn value(&self, path: &Path) -> Cow<'_, Value>;

    /// The object that the values are of, for messages: `Widget shop/orders`.
    fn object(&self) -> String {
        String::new()
    }
}

/// The name of the custom resource that a signal is about, in expressions and texts.
pub(crate) const RESOURCE: &str = "resource";

/// The path of a field, such as `imagePull.registry`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path {
    /// Its place among the fields of its signal, and the signal; `None` for the fields of the context. The place comes first,
    /// because numbers are compared faster than texts.
    of_signal: Option<(usize, &'static str)>,
    text: Box<str>,
}

impl Path {
    pub(crate) fn new(text: &str, signals: &[&'static Definition]) -> Self {
        let of_signal = text.split_once('.').and_then(|(of, name)| {
            let signal = signals.iter().find(|signal| signal.name == of)?;
            Some((signal.fields.iter().position(|field| field.name == name)?, signal.name))
        });
        Self { of_signal, text: text.into() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The path of a field of a custom resource, such as `spec.replicas` of `resource.spec.replicas`.
    pub(crate) fn of_resource(&self) -> Option<&str> {
        self.text.strip_prefix(RESOURCE)?.strip_prefix('.')
    }

    /// Whether it is the path of a field of a custom resource.
    pub(crate) fn is_of_resource(&self) -> bool {
        self.of_resource().is_some()
    }

    /// Its place among the fields of this signal.
    pub(super) fn place_in(&self, signal: &str) -> Option<usize> {
        self.of_signal.filter(|(_, name)| *name == signal).map(|(place, _)| place)
    }
}

/// The values that the remedies of a finding need, read when it was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// In ascending order.
    pub(crate) paths: Arc<[Path]>,
    /// Those of the paths.
    pub(crate) values: Vec<Value>,
}

impl Fields for Snapshot {
    fn value(&self, path: &Path) -> Cow<'_, Value> {
        let place = self.paths.binary_search(path).ok();
        place.and_then(|place| self.values.get(place)).map_or(Cow::Owned(Value::None), Cow::Borrowed)
    }
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Not known.
    None,
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<String>),
    /// A field of a custom resource that is a map, a number with a fraction, or a list of other values than texts.
    Json(serde_json::Value),
}

impl Value {
    /// Whether it is shown as nothing.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::Text(text) => text.is_empty(),
            Self::Number(_) | Self::Flag(_) => false,
            Self::List(list) => list.iter().all(String::is_empty) && list.len() < 2,
            Self::Json(json) => json.as_object().is_some_and(serde_json::Map::is_empty),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(list) => f.write_str(&list.join(", ")),
            Self::Json(json) => write!(f, "{json}"),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        let texts = |items: &[serde_json::Value]| items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        match json {
            serde_json::Value::Null => Self::None,
            serde_json::Value::Bool(flag) => Self::Flag(flag),
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Number(number) => number.as_i64().map_or(Self::Json(number.into()), Self::Number),
            serde_json::Value::Array(items) => {
                let texts: Option<Vec<String>> = texts(&items);
                texts.map_or_else(|| Self::Json(items.into()), Self::List)
            }
            map @ serde_json::Value::Object(_) => Self::Json(map),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Vec<String>> for Value {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

/// A text that is not known is empty, so that conditions have one way to ask for it.
impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.unwrap_or_default())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.unwrap_or_default().into()
    }
}

/// A number or a flag that is not known is null.
macro_rules! nullable {
    ($($type:ty),*) => {
        $(impl From<Option<$type>> for Value {
            fn from(value: Option<$type>) -> Self {
                value.map_or(Self::None, Into::into)
            }
        })*
    };
}

nullable!(i64, i32, u32, bool);

/// The type of a field. `as_str` is its name in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    Text,
    Number,
    Flag,
    List,
}

impl FieldType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "int",
            Self::Flag => "bool",
            Self::List => "list of strings",
        }
    }
}

/// A field of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    /// Meaning, unit and source.
    pub doc: &'static str,
    pub kind: FieldType,
}

/// The name, documentation and fields of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
}

impl Definition {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One occurrence of a signal.
pub(crate) trait Signal {
    fn definition(&self) -> &'static Definition;

    /// The value of a field; `None` if the definition has no such field.
    fn field(&self, name: &str) -> Option<Value>;

    /// Reason of the state or Event with the message; empty if the signal has none.
    fn reason(&self) -> &str;

    /// The message that the patterns of a cause are matched against; empty if the signal has none.
    fn message(&self) -> &str;

    /// The custom resource that the signal is about.
    fn object(&self) -> Option<&ObjectFacts> {
        None
    }
}
