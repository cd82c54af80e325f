//! Compact UIDs: 24 bytes each, where a separate string takes 64 in addition to its pointer.

use std::sync::Arc;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// A UID in the format of the API server, or any other string.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::state) enum Uid {
    Uuid(Uuid),
    Text(Box<str>),
}

impl Uid {
    pub(in crate::state) fn of(text: &str) -> Self {
        let is_its_text = |uuid: &Uuid| uuid.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]) == text;
        Uuid::try_parse(text).ok().filter(is_its_text).map_or_else(|| Self::Text(text.into()), Self::Uuid)
    }
}

impl From<&Uid> for Arc<str> {
    fn from(uid: &Uid) -> Self {
        match uid {
            Uid::Uuid(uuid) => Self::from(&*uuid.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH])),
            Uid::Text(text) => Self::from(&**text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uid_round_trips_any_string() {
        let texts = [
            "6f0c5a4e-1b2c-4d3e-8f90-a1b2c3d4e5f6",
            "6F0C5A4E-1B2C-4D3E-8F90-A1B2C3D4E5F6",
            "6f0c5a4e1b2c4d3e8f90a1b2c3d4e5f6",
            "{6f0c5a4e-1b2c-4d3e-8f90-a1b2c3d4e5f6}",
            "uid-7",
            "",
        ];
        for text in texts {
            let whole: Arc<str> = (&Uid::of(text)).into();
            assert_eq!(&*whole, text);
        }
        assert_eq!(size_of::<Uid>(), 24);
    }
}
