//! Errors of a write, classified by how the engine handles them.

use std::time::Duration;

use super::is_namespace_gone;
use crate::cluster::Failure;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The object is not at the version to replace. Reread it ([`super::Publisher::current`]) and decide again.
    #[error("the object was changed by another writer")]
    Conflict,
    /// The namespace is deleted or terminating. Forget the object.
    #[error("the namespace is deleted or terminating")]
    NamespaceGone,
    /// The API server throttles. Retry after `retry_after`, if it is given.
    #[error("the API server throttles us")]
    TooManyRequests { retry_after: Option<Duration> },
    /// The object is invalid. Do not retry it unchanged.
    #[error("the API server finds it invalid: {0}")]
    Invalid(String),
    #[error("the object is too large for the API server")]
    TooLarge,
    /// RBAC, a quota or a webhook denies the write. Retry slowly, because only an administrator can fix it.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// Like `Forbidden`, for all objects of this kind in this namespace.
    #[error("no role grants it: {0}")]
    NotGranted(String),
    #[error("the API server does not know this kind of object: is the CRD installed?")]
    NotInstalled,
    /// The request was not sent. Forget it: the leader decides again.
    #[error("another replica leads")]
    NotLeading,
    /// Server, network or credentials fail. Retry.
    #[error("the API server is unavailable: {0}")]
    Unavailable(String),
}

impl PublishError {
    /// A stable label for metrics and logs.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::NamespaceGone => "namespace_gone",
            Self::TooManyRequests { .. } => "throttled",
            Self::Invalid(_) => "invalid",
            Self::TooLarge => "too_large",
            Self::Forbidden(_) => "forbidden",
            Self::NotGranted(_) => "not_granted",
            Self::NotInstalled => "not_installed",
            Self::NotLeading => "not_leading",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// Whether the same write may succeed later.
    pub fn is_retryable(&self) -> bool {
        !matches!(self, Self::Conflict | Self::NamespaceGone | Self::Invalid(_) | Self::TooLarge)
    }
}

impl From<Failure> for PublishError {
    fn from(failure: Failure) -> Self {
        let (status, retry_after) = match failure {
            Failure::Api { status, retry_after } => (status, retry_after),
            Failure::NotLeading => return Self::NotLeading,
            failure => return Self::Unavailable(failure.to_string()),
        };
        if is_namespace_gone(&status) {
            return Self::NamespaceGone;
        }
        match status.code {
            404 => Self::NotInstalled,
            409 => Self::Conflict,
            429 => Self::TooManyRequests { retry_after },
            403 => Self::Forbidden(status.message),
            413 => Self::TooLarge,
            400 | 422 => Self::Invalid(status.message),
            _ => Self::Unavailable(format!("{} {}", status.code, status.message)),
        }
    }
}
