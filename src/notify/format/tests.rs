use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::json;
use shindan_core::api::{DiagnosisState, Severity};

use super::*;
use crate::notify::incident::tests::{member, of_registry};
use crate::notify::incident::{End, Incidents, Member};

const HOSTILE: &str =
    "<!channel> @everyone <https://evil.example|click> [click](https://evil.example) **b** `c` & https://evil.example";

fn secrets(url: &str) -> Secrets {
    Secrets { url: url.parse().unwrap(), token: Some("t0ken".to_owned()), secret: Some("s3cret".to_owned()) }
}

fn one(change: Change) -> Delivery {
    let mut incidents = Incidents::default();
    for at in 0..3 {
        incidents.apply(Member { severity: Severity::Critical, ..of_registry("shop", &format!("web{at}")) }, 1);
    }
    let mut notice = incidents.notice(&"Registry/registry.example.com".into(), 0).unwrap();
    if change == Change::Resolved {
        let ended = Member {
            state: DiagnosisState::Recovered,
            summary: "3 of 3 pods are ready".to_owned(),
            changed: Some("2026-11-28T10:12:00Z".parse().unwrap()),
            ..member("web0")
        };
        notice.end = Some(End::of(&ended));
    }
    Delivery::One(change, notice.into())
}

fn hostile() -> Delivery {
    let mut incidents = Incidents::default();
    let member = Member { summary: HOSTILE.to_owned(), cause: HOSTILE.to_owned(), ..member("web") };
    let key = member.incident.clone();
    incidents.apply(member, 1);
    Delivery::One(Change::Opened, incidents.notice(&key, 0).unwrap().into())
}

fn request(kind: Kind, delivery: &Delivery, url: &str) -> (Outgoing, Value) {
    let mut all = requests(kind, delivery, Some("prod"), &secrets(url)).ok().unwrap();
    assert_eq!(all.len(), 1);
    let outgoing = all.remove(0);
    let body = serde_json::from_slice(&outgoing.body).unwrap();
    (outgoing, body)
}

fn header(outgoing: &Outgoing, name: &HeaderName) -> Option<String> {
    let found = outgoing.headers.iter().find(|(header, _)| header == name);
    found.map(|(_, value)| value.to_str().unwrap().to_owned())
}

const TITLE: &str = "[prod] Critical: RegistryConnectionRefused: Registry registry.example.com (3 objects affected)";

/// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
#[test]
fn slack_gets_plain_text_in_blocks() {
    let (outgoing, body) = request(Kind::Slack, &one(Change::Opened), "https://hooks.slack.com/services/T/B/x");
    assert_eq!(outgoing.uri.path(), "/services/T/B/x");
    assert_eq!(header(&outgoing, &CONTENT_TYPE).unwrap(), "application/json");
    assert_eq!(header(&outgoing, &AUTHORIZATION), None);
    assert_eq!(body["text"], TITLE);
    assert_eq!(body["blocks"][0]["text"], json!({"type": "plain_text", "text": TITLE, "emoji": false}));
    assert_eq!(
        body["blocks"][1]["text"]["text"],
        "Problem: shop/Deployment/web0: image registry.example.com/web:1 cannot be pulled: connection refused\n\
         Affected: shop/Deployment/web0, shop/Deployment/web1, shop/Deployment/web2\n\
         Failing pods: 6\n\
         Since: 2026-11-28T10:00:00Z\n\
         Remedy: shop/Deployment/web0: Raise the memory limit\n\
         Command: kubectl set resources deployment/web0"
    );
    let (_, body) = request(Kind::Slack, &one(Change::Resolved), "https://hooks.slack.com/x");
    assert!(
        body["text"].as_str().unwrap().starts_with("[prod] Resolved: RegistryConnectionRefused: Registry"),
        "{body}"
    );
    assert_eq!(
        body["blocks"][1]["text"]["text"],
        "Now: all have ended; shop/Deployment/web0: 3 of 3 pods are ready\n\
         Was affected: shop/Deployment/web0, shop/Deployment/web1, shop/Deployment/web2\n\
         Duration: 12 min (since 2026-11-28T10:00:00Z)"
    );
}

/// https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
#[test]
fn teams_gets_an_adaptive_card() {
    let (_, body) = request(Kind::Teams, &one(Change::Opened), "https://example.logic.azure.com/x?sig=1");
    assert_eq!(body["type"], "message");
    let attachment = &body["attachments"][0];
    assert_eq!(attachment["contentType"], "application/vnd.microsoft.card.adaptive");
    let card = &attachment["content"];
    assert_eq!((&card["type"], &card["version"]), (&json!("AdaptiveCard"), &json!("1.4")));
    assert_eq!(card["body"][0]["type"], "RichTextBlock");
    assert_eq!(card["body"][0]["inlines"][0]["text"], TITLE);
    assert_eq!(card["body"][1]["inlines"][0]["text"], "Problem: ");
}

/// https://discord.com/developers/docs/resources/webhook#execute-webhook
#[test]
fn discord_gets_an_embed_without_mentions() {
    let (_, body) = request(Kind::Discord, &one(Change::Opened), "https://discord.com/api/webhooks/1/x");
    assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    let description = body["embeds"][0]["description"].as_str().unwrap();
    assert!(
        description.starts_with("```\nProblem: shop/Deployment/web0: image registry") && description.ends_with("\n```"),
        "{description}"
    );
    assert_eq!(body["embeds"].as_array().unwrap().len(), 1);
}

/// https://developer.pagerduty.com/docs/send-alert-event
#[test]
fn pager_duty_gets_an_event_that_is_resolved_by_its_key() {
    let (outgoing, body) = request(Kind::PagerDuty, &one(Change::Opened), "https://events.pagerduty.com");
    assert_eq!(outgoing.uri, "https://events.pagerduty.com/v2/enqueue");
    assert_eq!((&body["routing_key"], &body["event_action"]), (&json!("t0ken"), &json!("trigger")));
    let payload = &body["payload"];
    assert_eq!(payload["summary"], TITLE);
    assert_eq!((&payload["source"], &payload["severity"]), (&json!("prod"), &json!("critical")));
    assert_eq!(payload["timestamp"], "2026-11-28T10:00:00Z");
    assert_eq!(payload["class"], "RegistryConnectionRefused");
    let (_, resolve) = request(Kind::PagerDuty, &one(Change::Resolved), "https://events.pagerduty.com");
    let expected = json!({"routing_key": "t0ken", "event_action": "resolve", "dedup_key": body["dedup_key"]});
    assert_eq!(resolve, expected);
    assert!(body["dedup_key"].as_str().is_some_and(|key| key.len() <= 255));
}

/// https://docs.opsgenie.com/docs/alert-api
#[test]
fn opsgenie_gets_an_alert_a_note_and_a_close() {
    let (outgoing, body) = request(Kind::Opsgenie, &one(Change::Opened), "https://api.opsgenie.com");
    assert_eq!(outgoing.uri, "https://api.opsgenie.com/v2/alerts");
    assert_eq!(header(&outgoing, &AUTHORIZATION).unwrap(), "GenieKey t0ken");
    assert_eq!((&body["priority"], &body["source"]), (&json!("P1"), &json!("Shindan")));
    assert!(body["message"].as_str().unwrap().chars().count() <= 130);
    let alias = body["alias"].as_str().unwrap();
    for (change, path) in [(Change::Updated, "notes"), (Change::Resolved, "close")] {
        let (outgoing, body) = request(Kind::Opsgenie, &one(change), "https://api.opsgenie.com/");
        let expected = format!("https://api.opsgenie.com/v2/alerts/{alias}/{path}?identifierType=alias");
        assert_eq!(outgoing.uri.to_string(), expected);
        assert!(body["note"].is_string());
    }
}

/// https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
#[test]
fn alertmanager_gets_alerts_with_labels_and_an_end() {
    let Delivery::One(change, notice) = one(Change::Opened) else { panic!() };
    let batch = Delivery::Batch(vec![(change, notice)]);
    let (outgoing, body) = request(Kind::Alertmanager, &batch, "http://alertmanager.monitoring.svc:9093/am/");
    assert_eq!(outgoing.uri, "http://alertmanager.monitoring.svc:9093/am/api/v2/alerts");
    assert_eq!(header(&outgoing, &AUTHORIZATION).unwrap(), "Bearer t0ken");
    let alert = &body[0];
    for (name, value) in [
        ("alertname", "ShindanIncident"),
        ("cluster", "prod"),
        ("namespace", "shop"),
        ("severity", "critical"),
        ("cause", "RegistryConnectionRefused"),
        ("subject", "Registry registry.example.com"),
    ] {
        assert_eq!(alert["labels"][name], value, "{name}");
    }
    assert_eq!((&alert["startsAt"], alert.get("endsAt")), (&json!("2026-11-28T10:00:00Z"), None));
    let Delivery::One(change, notice) = one(Change::Resolved) else { panic!() };
    let (_, body) = request(Kind::Alertmanager, &Delivery::Batch(vec![(change, notice)]), "http://localhost");
    assert_eq!(body[0]["endsAt"], "2026-11-28T10:12:00Z");
    assert_eq!(body[0]["labels"], alert["labels"], "it ends this alert");
}

/// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
#[test]
fn a_webhook_gets_a_signed_cloud_event() {
    let (outgoing, body) = request(Kind::Webhook, &one(Change::Opened), "https://hook.example.com/in");
    assert_eq!(header(&outgoing, &CONTENT_TYPE).unwrap(), "application/cloudevents+json; charset=utf-8");
    for (name, value) in [
        ("specversion", "1.0"),
        ("source", "/shindan/prod"),
        ("type", "dev.shindan.incident.opened"),
        ("subject", "Registry/registry.example.com"),
        ("time", "2026-11-28T10:00:00Z"),
        ("datacontenttype", "application/json"),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(body["data"]["objects"][0], json!({"namespace": "shop", "object": "Deployment/web0"}));
    assert_eq!(body["data"]["root"], json!({"kind": "Registry", "name": "registry.example.com"}));
    let signature = header(&outgoing, &SIGNATURE).unwrap();
    assert!(signature.starts_with("sha256=") && signature.len() == 7 + 64, "{signature}");
    let (again, same) = request(Kind::Webhook, &one(Change::Opened), "https://hook.example.com/in");
    assert_eq!(
        (&same["id"], header(&again, &SIGNATURE).unwrap()),
        (&body["id"], signature),
        "a retry is the same event"
    );
    let (_, other) = request(Kind::Webhook, &one(Change::Resolved), "https://hook.example.com/in");
    assert_ne!(other["id"], body["id"]);
}

#[test]
fn text_of_a_pod_can_neither_mention_nor_link() {
    let (outgoing, _) = request(Kind::Slack, &hostile(), "https://hooks.slack.com/x");
    let text = String::from_utf8(outgoing.body).unwrap();
    assert!(!text.contains('<') && !text.contains("mrkdwn\":true") && text.contains("&lt;!channel&gt;"), "{text}");
    assert!(!text.contains("\"type\":\"mrkdwn\""), "{text}");

    let (_, card) = request(Kind::Teams, &hostile(), "https://example.com");
    let card = card["attachments"][0]["content"].to_string();
    assert!(!card.contains("\"TextBlock\"") && !card.contains("entities"), "only a TextRun has no Markdown: {card}");

    let (_, body) = request(Kind::Discord, &hostile(), "https://discord.com/x");
    let (title, description) =
        (body["embeds"][0]["title"].as_str().unwrap(), body["embeds"][0]["description"].as_str().unwrap());
    assert_eq!(description.matches('`').count(), 6, "the code block is not left: {description}");
    for active in ["@everyone", "https://", "](", "**"] {
        assert!(!title.contains(active), "{active} in {title}");
    }
    assert_eq!(body.get("content"), None);
}

#[test]
fn a_digest_lists_the_incidents_and_has_an_alert_of_its_own() {
    let Delivery::One(change, notice) = one(Change::Opened) else { panic!() };
    let digest = Delivery::Digest(vec![(change, notice); 30]);
    for kind in [Kind::Slack, Kind::Teams, Kind::Discord, Kind::PagerDuty, Kind::Opsgenie, Kind::Webhook] {
        let (outgoing, _) = request(kind, &digest, "https://example.com");
        let text = String::from_utf8(outgoing.body).unwrap();
        match kind {
            Kind::Webhook => assert!(text.contains("dev.shindan.incidents.digest"), "{text}"),
            _ => assert!(text.contains("30 incidents in one message") && text.contains("and 10 more"), "{text}"),
        }
    }
    let (_, trigger) = request(Kind::PagerDuty, &digest, "https://example.com");
    let (_, over) = request(Kind::PagerDuty, &Delivery::DigestOver, "https://example.com");
    assert_eq!((&over["event_action"], &over["dedup_key"]), (&json!("resolve"), &trigger["dedup_key"]));
}

#[test]
fn success_is_what_each_service_documents() {
    for (kind, status, body, accepted) in [
        (Kind::Slack, 200, "ok", true),
        (Kind::Slack, 200, "invalid_payload", false),
        (Kind::Teams, 202, "", true),
        (Kind::Teams, 200, "1", true),
        (Kind::Teams, 200, "Webhook message delivery failed with error: 413", false),
        (Kind::Discord, 204, "", true),
        (Kind::PagerDuty, 202, r#"{"status":"success","dedup_key":"x"}"#, true),
        (Kind::PagerDuty, 202, r#"{"status":"invalid event"}"#, false),
        (Kind::Opsgenie, 202, r#"{"result":"Request will be processed","requestId":"x"}"#, true),
        (Kind::Opsgenie, 200, "<html>", false),
        (Kind::Alertmanager, 200, "", true),
        (Kind::Webhook, 204, "", true),
        (Kind::Webhook, 500, "", false),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(kind.is_accepted(status, body.as_bytes()), accepted, "{kind:?} {status} {body}");
    }
}
