//! A node that was rebooted within the last 10 minutes: no failure by itself, but it explains failures of its pods.

use super::finding::NodeFinding;
use crate::api::{Confidence, Severity};
use crate::diagnosis::language::say;
use crate::diagnosis::{Language, evidence, remedy, text};
use crate::facts::{NodeState, Timestamp, after};

/// For so many seconds a reboot is reported.
const WORTH_KNOWING: i64 = 600;

/// The reboot, and until when it is reported. That of a cordoned node is planned.
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
            &say!(language, "node {name} was rebooted: its containers were lost and start again", name),
            text::SUMMARY_MAX,
        ),
        remedies: vec![remedy::command(
            remedy::fix(say!(language, "Find out why {name} was rebooted, unless the reboot was planned.", name)),
            "journalctl -b -1 -n 50",
        )],
        evidence: vec![evidence::field_at(format!("node/{name} event/Rebooted"), &*reboot.message, Some(reboot.at))],
        ready: None,
        quiet: true,
    };
    Some((finding, until))
}
