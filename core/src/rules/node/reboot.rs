//! Reports a node that was rebooted within the last 10 minutes. A reboot is not a failure, but it explains failures of
//! the pods.

use super::finding::NodeFinding;
use crate::api::{Confidence, Severity};
use crate::case::{evidence, remedy};
use crate::facts::{NodeState, Timestamp, after};
use crate::language::{Language, translate};
use crate::message::{self, text};

/// Seconds for which a reboot is reported.
const REPORTED_FOR: i64 = 600;

/// The reboot, and the time until which it is reported. The reboot of a cordoned node is planned.
pub(super) fn of(language: Language, node: &NodeState, now: Timestamp) -> Option<(NodeFinding, Timestamp)> {
    let reboot = node.reboots.last().filter(|_| !node.facts.unschedulable)?;
    let until = after(reboot.at, REPORTED_FOR);
    if now >= until {
        return None;
    }
    let name = &node.facts.name;
    let finding = NodeFinding {
        cause: "NodeRebooted",
        severity: Severity::Info,
        confidence: Confidence::Certain,
        since: Some(reboot.at),
        summary: message::fit(
            &translate!(
                language,
                "node {name} was rebooted: its containers were lost and start again",
                "ノード {name} が再起動された。コンテナは失われ、再び起動する",
                name
            ),
            text::SUMMARY_MAX,
        ),
        remedies: vec![remedy::command(
            remedy::fix(translate!(
                language,
                "Find out why {name} was rebooted, unless the reboot was planned.",
                "計画された再起動でなければ、{name} が再起動された理由を調べる。",
                name
            )),
            "journalctl -b -1 -n 50",
        )],
        evidence: vec![evidence::field_at(format!("node/{name} event/Rebooted"), &*reboot.message, Some(reboot.at))],
        ready: None,
        quiet: true,
    };
    Some((finding, until))
}
