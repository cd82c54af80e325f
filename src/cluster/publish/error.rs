//! Why a write did not succeed, as the outbox needs it told apart.

use std::time::Duration;

use super::is_namespace_gone;
use crate::cluster::Failure;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The object is not at the version that we replace: reread it ([`super::Publisher::current`]) and plan again.
    #[error("the object has changed meanwhile")]
    Conflict,
    /// The namespace is deleted or being deleted: forget the object.
    #[error("the namespace is gone or going")]
    NamespaceGone,
    /// Not before `retry_after`, where the server says.
    #[error("the API server throttles us")]
    TooManyRequests { retry_after: Option<Duration> },
    /// Never to be retried unchanged.
    #[error("the API server finds it invalid: {0}")]
    Invalid(String),
    #[error("the object is too large for the API server")]
    TooLarge,
    /// A missing permission, a quota or a webhook. To be retried slowly: only an administrator can help.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// The same, and it will be so for all objects of this kind in this namespace.
    #[error("no role grants it: {0}")]
    NotGranted(String),
    #[error("the API server does not know PodDiagnosis objects: is the CRD installed?")]
    NotInstalled,
    /// It was not sent. To be forgotten: who leads decides anew.
    #[error("another replica leads")]
    NotLeading,
    /// To be retried: server, network or credentials.
    #[error("the API server cannot do it now: {0}")]
    Unavailable(String),
}

impl PublishError {
    /// A stable word for metrics and logs.
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
