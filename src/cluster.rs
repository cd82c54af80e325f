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
pub mod snapshot;
pub mod watch;
pub mod wire;

pub use call::Failure;

/// What of the cluster may be read, and told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only these namespaces; all where empty.
    pub namespaces: Vec<String>,
    /// What belongs to no namespace as well: Nodes, StorageClasses and our own diagnoses of nodes.
    pub nodes: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { namespaces: Vec::new(), nodes: true }
    }
}

impl Scope {
    /// The namespaces to ask for one by one; `None` asks for all at once.
    fn each(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
    }
}

/// The field manager of our applies.
pub const FIELD_MANAGER: &str = "shindan";
/// Who reports our Events; the watches leave out what it reported.
pub const REPORTER: &str = "shindan.dev/operator";
/// Objects of one page of a LIST.
const PAGE: u32 = 500;
