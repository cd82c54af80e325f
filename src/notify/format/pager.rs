//! PagerDuty (Events API v2) and Opsgenie (Alert API).

use serde_json::{Value, json};
use shindan_core::api::Severity;
use shindan_core::message::text;

use super::{Outgoing, Unbuildable, below, digest_id, incidents, json as request};
use crate::notify::config::Secrets;
use crate::notify::message::{Change, Notice, digest_lines, digest_title, joined};
use crate::notify::queue::Delivery;

/// The lines of a message as an object.
fn details(notice: &Notice, change: Change) -> Value {
    notice.lines(change).into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect()
}

pub(super) fn pager_duty(
    delivery: &Delivery,
    cluster: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Outgoing>, Unbuildable> {
    let (all, is_digest) = incidents(delivery);
    let key = match all.first() {
        Some((_, notice)) if !is_digest => notice.id(cluster),
        _ => digest_id(cluster),
    };
    let is_over = match all.first() {
        Some((change, _)) => !is_digest && *change == Change::Resolved,
        None => true,
    };
    let mut event = json!({
        "routing_key": secrets.token,
        "event_action": if is_over { "resolve" } else { "trigger" },
        "dedup_key": key,
    });
    if !is_over {
        let worst = all.iter().map(|(_, notice)| notice.severity).min().unwrap_or(Severity::Warning);
        let severity = match worst {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let source = cluster.unwrap_or("kubernetes");
        event["client"] = "Shindan".into();
        event["payload"] = match all.first() {
            Some((change, notice)) if !is_digest => json!({
                "summary": text::cut(&notice.title(*change, cluster), 1000),
                "source": source,
                "severity": severity,
                "timestamp": notice.since.map(|since| since.to_string()),
                "component": text::cut(&notice.subject(), 200),
                "group": notice.namespaces.first(),
                "class": notice.cause,
                "custom_details": details(notice, *change),
            }),
            _ => json!({
                "summary": digest_title(&all, cluster),
                "source": source,
                "severity": severity,
                "custom_details": {"Incidents": digest_lines(&all)},
            }),
        };
    }
    Ok(vec![request(below(&secrets.url, "/v2/enqueue")?, &event, None)?])
}

pub(super) fn opsgenie(
    delivery: &Delivery,
    cluster: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Outgoing>, Unbuildable> {
    let (all, is_digest) = incidents(delivery);
    let authorization = secrets.token.as_ref().map(|key| format!("GenieKey {key}"));
    let priority = |severity| match severity {
        Severity::Critical => "P1",
        Severity::Warning => "P3",
        Severity::Info => "P5",
    };
    let (path, body) = match all.first() {
        None => (format!("/v2/alerts/{}/close?identifierType=alias", digest_id(cluster)), json!({"source": "Shindan"})),
        Some(_) if is_digest => {
            let worst = all.iter().map(|(_, notice)| notice.severity).min().unwrap_or(Severity::Warning);
            let body = json!({
                "message": text::cut(&digest_title(&all, cluster), 130),
                "alias": digest_id(cluster),
                "description": digest_lines(&all).join("\n"),
                "priority": priority(worst),
                "source": "Shindan",
                "tags": ["shindan"],
            });
            ("/v2/alerts".to_owned(), body)
        }
        Some((change, notice)) => {
            let (id, title) = (notice.id(cluster), notice.title(*change, cluster));
            let lines = joined(&notice.lines(*change));
            match change {
                Change::Opened => {
                    let body = json!({
                        "message": text::cut(&title, 130),
                        "alias": id,
                        "description": lines,
                        "details": details(notice, *change),
                        "entity": text::cut(&notice.subject(), 500),
                        "priority": priority(notice.severity),
                        "source": "Shindan",
                        "tags": ["shindan", notice.cause, notice.category],
                    });
                    ("/v2/alerts".to_owned(), body)
                }
                // An alert with a known alias would only be counted.
                Change::Updated => {
                    let body = json!({"note": format!("{title}\n{lines}"), "source": "Shindan"});
                    (format!("/v2/alerts/{id}/notes?identifierType=alias"), body)
                }
                Change::Resolved => {
                    let body = json!({"note": format!("{title}\n{lines}"), "source": "Shindan"});
                    (format!("/v2/alerts/{id}/close?identifierType=alias"), body)
                }
            }
        }
    };
    Ok(vec![request(below(&secrets.url, &path)?, &body, authorization)?])
}
