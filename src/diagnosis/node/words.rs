//! What a node's cause is in words.

use super::{
    CSI_NOT_INITIALIZED, MISSING_CAPACITY, NETWORK_NOT_READY, NEVER_UPDATED, PLEG_UNHEALTHY, RUNTIME_DOWN,
    RUNTIME_NOT_READY, SHUTTING_DOWN, STATUS_UNKNOWN,
};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, text};

/// What is wrong, with the part of the message that varies.
pub(super) fn is_so(language: Language, cause: &str, message: &str) -> String {
    let said = match (cause, detail(cause, message)) {
        (PLEG_UNHEALTHY, Some(time)) => {
            return say!(language, "its container runtime has not answered for {time} (PLEG is not healthy)", time);
        }
        (PLEG_UNHEALTHY, None) => {
            phrase!(language, "its container runtime does not answer the kubelet (PLEG is not healthy)")
        }
        (NETWORK_NOT_READY, Some(why)) => return say!(language, "its pod network is not set up ({why})", why),
        (NETWORK_NOT_READY, None) => {
            phrase!(language, "its pod network is not set up (the CNI plugin is missing or not ready)")
        }
        (RUNTIME_NOT_READY, Some(why)) => return say!(language, "its container runtime is not ready ({why})", why),
        (RUNTIME_NOT_READY, None) => phrase!(language, "its container runtime is not ready"),
        (CSI_NOT_INITIALIZED, Some(why)) => {
            return say!(language, "its kubelet cannot write its CSINode object ({why})", why);
        }
        (CSI_NOT_INITIALIZED, None) => {
            phrase!(language, "its kubelet has not set up its CSINode object (CSINode is not yet initialized)")
        }
        (MISSING_CAPACITY, Some(which)) => {
            return say!(language, "its kubelet cannot tell how much of these the machine has: {which}", which);
        }
        (MISSING_CAPACITY, None) => phrase!(language, "its kubelet cannot tell how much the machine has"),
        (RUNTIME_DOWN, _) => phrase!(language, "its container runtime does not answer (container runtime is down)"),
        (STATUS_UNKNOWN, _) => phrase!(language, "its kubelet no longer reports (machine, kubelet or network is down)"),
        (NEVER_UPDATED, _) => phrase!(language, "its kubelet has never reported (the node did not join properly)"),
        (SHUTTING_DOWN, _) => phrase!(language, "it is shutting down"),
        (_, Some(words)) => return words,
        (_, None) => phrase!(language, "it does not say why"),
    };
    said.to_owned()
}

/// What was wrong in the last outage.
pub(super) fn was_so(language: Language, cause: &str, message: &str) -> String {
    let said = match (cause, detail(cause, message)) {
        (PLEG_UNHEALTHY, Some(time)) => {
            return say!(language, "its container runtime had not answered for {time} (PLEG was not healthy)", time);
        }
        (PLEG_UNHEALTHY, None) => {
            phrase!(language, "its container runtime did not answer the kubelet (PLEG was not healthy)")
        }
        (NETWORK_NOT_READY, Some(why)) => return say!(language, "its pod network was not set up ({why})", why),
        (NETWORK_NOT_READY, None) => {
            phrase!(language, "its pod network was not set up (the CNI plugin was missing or not ready)")
        }
        (RUNTIME_NOT_READY, Some(why)) => return say!(language, "its container runtime was not ready ({why})", why),
        (RUNTIME_NOT_READY, None) => phrase!(language, "its container runtime was not ready"),
        (CSI_NOT_INITIALIZED, Some(why)) => {
            return say!(language, "its kubelet could not write its CSINode object ({why})", why);
        }
        (CSI_NOT_INITIALIZED, None) => {
            phrase!(language, "its kubelet had not set up its CSINode object (CSINode was not yet initialized)")
        }
        (MISSING_CAPACITY, Some(which)) => {
            return say!(language, "its kubelet could not tell how much of these the machine has: {which}", which);
        }
        (MISSING_CAPACITY, None) => phrase!(language, "its kubelet could not tell how much the machine has"),
        (RUNTIME_DOWN, _) => phrase!(language, "its container runtime did not answer (container runtime was down)"),
        (STATUS_UNKNOWN, _) => phrase!(language, "its kubelet did not report (machine, kubelet or network was down)"),
        (NEVER_UPDATED, _) => phrase!(language, "its kubelet had never reported (the node did not join properly)"),
        (SHUTTING_DOWN, _) => phrase!(language, "it was shutting down"),
        (_, Some(words)) => return words,
        (_, None) => phrase!(language, "it did not say why"),
    };
    said.to_owned()
}

/// What the message says beyond its cause.
fn detail(cause: &str, message: &str) -> Option<String> {
    match cause {
        PLEG_UNHEALTHY => pleg_age(message),
        NETWORK_NOT_READY | RUNTIME_NOT_READY => after_mark(message, "message:"),
        CSI_NOT_INITIALIZED => after_mark(message, "initialize CSINode: "),
        MISSING_CAPACITY => after_mark(message, "missing node capacity for resources: "),
        _ => Some(text::line(message, 100)).filter(|words| !words.is_empty()),
    }
}

/// `4m9s` of `pleg was last seen active 4m9.760138488s ago`.
fn pleg_age(message: &str) -> Option<String> {
    let age = message.split_once("last seen active ")?.1.split_once(" ago")?.0;
    let whole = age.split_once('.').map_or_else(|| age.to_owned(), |(whole, _)| format!("{whole}s"));
    (whole.len() <= 12 && !whole.is_empty()).then_some(whole)
}

fn after_mark(message: &str, mark: &str) -> Option<String> {
    let rest = message.split_once(mark)?.1.trim_end_matches(']');
    let rest = text::line(rest, 100);
    (!rest.is_empty()).then_some(rest)
}
