//! The signal `nodeEvent`.

use super::node_condition::short;
use super::{gpu, signal};
use crate::facts::{NodeComplaint, format_bytes};

signal! {
    /// A Warning Event about a node of the kubelet or of an agent such as node-problem-detector, in the 15 minutes after it: an
    /// Event of what lasts is repeated. The newest of each problem. Source: Events regarding the Node.
    pub(crate) struct NodeEvent<'a> as "nodeEvent" { event: &'a NodeComplaint }
    reason: |of| &of.event.reason, message: &of.event.message;

    /// How often it was emitted. Source: Event count.
    "count": fn count(&self) -> u32 { self.event.count }

    /// Name of the problem: the reason, or the word that precedes the message where the reason names a condition, as in
    /// `SoftLockup: CPU stuck for 22s` of the EKS node monitoring agent. Source: Event reason and message.
    "problem": fn problem(&self) -> &str { self.event.problem() }

    /// Its message without that word, at most 120 characters. Source: Event message.
    "message": fn message(&self) -> String {
        let message = &*self.event.message;
        let rest = message.strip_prefix(self.event.problem()).and_then(|rest| rest.strip_prefix(": "));
        short(rest.unwrap_or(message))
    }

    /// How much disk the kubelet has to free, as a quantity; empty if the message names no amount.
    /// Source: pkg/kubelet/images/image_gc_manager.go, `Attempted to free 6442450944 bytes`.
    "toFree": fn to_free(&self) -> String { bytes_after(&self.event.message, " to free ").unwrap_or_default() }

    /// How much of that unused images amount to, or their removal freed, as a quantity.
    /// Source: pkg/kubelet/images/image_gc_manager.go, `only found 0 bytes eligible to free`, `but freed 0 bytes`.
    "freeable": fn freeable(&self) -> String {
        let found = bytes_after(&self.event.message, " only found ");
        found.or_else(|| bytes_after(&self.event.message, " but freed ")).unwrap_or_default()
    }

    /// What it is about: `gpu`, or empty. Source: Event reason and message.
    "area": fn area(&self) -> &'static str {
        let NodeComplaint { reason, message, .. } = self.event;
        let is_of_gpu = gpu::is_about(reason) || gpu::is_about(self.event.problem()) || gpu::xid(message).is_some();
        if is_of_gpu { "gpu" } else { "" }
    }

    /// Number of the error (XID) that the NVIDIA driver reports. Source: Event reason and message.
    "xid": fn xid(&self) -> Option<i64> {
        gpu::xid(&self.event.message).or_else(|| gpu::xid(&self.event.reason)).map(i64::from)
    }

    /// What the XID means, such as `GPU memory page fault`; empty if it is not known. Source: NVIDIA XID catalog.
    "xidMeaning": fn xid_meaning(&self) -> &'static str { gpu::known(self.xid()).map_or("", |(meaning, _)| meaning) }

    /// What the XID means for pods, as `nodeCondition.xidEffect`. Source: NVIDIA XID catalog.
    "xidEffect": fn xid_effect(&self) -> &'static str { gpu::known(self.xid()).map_or("", |(_, effect)| effect.name()) }

    /// What emitted it. Source: Event reportingComponent, else source.component.
    "reporter": fn reporter(&self) -> &str { &self.event.reporter }

    /// Whether an agent other than the components of Kubernetes emitted it. Source: Event reportingComponent, else
    /// source.component.
    "isOfAgent": fn is_of_agent(&self) -> bool { self.event.is_of_agent }
}

/// The number of bytes after `mark`.
fn bytes_after(message: &str, mark: &str) -> Option<String> {
    let (_, rest) = message.split_once(mark)?;
    let (number, _) = rest.split_once(" bytes")?;
    let bytes: i64 = number.parse().ok()?;
    Some(if bytes < 1024 { format!("{bytes} bytes") } else { format_bytes(bytes) })
}
