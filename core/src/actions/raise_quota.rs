//! Raises a ResourceQuota so that it allows the missing pods of a workload.

use serde_json::{Map, json};

use super::{Action, Ask, Undo};
use crate::case::target::shell_word;
use crate::case::{Remedy, remedy};
use crate::facts::{format_bytes, format_cpu, parse_bytes, parse_cpu};

pub(super) const ACTION: Action = Action {
    name: "raise-quota",
    doc: "Raises the limits of a ResourceQuota to what is used (`used`) and what the missing pods of the workload request \
          (`requested` for each). If an amount cannot be read, it opens the quota in an editor.",
    params: &["name", "requested", "used"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let (name, prefix) = (ask.with("name")?, ask.target.as_ref()?.command_prefix());
    match hard(ask) {
        Some(hard) => {
            let body = json!({"spec": {"hard": hard}}).to_string();
            let command =
                format!("{prefix} patch resourcequota {} --type=merge -p {}", shell_word(name), shell_word(&body));
            Some(remedy::command(ask.remedy(), command))
        }
        None => ask.on_object("edit", "resourcequota", name),
    }
}

/// The new limits.
fn hard(ask: &Ask<'_>) -> Option<Map<String, serde_json::Value>> {
    let workload = ask.subject.workload()?.workload;
    let missing = workload.desired.saturating_sub(workload.current).max(1);
    let used = ask.with("used")?;
    let of = |resource: &str| used.split(',').find_map(|pair| pair.strip_prefix(resource)?.strip_prefix('='));
    let pairs = ask.with("requested")?.split(',').map(|pair| {
        let (resource, requested) = pair.split_once('=')?;
        let form = Form::of(resource);
        let used = form.parse(of(resource)?)?;
        let needed = form.parse(requested)?.checked_mul(missing)?.checked_add(used)?;
        Some((resource.to_owned(), form.format(needed).into()))
    });
    pairs.collect()
}

/// The form of the amounts of a resource.
#[derive(Clone, Copy)]
enum Form {
    Cpu,
    Bytes,
    Number,
}

impl Form {
    fn of(resource: &str) -> Self {
        match resource.rsplit('.').next().unwrap_or_default() {
            "cpu" => Self::Cpu,
            "memory" | "storage" | "ephemeral-storage" => Self::Bytes,
            _ => Self::Number,
        }
    }

    fn parse(self, amount: &str) -> Option<i64> {
        match self {
            Self::Cpu => parse_cpu(amount),
            Self::Bytes => parse_bytes(amount),
            Self::Number => amount.parse().ok(),
        }
    }

    fn format(self, amount: i64) -> String {
        match self {
            Self::Cpu => format_cpu(amount),
            Self::Bytes => format_bytes(amount),
            Self::Number => amount.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_form_of_their_resource() {
        for (resource, amount, least) in [
            ("pods", "3", 3),
            ("count/deployments.apps", "12", 12),
            ("requests.cpu", "1500m", 1500),
            ("limits.memory", "128Mi", 128 << 20),
            ("gold.storageclass.storage.k8s.io/requests.storage", "2Gi", 2 << 30),
            ("requests.nvidia.com/gpu", "2", 2),
        ] {
            let form = Form::of(resource);
            assert_eq!(form.parse(amount), Some(least), "{resource}");
            assert_eq!(form.format(least), amount, "{resource}");
        }
    }
}
