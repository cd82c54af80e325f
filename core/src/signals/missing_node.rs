//! The signal `missingNode`.

use super::{Matched, PodSignal, Source, lasting, signal};
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Phase, Timestamp};

signal! {
    /// The node of a pod that no kubelet has started, where no Node has its name. Not read where no Node is known at all.
    /// Source: Pod spec.nodeName, status.startTime; Nodes.
    pub(crate) struct MissingNode<'a> as "missingNode" { case: &'a Case<'a>, name: &'a str }
    reason: |_of| "", message: "";

    /// The name. Source: Pod spec.nodeName.
    "name": fn name(&self) -> &str { self.name }
}

pub(crate) const SOURCE: Source = Source {
    definition: &MissingNode::DEFINITION,
    read: |case| read(case).into_iter().map(|signal| Box::new(signal) as Box<dyn PodSignal<'_> + '_>).collect(),
};

impl<'a> PodSignal<'a> for MissingNode<'a> {
    fn due(&self, cause: &Matched) -> Result<(), Timestamp> {
        let Case { thresholds, .. } = self.case;
        let seconds = thresholds.of(cause.name, cause.threshold);
        lasting::has_been(self.case, self.case.held_since(self.case.pod.created), seconds)
    }

    fn evidence(&self, _: &Matched) -> Vec<Evidence> {
        let nodes = self.case.nodes;
        let some: Vec<&str> = nodes.keys().take(3).map(|name| &**name).collect();
        vec![
            evidence::field("spec.nodeName", self.name),
            evidence::field("nodes", format!("{} in all, such as {}", nodes.len(), some.join(", "))),
        ]
    }
}

fn read<'a>(case: &'a Case<'a>) -> Option<MissingNode<'a>> {
    let pod = case.pod;
    let name = pod.node_name.as_deref().filter(|name| !case.nodes.contains_key(*name))?;
    let is_started = pod.phase != Phase::Pending || pod.start_time.is_some() || pod.deletion.is_some();
    (!case.nodes.is_empty() && !is_started).then_some(MissingNode { case, name })
}
