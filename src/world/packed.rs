//! What is kept of many and read seldom, in one small piece of memory each.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as compressed JSON: a diagnosis of two dozen pieces and 4 kB takes some 400 bytes.
#[derive(Debug)]
pub(super) struct Packed<T> {
    bytes: Box<[u8]>,
    /// What it was compressed against.
    model: Arc<[u8]>,
    kind: PhantomData<fn() -> T>,
}

/// Packs values of one kind, those that are alike against the first of them.
#[derive(Debug, Default)]
pub(super) struct Packer {
    /// The first of each group; they stay.
    models: HashMap<String, Arc<[u8]>>,
}

/// What is kept for good is bounded, whoever wrote it: a value that is larger is no model, nor is that of one more group.
const MODEL_MAX: usize = 16 * 1024;
const GROUPS_MAX: usize = 512;

impl Packer {
    /// `group` names what it is like. `value` is a `T`, or as much by reference.
    pub(super) fn pack<T>(&mut self, group: &str, value: &impl Serialize) -> Packed<T> {
        // What is packed here are structs and enums with text for keys, which JSON can say.
        let json = serde_json::to_vec(value).unwrap_or_default();
        let model = self.model(group, &json);
        let bytes = compress_prepend_size_with_dict(&json, &model).into();
        Packed { bytes, model, kind: PhantomData }
    }

    fn model(&mut self, group: &str, json: &[u8]) -> Arc<[u8]> {
        if let Some(model) = self.models.get(group) {
            return model.clone();
        }
        if json.len() > MODEL_MAX || self.models.len() >= GROUPS_MAX {
            return Arc::default();
        }
        self.models.entry(group.to_owned()).or_insert(json.into()).clone()
    }
}

impl<T: DeserializeOwned> Packed<T> {
    /// `None` where it cannot be read, which a test excludes.
    pub(super) fn open(&self) -> Option<T> {
        let json = decompress_size_prepended_with_dict(&self.bytes, &self.model).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_as_it_was() {
        let mut packer = Packer::default();
        let values =
            ["", "the image nginx:nope cannot be found", "the image nginx:none cannot be found", "\u{1f4a9}\0\n"];
        for value in values.map(str::to_owned) {
            let packed = packer.pack("images", &(value.clone(), Some(7_u64)));
            assert_eq!(packed.open(), Some((value, Some(7))));
        }
    }

    #[test]
    fn what_stays_is_bounded() {
        let mut packer = Packer::default();
        let large = "x".repeat(MODEL_MAX);
        assert_eq!(packer.pack::<String>("large", &large).open(), Some(large));
        assert!(packer.models.is_empty());
        for group in 0..=GROUPS_MAX {
            assert_eq!(packer.pack::<usize>(&group.to_string(), &group).open(), Some(group));
        }
        assert_eq!(packer.models.len(), GROUPS_MAX);
    }

    #[test]
    fn what_is_alike_takes_little() {
        let mut packer = Packer::default();
        let text = |pod: usize| format!("{pod} {}", (0..100).map(|n| (n * n).to_string()).collect::<String>());
        let sizes = [0, 1].map(|pod| packer.pack::<String>("pods", &text(pod)).bytes.len());
        assert!(sizes[1] < 40, "{sizes:?}");
    }
}
