//! Compressed values, for data that there is much of and that is rarely read.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as compressed JSON. A diagnosis of 4 kB takes about 400 bytes.
#[derive(Debug)]
pub(super) struct Compressed<T> {
    bytes: Box<[u8]>,
    /// The dictionary that it was compressed with.
    dictionary: Arc<[u8]>,
    kind: PhantomData<fn() -> T>,
}

/// Compresses values of one kind. The first value of each group is the dictionary for the others.
#[derive(Debug, Default)]
pub(super) struct Compressor {
    /// Dictionaries by group. They are never removed.
    dictionaries: HashMap<String, Arc<[u8]>>,
}

/// Limits of the dictionaries, which are kept forever: a larger value is not used as one, nor is the value of a further
/// group.
const DICTIONARY_MAX: usize = 16 * 1024;
const GROUPS_MAX: usize = 512;

impl Compressor {
    /// Compresses `value`, which is a `T` or serializes like one. `group` names similar values.
    pub(super) fn compress<T>(&mut self, group: &str, value: &impl Serialize) -> Compressed<T> {
        // Cannot fail: the values are structs and enums whose map keys are strings.
        let json = serde_json::to_vec(value).unwrap_or_default();
        let dictionary = self.dictionary(group, &json);
        let bytes = compress_prepend_size_with_dict(&json, &dictionary).into();
        Compressed { bytes, dictionary, kind: PhantomData }
    }

    fn dictionary(&mut self, group: &str, json: &[u8]) -> Arc<[u8]> {
        if let Some(dictionary) = self.dictionaries.get(group) {
            return dictionary.clone();
        }
        if json.len() > DICTIONARY_MAX || self.dictionaries.len() >= GROUPS_MAX {
            return Arc::default();
        }
        self.dictionaries.entry(group.to_owned()).or_insert(json.into()).clone()
    }
}

impl<T: DeserializeOwned> Compressed<T> {
    /// Decompresses the value. `None` if that fails, which a test excludes.
    pub(super) fn decompress(&self) -> Option<T> {
        let json = decompress_size_prepended_with_dict(&self.bytes, &self.dictionary).ok()?;
        serde_json::from_str(str::from_utf8(&json).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_values_round_trip() {
        let mut compressor = Compressor::default();
        let values =
            ["", "the image nginx:nope cannot be found", "the image nginx:none cannot be found", "\u{1f4a9}\0\n"];
        for value in values.map(str::to_owned) {
            let compressed = compressor.compress("images", &(value.clone(), Some(7_u64)));
            assert_eq!(compressed.decompress(), Some((value, Some(7))));
        }
    }

    #[test]
    fn dictionaries_are_bounded() {
        let mut compressor = Compressor::default();
        let large = "x".repeat(DICTIONARY_MAX);
        assert_eq!(compressor.compress::<String>("large", &large).decompress(), Some(large));
        assert!(compressor.dictionaries.is_empty());
        for group in 0..=GROUPS_MAX {
            assert_eq!(compressor.compress::<usize>(&group.to_string(), &group).decompress(), Some(group));
        }
        assert_eq!(compressor.dictionaries.len(), GROUPS_MAX);
    }

    #[test]
    fn similar_values_are_compressed() {
        let mut compressor = Compressor::default();
        let text = |pod: usize| format!("{pod} {}", (0..100).map(|n| (n * n).to_string()).collect::<String>());
        let sizes = [0, 1].map(|pod| compressor.compress::<String>("pods", &text(pod)).bytes.len());
        assert!(sizes[1] < 40, "{sizes:?}");
    }
}
