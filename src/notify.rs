//! Notifications: sends messages about incidents to chat, paging and alerting services. Off unless `--notify` names a file.
//!
//! Data flows one way. The engine hands each acknowledged diagnosis to [`Handle`], which keeps only the newest per object.
//! [`incident`] groups diagnoses by their root, [`route`] selects the receivers, [`queue`] decides what a receiver must be
//! sent and when, and [`mod@format`] renders it: all four are pure. Only [`task`] and [`send`] do I/O.

pub mod config;
pub mod format;
mod handle;
pub mod incident;
pub mod message;
pub mod queue;
pub mod route;
pub mod send;
pub mod task;

pub use config::Settings;
pub use handle::{Handle, Mark};
