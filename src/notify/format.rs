//! Renders a delivery as requests of each service. Expectations: the public documentation of the services.
//!
//! A diagnosis quotes messages of pods. Each format writes them where the service reads no markup, or escapes them, so that a
//! pod can neither mention people nor make links.

mod alertmanager;
mod chat;
mod pager;
mod webhook;

use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::config::{Kind, Secrets};
use super::message::{Change, Notice};
use super::queue::{Delivery, Style};

/// Header with the signature of a webhook's body.
pub const SIGNATURE: HeaderName = HeaderName::from_static("x-shindan-signature");

/// A POST request.
#[derive(Clone)]
pub struct Outgoing {
    pub uri: Uri,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// A request could not be built: the address or the token has characters that a request cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbuildable;

impl Kind {
    /// How this receiver takes several incidents.
    pub const fn style(self) -> Style {
        match self {
            Self::Slack | Self::Teams | Self::Discord | Self::Webhook => Style::Chat,
            Self::PagerDuty | Self::Opsgenie => Style::Pager,
            Self::Alertmanager => Style::Batch,
        }
    }

    /// Whether the response means that the message was accepted. Some services answer 200 with an error in the body.
    pub fn is_accepted(self, status: StatusCode, body: &[u8]) -> bool {
        let text = || str::from_utf8(body).unwrap_or_default().trim();
        let field = |name: &str| {
            serde_json::from_slice::<Value>(body).ok().and_then(|mut body| Some(body.get_mut(name)?.take()))
        };
        status.is_success()
            && match self {
                Self::Slack => text() == "ok",
                // Workflows answer 202 without a body, the older connectors 200 with `1`.
                Self::Teams => status == StatusCode::ACCEPTED || matches!(text(), "" | "1"),
                Self::PagerDuty => field("status").is_some_and(|status| status == "success"),
                Self::Opsgenie => field("requestId").is_some(),
                Self::Discord | Self::Alertmanager | Self::Webhook => true,
            }
    }
}

/// The requests of a delivery.
pub fn requests(
    kind: Kind,
    delivery: &Delivery,
    cluster: Option<&str>,
    secrets: &Secrets,
) -> Result<Vec<Outgoing>, Unbuildable> {
    match kind {
        Kind::Slack => plain(secrets, &chat::slack(delivery, cluster)),
        Kind::Teams => plain(secrets, &chat::teams(delivery, cluster)),
        Kind::Discord => plain(secrets, &chat::discord(delivery, cluster)),
        Kind::PagerDuty => pager::pager_duty(delivery, cluster, secrets),
        Kind::Opsgenie => pager::opsgenie(delivery, cluster, secrets),
        Kind::Alertmanager => alertmanager::alerts(delivery, cluster, secrets),
        Kind::Webhook => webhook::event(delivery, cluster, secrets),
    }
}

/// One request to the URL itself.
fn plain(secrets: &Secrets, body: &Value) -> Result<Vec<Outgoing>, Unbuildable> {
    Ok(vec![json(secrets.url.clone(), body, None)?])
}

/// A request with a JSON body. `authorization` is the whole value of that header.
fn json(uri: Uri, body: &Value, authorization: Option<String>) -> Result<Outgoing, Unbuildable> {
    let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    if let Some(value) = authorization {
        let mut value = HeaderValue::try_from(value).map_err(|_| Unbuildable)?;
        value.set_sensitive(true);
        headers.push((AUTHORIZATION, value));
    }
    Ok(Outgoing { uri, headers, body: body.to_string().into_bytes() })
}

/// The authorization with the token of a receiver.
fn bearer(secrets: &Secrets) -> Option<String> {
    secrets.token.as_ref().map(|token| format!("Bearer {token}"))
}

/// A path below the URL of a service.
fn below(base: &Uri, path: &str) -> Result<Uri, Unbuildable> {
    let mut parts = base.clone().into_parts();
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    parts.path_and_query = Some(path.parse().map_err(|_| Unbuildable)?);
    Uri::from_parts(parts).map_err(|_| Unbuildable)
}

/// The first 20 hexadecimal digits of a hash.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex(&digest.finalize()[..10])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |text, byte| text + &format!("{byte:02x}"))
}

/// The incidents of a delivery, and whether they come as a digest.
fn incidents(delivery: &Delivery) -> (Vec<(Change, Arc<Notice>)>, bool) {
    match delivery {
        Delivery::One(change, notice) => (vec![(*change, notice.clone())], false),
        Delivery::Digest(all) => (all.clone(), true),
        Delivery::Batch(all) => (all.clone(), false),
        Delivery::DigestOver => (Vec::new(), true),
    }
}

/// Identifier of the alert of a digest.
fn digest_id(cluster: Option<&str>) -> String {
    format!("digest-{}", hash(&[cluster.unwrap_or_default()]))
}

#[cfg(test)]
mod tests;
