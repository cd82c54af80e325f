//! What the cluster's data says, computed once and typed: the catalogue decides on the fields of signals and fills them into
//! its texts.

mod context;
pub(crate) mod image_pull;

use std::fmt;

pub(crate) use self::context::{OfPod, POD_CONTEXT};

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// It is not known.
    None,
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(list) => f.write_str(&list.join(", ")),
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

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// The type of a field, as the pages name it.
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

    /// A value of this type, to check an expression's types with.
    pub(crate) fn sample(self) -> Value {
        match self {
            Self::Text => Value::from(""),
            Self::Number => Value::Number(0),
            Self::Flag => Value::Flag(false),
            Self::List => Value::List(vec![String::new()]),
        }
    }
}

/// A Rust type that a field may have.
pub(crate) trait Typed {
    const TYPE: FieldType;
}

macro_rules! typed {
    ($($rust:ty => $field:ident),* $(,)?) => {
        $(impl Typed for $rust { const TYPE: FieldType = FieldType::$field; })*
    };
}

typed!(String => Text, &str => Text, i64 => Number, i32 => Number, u32 => Number, bool => Flag, Vec<String> => List);

impl<T: Typed> Typed for Option<T> {
    const TYPE: FieldType = T::TYPE;
}

/// A field of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    /// Meaning, unit and source.
    pub doc: &'static str,
    pub kind: FieldType,
}

/// What a signal has to offer.
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

    /// The value of a field of the definition; `None` where it has no such field.
    fn field(&self, name: &str) -> Option<Value>;

    /// Reason of the state or Event that carries the message.
    fn reason(&self) -> &str {
        ""
    }

    /// The message that the words of a cause are compared with.
    fn message(&self) -> &str {
        ""
    }
}

/// Declares a signal: its data, and its fields, which are computed when they are asked for.
///
/// Each field has a doc comment with its meaning, unit and source; docs/signals.md is made of them.
macro_rules! signal {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident<$life:lifetime> as $as:literal { $($member:ident: $type:ty),* $(,)? }
        reason: |$of:ident| $reason:expr, message: $message:expr;
        $(
            $(#[doc = $field_doc:literal])*
            $field:literal: fn $method:ident(&$self:ident) -> $returns:ty $body:block
        )*
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        $vis struct $name<$life> { $($vis $member: $type),* }

        impl<$life> $name<$life> {
            pub(crate) const DEFINITION: $crate::diagnosis::signals::Definition = $crate::diagnosis::signals::Definition {
                name: $as,
                doc: concat!($($doc, "\n"),*),
                fields: &[$(
                    $crate::diagnosis::signals::Field {
                        name: $field,
                        doc: concat!($($field_doc, "\n"),*),
                        kind: <$returns as $crate::diagnosis::signals::Typed>::TYPE,
                    },
                )*],
            };

            $(
                $(#[doc = $field_doc])*
                #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "a field has the type that the catalogue sees")]
                pub(crate) fn $method(&$self) -> $returns $body
            )*
        }

        impl $crate::diagnosis::signals::Signal for $name<'_> {
            fn definition(&self) -> &'static $crate::diagnosis::signals::Definition {
                const DEFINITION: &$crate::diagnosis::signals::Definition = &$name::DEFINITION;
                DEFINITION
            }

            fn field(&self, name: &str) -> Option<$crate::diagnosis::signals::Value> {
                match name {
                    $($field => Some(self.$method().into()),)*
                    _ => None,
                }
            }

            fn reason(&self) -> &str {
                let $of = self;
                $reason
            }

            fn message(&self) -> &str {
                let $of = self;
                $message
            }
        }
    };
}

pub(crate) use signal;

/// All signals.
pub(crate) const ALL: &[&Definition] = &[&image_pull::ImagePull::DEFINITION];

/// The signal of this name.
pub(crate) fn named(name: &str) -> Option<&'static Definition> {
    ALL.iter().copied().find(|definition| definition.name == name)
}
