//! Fields of custom resources that rules read, beside those that every custom resource is read for.
//!
//! Which fields these are is known only when the operator runs. They are a thread-local variable, because serde cannot pass
//! state to the objects that it reads.

use std::cell::RefCell;
use std::sync::Arc;

use serde::Deserializer;
use serde::de::DeserializeSeed;
use serde_json::Value;

use super::part::Part;
use super::room;
use crate::facts::{FieldPaths, ObjectFields};

/// Maximum depth of lists and maps of an object.
const DEEPEST: usize = 40;

thread_local! {
    static PATHS: RefCell<Option<Arc<FieldPaths>>> = const { RefCell::new(None) };
}

/// Runs a closure in which the custom resources that are read keep these fields.
pub fn keeping<T>(paths: &Arc<FieldPaths>, run: impl FnOnce() -> T) -> T {
    let before = PATHS.replace(Some(paths.clone()).filter(|paths| !paths.is_empty()));
    let result = run();
    PATHS.set(before);
    result
}

/// The fields that are kept of the objects that are read now.
pub(super) fn paths() -> Option<Arc<FieldPaths>> {
    PATHS.with_borrow(Clone::clone)
}

/// Reads a whole object, for the moment, and the fields that are kept of it.
pub(super) fn read<'de, D: Deserializer<'de>>(
    paths: &FieldPaths,
    d: D,
) -> Result<(Value, Box<ObjectFields>), D::Error> {
    let before = room::left();
    let object = Part(DEEPEST).deserialize(d)?;
    room::refund(before);
    let fields = ObjectFields::read(paths, &object);
    Ok((object, Box::new(fields)))
}
