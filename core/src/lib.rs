//! Decision logic: turns the objects of a cluster into diagnoses to write. Pure: no I/O, no clock.
//!
//! Data flows one way: [`wire`] -> [`facts`] -> [`state`] -> [`outbox`] -> [`signals`] -> [`rules`] -> [`actions`] ->
//! [`reconcile`].
//! ARCHITECTURE.md has the map and the invariants.

pub mod actions;
pub mod api;
pub mod case;
pub mod facts;
pub mod fixture;
pub mod language;
pub mod message;
pub mod offline;
pub mod outbox;
pub mod reconcile;
pub mod redact;
pub mod rules;
pub mod signals;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;
pub mod user_rules;
pub mod wire;
