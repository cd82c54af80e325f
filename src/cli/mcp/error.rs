//! Errors of the tools, each with what to do.

use serde::Serialize;
use shindan_core::message::text;

use crate::cli::error_chain;
use crate::cluster::client::ClientError;
use crate::cluster::restore::RestoreError;
use crate::cluster::snapshot::Failure;

/// Maximum characters of a message.
const MESSAGE: usize = 600;

/// A mistake in the arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Wrong(pub(super) String);

/// An object or a namespace that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unknown(pub(super) String);

/// The content of an error. The message may quote the API server or the arguments.
#[derive(Debug, Serialize)]
pub(super) struct ToolError {
    error: &'static str,
    r#do: &'static str,
    untrusted: Message,
}

#[derive(Debug, Serialize)]
struct Message {
    message: String,
}

impl ToolError {
    pub(super) fn of(error: &anyhow::Error) -> Self {
        let (kind, advice) = kind(error);
        Self { error: kind, r#do: advice, untrusted: Message { message: text::line(&error_chain(error), MESSAGE) } }
    }
}

fn kind(error: &anyhow::Error) -> (&'static str, &'static str) {
    const UNREACHABLE: (&str, &str) =
        ("API server unreachable", "Check that the cluster runs and that its address is right, then call again.");
    let find = |error: &(dyn std::error::Error + 'static)| {
        if error.is::<Wrong>() {
            return Some(("wrong arguments", "Correct the arguments and call again."));
        }
        if error.is::<Unknown>() {
            return Some((
                "unknown object",
                "Call list_failures for the names of objects that fail, or correct the name.",
            ));
        }
        if let Some(error) = error.downcast_ref::<ClientError>() {
            return Some(match error {
                ClientError::Unreachable { .. } | ClientError::Odd { .. } => UNREACHABLE,
                ClientError::Unauthorized { .. } => {
                    ("credentials rejected", "Ask the user to log in to the cluster again, then call again.")
                }
                _ => ("no usable kubeconfig", "Ask the user to correct the kubeconfig or the flags of this server."),
            });
        }
        let failure = match error.downcast_ref::<RestoreError>() {
            Some(RestoreError::Failed { failure, .. }) => Some(failure),
            Some(RestoreError::NotInstalled) => None,
            None => error.downcast_ref::<Failure>(),
        };
        match failure? {
            Failure::Timeout(_) | Failure::Transport(_) => Some(UNREACHABLE),
            failure if failure.is_forbidden() => Some((
                "missing permission",
                "Pass a namespace that the user has access to, or ask the user for the permission in the message.",
            )),
            _ => None,
        }
    };
    error.chain().find_map(find).unwrap_or(("failed", "Read the message. If it may pass, call again."))
}
