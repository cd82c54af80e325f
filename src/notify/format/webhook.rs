//! A webhook of your own: CloudEvents 1.0 in the structured JSON mode, signed with HMAC-SHA256.

use http::header::{CONTENT_TYPE, HeaderValue};
use ring::hmac::{self, HMAC_SHA256, Key, Tag};
use serde_json::{Value, json};

use super::{Outgoing, SIGNATURE, Unbuildable, bearer, hash, hex, incidents, json as request};
use crate::notify::config::Secrets;
use crate::notify::message::{Change, Notice};
use crate::notify::queue::Delivery;

pub(super) fn event(
    delivery: &Delivery,
    cluster: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Outgoing>, Unbuildable> {
    let (all, is_digest) = incidents(delivery);
    let (kind, subject, time, data) = match all.first() {
        Some((change, notice)) if !is_digest => {
            let time = match change {
                Change::Resolved => notice.end.as_ref().and_then(|end| end.at),
                _ => notice.since,
            };
            let kind = format!("dev.shindan.incident.{}", change.as_str());
            (kind, Some(notice.incident.to_string()), time, data(*change, notice, cluster))
        }
        _ => {
            let incidents: Value = all.iter().map(|(change, notice)| data(*change, notice, cluster)).collect();
            ("dev.shindan.incidents.digest".to_owned(), None, None, json!({"incidents": incidents}))
        }
    };
    let mut event = json!({
        "specversion": "1.0",
        // A repeated request has the same identifier, and a new state another one.
        "id": hash(&[&kind, &data.to_string()]),
        "source": cluster.map_or_else(|| "/shindan".to_owned(), |name| format!("/shindan/{name}")),
        "type": kind,
        "datacontenttype": "application/json",
        "data": data,
    });
    if let Some(subject) = subject {
        event["subject"] = subject.into();
    }
    if let Some(time) = time {
        event["time"] = time.to_string().into();
    }
    let mut outgoing = request(secrets.url.clone(), &event, bearer(secrets))?;
    for (name, value) in &mut outgoing.headers {
        if *name == CONTENT_TYPE {
            *value = HeaderValue::from_static("application/cloudevents+json; charset=utf-8");
        }
    }
    if let Some(secret) = &secrets.secret {
        let signature = format!("sha256={}", hex(hmac_sha256(secret.as_bytes(), &outgoing.body).as_ref()));
        outgoing.headers.push((SIGNATURE, HeaderValue::try_from(signature).map_err(|_| Unbuildable)?));
    }
    Ok(vec![outgoing])
}

fn data(change: Change, notice: &Notice, cluster: Option<&str>) -> Value {
    json!({
        "incident": notice.id(cluster),
        "change": change.as_str(),
        "cluster": cluster,
        "title": notice.title(change, cluster),
        "severity": notice.severity.as_str(),
        "cause": notice.cause,
        "category": notice.category,
        "summary": notice.summary,
        "root": notice.root,
        "affected": notice.affected,
        "objects": notice.objects,
        "namespaces": notice.namespaces,
        "failingPods": notice.pods,
        "since": notice.since,
        "remedy": notice.remedy.as_ref().map(|(text, _)| text),
        "command": notice.remedy.as_ref().and_then(|(_, command)| command.as_ref()),
        "recurrence": notice.recurrence,
        "endedAt": notice.end.as_ref().and_then(|end| end.at),
    })
}

fn hmac_sha256(key: &[u8], message: &[u8]) -> Tag {
    hmac::sign(&Key::new(HMAC_SHA256, key), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 1, 3 and 6 of RFC 4231.
    #[test]
    fn signatures_are_those_of_the_rfc() {
        for (key, message, mac) in [
            (vec![0x0b; 20], b"Hi There".to_vec(), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (vec![0xaa; 20], vec![0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(hmac_sha256(&key, &message).as_ref()), mac);
        }
    }
}
