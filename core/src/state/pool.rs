//! Shared values: equal values are stored once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// Values that many entries share.
#[derive(Debug)]
pub(in crate::state) struct Pool<T> {
    known: HashSet<Arc<T>>,
    /// The size at which unused values are dropped.
    most: usize,
}

impl<T> Pool<T> {
    const FEW: usize = 256;
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { known: HashSet::new(), most: Self::FEW }
    }
}

impl<T: Eq + Hash> Pool<T> {
    pub(in crate::state) fn share(&mut self, value: T) -> Arc<T> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if self.known.len() >= self.most {
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.most = (self.known.len() * 2).max(Self::FEW);
        }
        let shared = Arc::new(value);
        self.known.insert(shared.clone());
        shared
    }
}
