//! Compact UIDs: 16 bytes each, where a separate string takes 64 in addition to its pointer.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// A UID in the format of the API server, or the hash of any other string (as in a file that a person wrote).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::state) struct Uid(Uuid);

impl Uid {
    pub(in crate::state) fn of(text: &str, hasher: &RandomState) -> Self {
        Self::exact(text).unwrap_or_else(|| Self::hashed(text, hasher))
    }

    /// The UID if its text follows from its compact form.
    pub(in crate::state) fn exact(text: &str) -> Option<Self> {
        let is_its_text = |uuid: &Uuid| uuid.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]) == text;
        Uuid::try_parse(text).ok().filter(is_its_text).map(Self)
    }

    pub(in crate::state) fn hashed(text: &str, hasher: &RandomState) -> Self {
        Self(Uuid::from_u64_pair(hasher.hash_one((text, 0)), hasher.hash_one((text, 1))))
    }

    /// The text of a UID in the format of the API server.
    pub(in crate::state) fn text(self) -> Arc<str> {
        Arc::from(&*self.0.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_format_of_the_api_server_is_kept_in_the_compact_form() {
        let hasher = RandomState::new();
        let uid = "6f0c5a4e-1b2c-4d3e-8f90-a1b2c3d4e5f6";
        assert!(Uid::exact(uid).is_some());
        assert_eq!(&*Uid::of(uid, &hasher).text(), uid);
        let others = [
            "6F0C5A4E-1B2C-4D3E-8F90-A1B2C3D4E5F6",
            "6f0c5a4e1b2c4d3e8f90a1b2c3d4e5f6",
            "{6f0c5a4e-1b2c-4d3e-8f90-a1b2c3d4e5f6}",
            "uid-7",
            "",
        ];
        for text in others {
            assert!(Uid::exact(text).is_none(), "{text}");
            assert_ne!(Uid::of(text, &hasher), Uid::of(uid, &hasher), "{text}");
        }
    }
}
