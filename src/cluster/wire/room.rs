//! How much memory objects from a file may take.
//!
//! What takes three bytes in a file (`{},`) can take hundreds as a fact. The API server's limits keep that small in a
//! cluster; a file has none. So each element that is kept is paid for from a budget, which is without end unless a file is
//! being read. It lies beside the types, not in them, because serde hands nothing down to a field.

use std::cell::Cell;

use serde::de::Error;

/// What the smallest element of a list takes.
pub(super) const SMALLEST: usize = 64;
/// What an object takes beside its lists.
pub(super) const OBJECT: usize = 1024;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Reads within what is left, and notes what is left then: nothing where it was too little.
pub(super) fn within<T>(left: &mut usize, read: impl FnOnce() -> T) -> T {
    let outer = LEFT.replace(*left);
    let done = read();
    *left = LEFT.replace(outer);
    done
}

/// Pays for what is kept.
pub(super) fn spend<E: Error>(bytes: usize) -> Result<(), E> {
    let left = LEFT.get().checked_sub(bytes);
    LEFT.set(left.unwrap_or(0));
    if left.is_none() { Err(E::custom("there is no room left for it")) } else { Ok(()) }
}

/// What is left, to be given back with [`refund`] where what was read meanwhile is kept no longer.
pub(super) fn left() -> usize {
    LEFT.get()
}

pub(super) fn refund(to: usize) {
    if LEFT.get() > 0 {
        LEFT.set(to);
    }
}
