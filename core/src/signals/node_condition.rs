//! The signal `nodeCondition`.

use super::signal;
use crate::facts::Condition;
use crate::message;

signal! {
    /// A condition of a node other than Ready that is True: of the kubelet, the cloud provider, or an agent such as
    /// node-problem-detector. Not read while the node is not Ready. Source: Node status.conditions.
    pub(crate) struct NodeCondition<'a> as "nodeCondition" { condition: &'a Condition }
    reason: |of| &of.condition.reason, message: &of.condition.message;

    /// Its type, such as `DiskPressure`. Source: Node status.conditions[].type.
    "type": fn kind(&self) -> &str { &self.condition.kind }

    /// Its message, else its reason, at most 100 characters. Source: Node status.conditions[].message and .reason.
    "message": fn message(&self) -> String {
        let Condition { reason, message, .. } = self.condition;
        message::fit(if message.is_empty() { reason } else { message }, 100)
    }
}
