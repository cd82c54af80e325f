//! Lenient field types that accept any value. Values of an unexpected shape are dropped, so that no object can fail its
//! page.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::room;
use crate::facts::{Labels, Resources, parse_bytes, parse_cpu};

/// Skips the rest of an unused list or map, because a parser cannot continue from the middle.
fn drain_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn drain_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Visitor methods that drop a value. Each type overrides those for the shapes that it accepts.
macro_rules! drop_shapes {
    ($default:expr; $($shape:ident)*) => { $(drop_shapes!(@ $shape $default);)* };
    (@ scalar $default:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($default) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($default) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($default) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($default) }
    };
    (@ text $default:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($default) }
    };
    (@ null $default:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($default) }
        fn visit_none<E>(self) -> Result<Self::Value, E> { Ok($default) }
        fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> { d.deserialize_any(self) }
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("any value") }
    };
    (@ seq $default:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            drain_seq(seq)?;
            Ok($default)
        }
    };
    (@ map $default:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            drain_map(map)?;
            Ok($default)
        }
    };
}

/// Common visitor methods of the string types.
macro_rules! read_as_str {
    ($type:ident) => {
        impl $type {
            pub(super) fn non_empty(self) -> Option<String> {
                Some(self.0).filter(|text| !text.is_empty())
            }
        }

        impl std::ops::Deref for $type {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }
    };
}

/// A string. Numbers and booleans keep their notation; other values become empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text(pub(super) String);

read_as_str!(Text);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text;
            drop_shapes!(Text::default(); null seq map);
            fn visit_bool<E>(self, v: bool) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_str<E>(self, v: &str) -> Result<Text, E> {
                Ok(Text(v.to_owned()))
            }
            fn visit_string<E>(self, v: String) -> Result<Text, E> {
                Ok(Text(v))
            }
        }
        d.deserialize_any(V)
    }
}

/// The value of an environment variable, kept only if it is Istio's table of probes. Values of other variables are
/// never read; their names suffice.
#[derive(Debug, Clone, Default)]
pub(super) struct AppProbers(pub(super) Option<String>);

impl<'de> Deserialize<'de> for AppProbers {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        const BEGINNING: &str = "{\"/app-health/";
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = AppProbers;
            drop_shapes!(AppProbers(None); null scalar seq map);
            fn visit_str<E>(self, value: &str) -> Result<AppProbers, E> {
                Ok(AppProbers(value.starts_with(BEGINNING).then(|| value.to_owned())))
            }
        }
        d.deserialize_any(V)
    }
}

/// The name of an object or a container. Names become parts of commands that users paste. Characters that Kubernetes
/// does not allow, which only a file can contain, are replaced; so is a leading dash, because `--all` would be a flag
/// of `kubectl delete pod`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub(super) String);

read_as_str!(Name);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        const LONGEST: usize = 253;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        let Text(name) = Text::deserialize(d)?;
        Ok(if name.len() <= LONGEST && name.chars().all(is_allowed) && !name.starts_with('-') {
            Self(name)
        } else {
            let is_kept = |(place, c): (usize, char)| is_allowed(c) && (place > 0 || c != '-');
            let kept = name.chars().take(LONGEST).enumerate();
            Self(kept.map(|(place, c)| if is_kept((place, c)) { c } else { '_' }).collect())
        })
    }
}

/// A whole number, also as a string. It is limited to 32 bits, which suffices for nearly all numbers of the API; sums
/// and products of the few larger ones (a grace period of 292 billion years is valid) cannot overflow then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Int(pub(super) Option<i64>);

impl Int {
    fn new(n: i64) -> Self {
        Self(Some(n.clamp(i64::from(i32::MIN), i64::from(i32::MAX))))
    }

    pub(super) fn or(self, default: i64) -> i64 {
        self.0.unwrap_or(default)
    }

    pub(super) fn as_i32(self) -> Option<i32> {
        self.0.and_then(|n| i32::try_from(n).ok())
    }

    pub(super) fn as_u32(self) -> u32 {
        self.0.map_or(0, |n| u32::try_from(n.max(0)).unwrap_or(u32::MAX))
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Whole::deserialize(d)?.0.map_or(Self(None), Self::new))
    }
}

/// A whole number of any size, also as a string.
struct Whole(Option<i64>);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Whole;
            drop_shapes!(Whole(None); null seq map);
            fn visit_bool<E>(self, _: bool) -> Result<Whole, E> {
                Ok(Whole(None))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Whole, E> {
                Ok(Whole(Some(v)))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Whole, E> {
                Ok(Whole(Some(i64::try_from(v).unwrap_or(i64::MAX))))
            }
            #[allow(clippy::cast_possible_truncation, reason = "saturates, and 3.0 is a way to write 3")]
            fn visit_f64<E>(self, v: f64) -> Result<Whole, E> {
                Ok(Whole(Some(v as i64)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Whole, E> {
                Ok(Whole(v.trim().parse().ok()))
            }
        }
        d.deserialize_any(V)
    }
}

/// An exit code. Those of Windows, such as 0xC0000135, have 32 bits without a sign; the API shows them as negative numbers,
/// and some runtimes as positive ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ExitCode(pub(super) i32);

impl ExitCode {
    fn new(code: i64) -> Self {
        let unsigned = u32::try_from(code).map(u32::cast_signed);
        Self(i32::try_from(code).or(unsigned).unwrap_or(0))
    }
}

impl<'de> Deserialize<'de> for ExitCode {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self::new(Whole::deserialize(d)?.0.unwrap_or_default()))
    }
}

/// A whole number, or the length of a list: a Job has the number of active pods, a CronJob a list of Jobs,
/// of which the name of the last is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) i64, pub(super) Option<String>);

#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
struct Named {
    name: Text,
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Count;
            drop_shapes!(Count(0, None); null text map);
            fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
                Ok(Count(0, None))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Count, E> {
                Ok(Count(Int::new(v).or(0), None))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Count, E> {
                Ok(Count(Int::new(i64::try_from(v).unwrap_or(i64::MAX)).or(0), None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
                Ok(Count(0, None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Count, A::Error> {
                let (mut count, mut last) = (0, None);
                while let Some(Obj(named)) = seq.next_element::<Obj<Named>>()? {
                    count += 1;
                    last = named.map(|named| named.name.0);
                }
                Ok(Count(count, last.filter(|name| !name.is_empty())))
            }
        }
        d.deserialize_any(V)
    }
}

/// A boolean, also as a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flag(pub(super) Option<bool>);

impl Flag {
    pub(super) fn is_true(self) -> bool {
        self.0 == Some(true)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(match &*Text::deserialize(d)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }))
    }
}

/// A time in RFC 3339.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Time(pub(super) Option<Timestamp>);

impl Time {
    /// The time, or `None` for the epoch, which runtimes write for "never".
    pub(super) fn real(self) -> Option<Timestamp> {
        self.0.filter(|t| t.as_second() > 0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Time;
            drop_shapes!(Time(None); null seq map);
            fn visit_bool<E>(self, _: bool) -> Result<Time, E> {
                Ok(Time(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Time, E> {
                Ok(Time(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Time, E> {
                Ok(Time(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Time, E> {
                Ok(Time(None))
            }
            fn visit_str<E>(self, v: &str) -> Result<Time, E> {
                Ok(Time(v.parse().ok()))
            }
        }
        d.deserialize_any(V)
    }
}

/// An object. Other values count as missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Obj<T>(pub(super) Option<T>);

impl<T> Default for Obj<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Default> Obj<T> {
    pub(super) fn or_default(self) -> T {
        self.0.unwrap_or_default()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Obj<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Obj<T>;
            drop_shapes!(Obj(None); null scalar text seq);
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Obj<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Obj(Some(value)))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

/// An object of which only the presence matters.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Nothing {}

/// A list of objects. Elements of another shape are dropped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// Converts each element. It does not use `collect`, which may reuse the memory of the source vector, and wire
    /// types are many times larger than facts.
    pub(super) fn map<U>(self, into: impl FnMut(T) -> U) -> Vec<U> {
        let mut out = Vec::with_capacity(self.0.len());
        out.extend(self.0.into_iter().map(into));
        out
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = List<T>;
            drop_shapes!(List(Vec::new()); null scalar text map);
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut out = Vec::new();
                while let Some(element) = seq.next_element::<Obj<T>>()? {
                    room::spend(size_of::<T>().max(room::SMALLEST))?;
                    out.extend(element.0);
                }
                Ok(List(out))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

/// A list of strings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Texts;
            drop_shapes!(Texts::default(); null scalar text map);
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut out = Vec::new();
                while let Some(Text(element)) = seq.next_element()? {
                    room::spend(room::SMALLEST + element.len())?;
                    out.push(element);
                }
                Ok(Texts(out))
            }
        }
        d.deserialize_any(V)
    }
}

/// A map of strings, such as labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dict(pub(super) BTreeMap<String, String>);

impl Dict {
    pub(super) fn into_labels(self) -> Labels {
        self.0.into_iter().collect()
    }
}

impl<'de> Deserialize<'de> for Dict {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Dict;
            drop_shapes!(Dict::default(); null scalar text seq);
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Dict, A::Error> {
                let mut out = BTreeMap::new();
                while let Some((Text(key), Text(value))) = map.next_entry()? {
                    room::spend(2 * room::SMALLEST + key.len() + value.len())?;
                    out.insert(key, value);
                }
                Ok(Dict(out))
            }
        }
        d.deserialize_any(V)
    }
}

/// Amounts by resource name. Unreadable quantities count as missing; so do resources with invalid names, because names
/// become parts of commands and patches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Amounts(pub(super) Resources);

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '/');
        let mut out = Resources::default();
        for (name, quantity) in Dict::deserialize(d)?.0 {
            match name.as_str() {
                "cpu" => out.cpu = parse_cpu(&quantity),
                "memory" => out.memory = parse_bytes(&quantity),
                "ephemeral-storage" => out.ephemeral_storage = parse_bytes(&quantity),
                "pods" => out.pods = parse_bytes(&quantity),
                _ => {
                    if let Some(amount) = parse_bytes(&quantity).filter(|_| name.chars().all(is_allowed)) {
                        out.extended.insert(name.into(), amount);
                    }
                }
            }
        }
        Ok(Self(out))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_safe_in_commands() {
        for (sent, read) in [
            ("web-0", "web-0"),
            ("--all", "_-all"),
            ("a;b", "a_b"),
            ("$(id)", "__id_"),
            ("a\nb", "a_b"),
            ("NoSchedule", "NoSchedule"),
        ] {
            assert_eq!(serde_json::from_value::<Name>(json!(sent)).unwrap().0, read);
        }
        let amounts: Amounts =
            serde_json::from_value(json!({"cpu": "1", "nvidia.com/gpu": "1", "a;id": "1", "b: c\nd": 1})).unwrap();
        assert_eq!(amounts.0.extended.keys().map(|name| &**name).collect::<Vec<_>>(), ["nvidia.com/gpu"]);
    }
}
