//! All Kubernetes I/O: watches, lookups, the read-back of our own objects, and the only writer.
//!
//! Slim types in [`wire`] become facts at once; nothing above this module knows an API type. Every request has an end:
//! [`client`] bounds the wait for an answer, `call` the whole of a short request, and the watches renew themselves.

pub mod access;
mod call;
pub mod client;
pub mod header_timeout;
pub mod lease;
pub mod lookup;
pub mod publish;
pub mod restore;
pub mod watch;
pub mod wire;

pub use call::Failure;

/// The field manager of our applies.
pub const FIELD_MANAGER: &str = "shindan";
/// Who reports our Events; the watches leave out what it reported.
pub const REPORTER: &str = "shindan.dev/operator";
/// Objects of one page of a LIST.
const PAGE: u32 = 500;
