//! A node that was rebooted a moment ago: no failure by itself, but it explains what its pods went through.

use super::finding::NodeFinding;
use crate::api::{Confidence, Severity};
use crate::diagnosis::language::say;
use crate::diagnosis::{Language, evidence, remedy, text};
use crate::facts::{NodeState, Timestamp, after};

/// For so many seconds a reboot is worth knowing of.
const WORTH_KNOWING: i64 = 600;

/// The reboot, and until when it is told. That of a node that was closed before is somebody's work.
pub(super) fn of(language: Language, node: &NodeState, now: Timestamp) -> Option<(NodeFinding, Timestamp)> {
    let reboot = node.reboots.last().filter(|_| !node.facts.unschedulable)?;
    let until = after(reboot.at, WORTH_KNOWING);
    if now >= until {
        return None;
    }
    let name = &node.facts.name;
    let finding = NodeFinding {
        cause: "NodeRebooted",
        severity: Severity::Info,
        confidence: Confidence::Certain,
        since: Some(reboot.at),
        summary: text::line(
            &say!(language, "node {name} was rebooted; its containers were lost and are started again", name),
            text::SUMMARY_MAX,
        ),
        remedies: vec![remedy::command(
            remedy::fix(say!(language, "Find out why {name} was rebooted, if nobody did it.", name)),
            "journalctl -b -1 -n 50",
        )],
        evidence: vec![evidence::field_at(format!("node/{name} event/Rebooted"), &*reboot.message, Some(reboot.at))],
        ready: None,
        quiet: true,
    };
    Some((finding, until))
}
