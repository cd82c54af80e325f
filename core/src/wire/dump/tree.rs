//! YAML documents: each object is parsed to a JSON value and then to its type, so the order of keys does not matter.

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::super::lenient::Text;
use super::super::part::Part;
use super::super::room;
use super::{Dump, is_list};
use crate::message::yaml;

/// Maximum nesting depth of lists and maps.
const DEEPEST: usize = 256;

const REPEATS: &str = "its YAML aliases (*name) expand to more than the document itself: write the objects without aliases, as kubectl does";

/// Reads one document.
pub(super) fn read(dump: &mut Dump, document: &str) -> Result<(), serde_saphyr::Error> {
    serde_saphyr::with_deserializer_from_str_with_options(document, options(document), |d| {
        Document(dump).deserialize(d)
    })
}

/// Whether the text is valid YAML.
pub(super) fn parses(text: &str) -> bool {
    serde_saphyr::from_str_with_options::<IgnoredAny>(text, options(text)).is_ok()
}

/// Formats an error for users.
pub(super) fn words(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    match error {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("lists and maps are nested more than {DEEPEST} levels deep")
        }
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            REPEATS.to_owned()
        }
        Error::DuplicateMappingKey { key, .. } => {
            format!("a map has a key twice: {}", key.as_deref().unwrap_or("not a plain one"))
        }
        error => {
            let words = error.without_snippet().to_string();
            // Same as above, with the name of the alias.
            if words.starts_with("budget breached: ") {
                return REPEATS.to_owned();
            }
            if error.location().is_none() {
                return words.lines().next().unwrap_or_default().to_owned();
            }
            yaml::explained(error, |_, column| format!("column {column}"))
        }
    }
}

/// The limits of the parser protect servers from hostile input, but a dump of a whole cluster is larger. Limits that
/// follow from the length of the document suffice: only aliases can multiply its content, and kubectl writes none.
fn options(document: &str) -> serde_saphyr::Options {
    const ANCHORED: usize = 1 << 20;
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: document.len().saturating_add(ANCHORED),
            max_recorded_anchor_bytes: document.len().saturating_add(ANCHORED),
            max_depth: DEEPEST,
        },
        with_snippet: false,
    }
}

/// A document: an object, a list of objects, or anything else.
struct Document<'d>(&'d mut Dump);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

/// Visitor methods for unused values.
macro_rules! nothing {
    ($($visit:ident $type:ty),*) => {$(
        fn $visit<E>(self, _: $type) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    )*};
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object or a list of objects")
    }

    nothing!(visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let mut without_kind = Vec::new();
        Items { dump: self.0, without_kind: &mut without_kind }.visit_seq(seq)?;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let dump = self.0;
        let before = room::left();
        let (mut out, mut without_kind, mut is_of_items) = (Map::new(), Vec::new(), false);
        while let Some(Text(key)) = map.next_key()? {
            let kind = out.get("kind").and_then(Value::as_str).unwrap_or_default();
            // kubectl writes the items of a list before its kind.
            if key == "items" && is_list(kind) {
                is_of_items |= map.next_value_seed(Items { dump: &mut *dump, without_kind: &mut without_kind })?;
            } else {
                Part(DEEPEST).entry(key, &mut out, &mut map)?;
            }
        }
        if !is_of_items {
            room::refund(before);
            return dump.value(Value::Object(out), "").map_err(A::Error::custom);
        }
        let kind = out.get("kind").and_then(Value::as_str).unwrap_or_default();
        dump.objects += usize::from(!kind.is_empty());
        let inherited = kind.strip_suffix("List").unwrap_or_default();
        without_kind.into_iter().try_for_each(|item| dump.value(item, inherited)).map_err(A::Error::custom)?;
        // Truncated YAML is valid YAML. Only the fields that kubectl writes last show that a list is complete.
        if kind.is_empty() && out.contains_key("apiVersion") {
            return Err(A::Error::custom("the list ends without its `kind`: the file seems to be cut off"));
        }
        Ok(())
    }
}

/// Reads the items of a list. Returns whether the value is a list.
struct Items<'d> {
    dump: &'d mut Dump,
    /// Items without a kind. It follows from the kind of the list.
    without_kind: &'d mut Vec<Value>,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<bool, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of objects")
    }

    nothing!(visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str);

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        loop {
            let before = room::left();
            let Some(item) = seq.next_element_seed(Part(DEEPEST))? else { return Ok(true) };
            if item.get("kind").is_some() || item.is_array() {
                room::refund(before);
                self.dump.value(item, "").map_err(A::Error::custom)?;
            } else {
                self.without_kind.push(item);
            }
        }
    }
}
