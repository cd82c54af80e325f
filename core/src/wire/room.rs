//! Memory budget for objects from a file.
//!
//! Three bytes in a file (`{},`) can take hundreds of bytes as a fact. In a cluster, the limits of the API server bound
//! this; a file has no limits. So each kept element is charged to a budget, which is unlimited unless a file is being
//! read. The budget is a thread-local variable, because serde cannot pass state to fields.

use std::cell::Cell;

use serde::de::Error;

/// Bytes of the smallest element of a list.
pub(super) const SMALLEST: usize = 64;
/// Bytes of an object without its lists.
pub(super) const OBJECT: usize = 1024;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Reads within the remaining budget and updates it. It becomes zero if it was exceeded.
pub(super) fn within<T>(left: &mut usize, read: impl FnOnce() -> T) -> T {
    let before = LEFT.replace(*left);
    let done = read();
    *left = LEFT.replace(before);
    done
}

/// Charges the budget for kept data.
pub(super) fn spend<E: Error>(bytes: usize) -> Result<(), E> {
    let left = LEFT.get().checked_sub(bytes);
    LEFT.set(left.unwrap_or(0));
    if left.is_none() { Err(E::custom("the memory limit is reached")) } else { Ok(()) }
}

/// The remaining budget. Restore it with [`refund`] if the data read meanwhile is dropped.
pub(super) fn left() -> usize {
    LEFT.get()
}

pub(super) fn refund(to: usize) {
    if LEFT.get() > 0 {
        LEFT.set(to);
    }
}
