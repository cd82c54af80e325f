//! Alertmanager, API v2.

use serde_json::{Value, json};
use shindan_core::facts::Timestamp;

use super::{Outgoing, Unbuildable, bearer, below, incidents, json as request};
use crate::notify::config::Secrets;
use crate::notify::message::{Change, Notice, joined};
use crate::notify::queue::Delivery;

pub(super) fn alerts(
    delivery: &Delivery,
    cluster: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Outgoing>, Unbuildable> {
    let (all, _) = incidents(delivery);
    let alerts: Value = all.iter().map(|(change, notice)| alert(*change, notice, cluster)).collect();
    Ok(vec![request(below(&secrets.url, "/api/v2/alerts")?, &alerts, bearer(secrets))?])
}

/// An alert. The labels are its identity: Alertmanager ends an alert whose labels changed after `resolve_timeout`.
fn alert(change: Change, notice: &Notice, cluster: Option<&str>) -> Value {
    let mut labels = json!({
        "alertname": "ShindanIncident",
        "incident": notice.id(cluster),
        "cause": notice.cause,
        "category": notice.category,
        "severity": notice.severity.as_str().to_ascii_lowercase(),
        "subject": notice.subject(),
    });
    if let Some(cluster) = cluster {
        labels["cluster"] = cluster.into();
    }
    if let [namespace] = notice.namespaces.as_slice() {
        labels["namespace"] = namespace.as_str().into();
    }
    let mut alert = json!({
        "labels": labels,
        "annotations": {
            "summary": notice.title(Change::Opened, None),
            "description": joined(&notice.lines(change)),
        },
    });
    if let Some(since) = notice.since {
        alert["startsAt"] = since.to_string().into();
    }
    // A running alert has no end: Alertmanager sets it, and each repetition moves it.
    if change == Change::Resolved {
        let end = notice.end.as_ref().and_then(|end| end.at).or(notice.since).unwrap_or(Timestamp::UNIX_EPOCH);
        alert["endsAt"] = end.to_string().into();
    }
    alert
}
