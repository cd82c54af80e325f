//! Labels and selectors. They are short texts, of which a large cluster has tens of thousands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Key-value pairs sorted by key, in one allocation: a `BTreeMap` of two pairs takes 544 bytes in addition to its
/// strings. A clone shares the allocation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Labels(Arc<str>);

/// Terminator of keys and values. No label contains it.
const END: char = '\0';

impl Labels {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let mut words = self.0.split_terminator(END);
        std::iter::from_fn(move || words.next().zip(words.next()))
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find_map(|(known, value)| (known == key).then_some(value))
    }

    /// Replaces the inner text by a shared copy from a string pool.
    #[must_use]
    pub fn shared(self, share: impl FnOnce(&str) -> Arc<str>) -> Self {
        Self(share(&self.0))
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: AsRef<str> + Ord, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    /// The last value of a duplicate key wins, as in a map.
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let sorted: std::collections::BTreeMap<K, V> = pairs.into_iter().collect();
        let mut text = String::new();
        for (key, value) in &sorted {
            let (key, value) = (key.as_ref(), value.as_ref());
            if key.contains(END) || value.contains(END) {
                continue;
            }
            for word in [key, value] {
                text.push_str(word);
                text.push(END);
            }
        }
        Self(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_equal_in_any_order_and_iterate_all_pairs() {
        let one: Labels = [("app", "web"), ("tier", ""), ("", "odd")].into_iter().collect();
        let other: Labels = [("", "odd"), ("tier", "x"), ("tier", ""), ("app", "web")].into_iter().collect();
        assert_eq!(one, other);
        assert_eq!(one.iter().collect::<Vec<_>>(), [("", "odd"), ("app", "web"), ("tier", "")]);
        assert_eq!((one.get("app"), one.get("tier"), one.get("web")), (Some("web"), Some(""), None));
        assert!(Labels::default().is_empty() && Labels::default().iter().next().is_none());
    }

    #[test]
    fn invalid_label_characters_are_left_out() {
        let odd: Labels = [("a\0b", "c"), ("d", "e\0"), ("f", "g")].into_iter().collect();
        assert_eq!(odd.iter().collect::<Vec<_>>(), [("f", "g")]);
    }
}
