//! The signal `nodeEvent`.

use super::node_condition::short;
use super::signal;
use crate::facts::NodeComplaint;

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

    /// What emitted it. Source: Event reportingComponent, else source.component.
    "reporter": fn reporter(&self) -> &str { &self.event.reporter }

    /// Whether an agent other than the components of Kubernetes emitted it. Source: Event reportingComponent, else
    /// source.component.
    "isOfAgent": fn is_of_agent(&self) -> bool { self.event.is_of_agent }
}
