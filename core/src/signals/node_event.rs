//! The signal `nodeEvent`.

use super::signal;
use crate::facts::NodeComplaint;
use crate::message;

signal! {
    /// A Warning Event of a kubelet on its node, in the 15 minutes after it: the kubelet repeats an Event of what lasts. The newest
    /// of each reason that a cause names. Source: Events regarding the Node.
    pub(crate) struct NodeEvent<'a> as "nodeEvent" { event: &'a NodeComplaint }
    reason: |of| &of.event.reason, message: &of.event.message;

    /// How often it was emitted. Source: Event count.
    "count": fn count(&self) -> u32 { self.event.count }

    /// Its message, at most 100 characters. Source: Event message.
    "message": fn message(&self) -> String { message::fit(&self.event.message, 100) }
}
