//! Reads any value as a JSON value, within the memory budget of a dump, without `managedFields` and without parts that are
//! nested too deep.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::lenient::Text;
use super::room;

/// Bytes of a node of a tree, including its key.
const NODE: usize = 64;
const ENTRY: usize = 128;

/// A value of which this many levels of lists and maps are read. Deeper ones are null: a parser that fails would fail all
/// objects of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part(pub(super) usize);

impl Part {
    /// Reads the value of a key into a map.
    pub(super) fn entry<'de, A: MapAccess<'de>>(
        self,
        key: String,
        out: &mut Map<String, Value>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if key == "managedFields" {
            map.next_value::<IgnoredAny>()?;
        } else {
            room::spend(ENTRY + key.len())?;
            out.insert(key, map.next_value_seed(self)?);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        if self.0 == 0 { d.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null) } else { d.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = seq.next_element_seed(Self(self.0 - 1))? {
            room::spend(NODE)?;
            out.push(item);
        }
        Ok(out.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(Text(key)) = map.next_key()? {
            Self(self.0 - 1).entry(key, &mut out, &mut map)?;
        }
        Ok(out.into())
    }
}
