//! The embedded cause files.

use std::sync::{Arc, LazyLock};

use super::file::CauseFile;

/// Files of `catalog/` as `build.rs` read them: first without texts, then complete and compressed.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// The files without texts, each with its compressed complete form.
pub(super) static HEADS: LazyLock<Vec<(Arc<CauseFile>, &'static [u8])>> = LazyLock::new(|| {
    let parsed = EMBEDDED.iter().filter_map(|(head, whole)| Some((Arc::new(serde_json::from_str(head).ok()?), *whole)));
    parsed.collect()
});

/// The complete file of a cause, from its compressed form.
pub(super) fn complete(compressed: &[u8]) -> Option<CauseFile> {
    let json = lz4_flex::block::decompress_size_prepended(compressed).ok()?;
    serde_json::from_str(str::from_utf8(&json).ok()?).ok()
}

/// The complete embedded files, merged with `added`.
pub(super) fn with(added: &[Arc<CauseFile>]) -> Vec<Arc<CauseFile>> {
    let kept = HEADS.iter().filter(|(head, _)| !is_replaced(head, added));
    let embedded = kept.filter_map(|(_, whole)| complete(whole).map(Arc::new));
    embedded.chain(added.iter().cloned()).collect()
}

/// The complete file of one cause.
pub(super) fn of_cause(cause: &str, added: &[Arc<CauseFile>]) -> Option<Arc<CauseFile>> {
    let of_user = added.iter().find(|file| file.cause == cause).cloned();
    of_user.or_else(|| {
        HEADS.iter().find(|(head, _)| head.cause == cause).and_then(|(_, whole)| complete(whole).map(Arc::new))
    })
}

/// A cause with the name of an embedded one replaces it.
pub(super) fn is_replaced(file: &CauseFile, added: &[Arc<CauseFile>]) -> bool {
    added.iter().any(|other| other.cause == file.cause)
}
