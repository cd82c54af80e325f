//! Classifies the errors of a watch, with a message for the log.

use kube::core::Status;
use kube::runtime::watcher;

use crate::cluster::Failure;

/// An error of a watch, as it is logged and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) category: &'static str,
    pub(super) message: String,
}

impl Trouble {
    pub(super) fn of(error: watcher::Error, what: &str) -> Self {
        let failure = failure_of(error);
        let message = match (&failure, failure.category()) {
            (_, "forbidden") => format!(
                "not allowed to list and watch {what}; is the operator's ClusterRole the one of this version? ({failure})"
            ),
            (_, "unauthorized") => format!("our credentials are not accepted: {failure}"),
            (_, "not_found") => format!("the API server does not know {what}; is the CRD installed?"),
            (_, "timeout" | "transport") => format!("cannot reach the API server: {failure}"),
            _ => failure.to_string(),
        };
        Self { category: failure.category(), message }
    }

    /// Whether the API server will refuse the watch until RBAC or a CRD changes.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.category, "forbidden" | "not_found")
    }

    /// Whether the resource version has expired. This is expected: the watch lists again.
    pub(super) fn is_expiry(&self) -> bool {
        self.category == "expired"
    }
}

/// The failure of a request of a watch.
pub(in crate::cluster) fn failure_of(error: watcher::Error) -> Failure {
    match error {
        watcher::Error::InitialListFailed(e) | watcher::Error::WatchStartFailed(e) | watcher::Error::WatchFailed(e) => {
            Failure::from_kube(e)
        }
        watcher::Error::WatchError(status) => Failure::from_kube(kube::Error::Api(status)),
        watcher::Error::NoResourceVersion => Failure::Unreadable("an object without resourceVersion".to_owned()),
    }
}

/// Whether the server does not support streaming lists (the WatchList feature gate is off).
///
/// The response is a 422: `sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList
/// feature gate is enabled`. Aggregated and older API servers may report one of the parameters as invalid.
pub(super) fn refuses_streaming(error: &watcher::Error) -> bool {
    let about = |status: &Status| {
        matches!(status.code, 400 | 422)
            && ["sendInitialEvents", "resourceVersionMatch"].iter().any(|word| status.message.contains(word))
    };
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) | watcher::Error::WatchError(status) => {
            about(status)
        }
        _ => false,
    }
}
