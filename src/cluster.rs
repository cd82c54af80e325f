//! All Kubernetes I/O: the watches, the lookups, the read of our own objects, and the only writer.
//!
//! The slim types of [`shindan_core::wire`] are converted to facts here, so no other module depends on an API type.
//! Every request has a time limit: [`client`] limits the wait for a response, `call` limits a whole short request, and
//! the watches renew themselves.

pub mod access;
mod call;
pub mod client;
pub mod discovery;
pub mod follow;
pub mod header_timeout;
pub mod kinds;
pub mod lease;
pub mod lookup;
pub mod network;
pub mod publish;
pub mod restore;
pub mod rules;
pub mod snapshot;
pub mod watch;

pub use call::Failure;

/// The part of the cluster that is read and diagnosed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only these namespaces. Empty: all.
    pub namespaces: Vec<String>,
    /// Whether cluster-scoped objects are read: Nodes, StorageClasses, our own NodeDiagnoses, and DiagnosisRules.
    pub nodes: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { namespaces: Vec::new(), nodes: true }
    }
}

impl Scope {
    /// The namespaces to request one by one. `None`: all namespaces in one request.
    fn each(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|namespace| Some(namespace.as_str())).collect()
    }
}

/// Field manager of our server-side applies.
pub const FIELD_MANAGER: &str = "shindan";
/// Page size of a LIST.
const PAGE: u32 = 500;
