//! Reads an object as a JSON value, without `managedFields` and without parts that are nested too deep.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::super::lenient::Text;
use super::super::room;

/// Maximum depth of lists and maps. Deeper ones are null: a parser that fails would fail all objects of a page.
const DEEPEST: u8 = 40;
/// Bytes of a node of a tree, including its key.
const NODE: usize = 64;
const ENTRY: usize = 128;

/// A part of an object, and how many levels below it are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole(u8);

impl Whole {
    pub(super) const TOP: Self = Self(DEEPEST);
}

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        if self.0 == 0 { d.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null) } else { d.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Whole {
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
            if key == "managedFields" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            room::spend(ENTRY + key.len())?;
            let value = map.next_value_seed(Self(self.0 - 1))?;
            out.insert(key, value);
        }
        Ok(out.into())
    }
}
