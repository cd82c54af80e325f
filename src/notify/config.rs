//! The file of `--notify`: receivers and routes. It has no secrets; it names the files that have them.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use shindan_core::api::Severity;
use shindan_core::case::Category;
use shindan_core::facts::parse_duration;
use shindan_core::message::yaml;
use wildmatch::WildMatch;

use super::route::Route;

/// Maximum size of the file in bytes.
const FILE_MAX: u64 = 1 << 20;
/// Maximum size of a file with a secret in bytes.
const SECRET_MAX: u64 = 16 << 10;
/// Maximum number of receivers: the receivers of a diagnosis are the bits of a number.
const RECEIVERS_MAX: usize = 64;
const NAME_MAX: usize = 40;

/// Receivers, routes and times.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of this cluster, part of each message.
    pub cluster: Option<String>,
    /// How long the first message of an incident waits for further objects.
    pub group_wait: Duration,
    /// The shortest interval between two messages about a running incident, unless its severity rises.
    pub update_interval: Duration,
    pub receivers: Vec<Receiver>,
    pub routes: Vec<Route>,
}

/// A service that gets messages.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Label of the metrics. Leaked: the file is read once.
    pub name: &'static str,
    pub kind: Kind,
    pub endpoint: Endpoint,
    pub messages_per_minute: usize,
    /// Certificates that verify the receiver, in place of the public ones.
    pub ca_file: Option<PathBuf>,
}

/// The protocol of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Slack,
    Teams,
    Discord,
    PagerDuty,
    Opsgenie,
    Alertmanager,
    Webhook,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::Slack, Self::Teams, Self::Discord, Self::PagerDuty, Self::Opsgenie, Self::Alertmanager, Self::Webhook];

    /// The key in the file.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Discord => "discord",
            Self::PagerDuty => "pagerDuty",
            Self::Opsgenie => "opsgenie",
            Self::Alertmanager => "alertmanager",
            Self::Webhook => "webhook",
        }
    }

    /// The address if the file has none.
    const fn default_url(self) -> Option<&'static str> {
        match self {
            Self::PagerDuty => Some("https://events.pagerduty.com"),
            Self::Opsgenie => Some("https://api.opsgenie.com"),
            _ => None,
        }
    }

    /// The fields of the endpoint that this kind has: `url`, `urlFile`, `tokenFile`, `secretFile`.
    const fn fields(self) -> [Field; 4] {
        use Field::{Absent, Optional, Required};
        match self {
            // The URL of these contains the secret.
            Self::Slack | Self::Teams | Self::Discord => [Absent, Required, Absent, Absent],
            Self::PagerDuty | Self::Opsgenie => [Optional, Absent, Required, Absent],
            Self::Alertmanager => [Required, Absent, Optional, Absent],
            Self::Webhook => [Optional, Optional, Optional, Optional],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Absent,
    Optional,
    Required,
}

/// Address and credentials of a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Endpoint {
    pub url: Option<String>,
    /// A file with the URL, if the URL is a secret.
    pub url_file: Option<PathBuf>,
    /// A file with a token or key.
    pub token_file: Option<PathBuf>,
    /// A file with the secret that signs requests.
    pub secret_file: Option<PathBuf>,
}

/// What a request needs, read again for each one so that a rotated secret is used.
#[derive(Clone)]
pub struct Secrets {
    pub url: http::Uri,
    pub token: Option<String>,
    pub secret: Option<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Receiver {
    /// Reads the address and the secrets. The error names the file and not its content.
    pub fn secrets(&self) -> Result<Secrets, String> {
        let read = |path: &Option<PathBuf>| path.as_deref().map(secret).transpose();
        let (token, secret) = (read(&self.endpoint.token_file)?, read(&self.endpoint.secret_file)?);
        let (url, place) = match (&self.endpoint.url_file, &self.endpoint.url) {
            (Some(path), _) => (self::secret(path)?, path.display().to_string()),
            (None, Some(url)) => (url.clone(), "url".to_owned()),
            (None, None) => (self.kind.default_url().unwrap_or_default().to_owned(), "url".to_owned()),
        };
        let url = checked(&url).map_err(|why| format!("{place}: {why}"))?;
        Ok(Secrets { url, token, secret })
    }
}

fn secret(path: &Path) -> Result<String, String> {
    let text = bounded(path, SECRET_MAX).map_err(|why| format!("cannot read {}: {why}", path.display()))?;
    let text = text.trim();
    // A header cannot contain other characters, and the error of a library might quote the value.
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("{} must contain one line of printable ASCII characters without spaces", path.display()));
    }
    Ok(text.to_owned())
}

fn bounded(path: &Path, most: u64) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {} KiB", most >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "it is not text (UTF-8)".to_owned())
}

/// Checks the address of a receiver. Text goes out unencrypted only within the machine or the cluster.
fn checked(url: &str) -> Result<http::Uri, String> {
    let uri: http::Uri = url.parse().map_err(|_| "is not a URL".to_owned())?;
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    if host.is_empty() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("must be a URL with a host and without credentials, such as https://host/path".to_owned());
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_internal(&host) => Ok(uri),
        _ => Err("must begin with https://; http:// is allowed only for loopback addresses and for Services of the \
                  cluster (NAME, NAME.NAMESPACE.svc, or with .cluster.local)"
            .to_owned()),
    }
}

fn is_internal(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => !host.contains('.') || [".svc", ".svc.cluster.local", ".localhost"].iter().any(|s| host.ends_with(s)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(default)]
    cluster: Option<String>,
    #[serde(default)]
    group_wait: Option<String>,
    #[serde(default)]
    update_interval: Option<String>,
    #[serde(default)]
    messages_per_minute: Option<u16>,
    receivers: Vec<ReceiverEntry>,
    #[serde(default)]
    routes: Vec<RouteEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ReceiverEntry {
    name: String,
    #[serde(default)]
    messages_per_minute: Option<u16>,
    #[serde(default)]
    ca_file: Option<PathBuf>,
    #[serde(default)]
    slack: Option<Endpoint>,
    #[serde(default)]
    teams: Option<Endpoint>,
    #[serde(default)]
    discord: Option<Endpoint>,
    #[serde(default)]
    pager_duty: Option<Endpoint>,
    #[serde(default)]
    opsgenie: Option<Endpoint>,
    #[serde(default)]
    alertmanager: Option<Endpoint>,
    #[serde(default)]
    webhook: Option<Endpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RouteEntry {
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    severity: Option<Severity>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    workloads: Vec<String>,
    receivers: Vec<String>,
    #[serde(default, rename = "continue")]
    goes_on: bool,
}

impl Settings {
    /// Reads the file and every file that it names. The error names the file and the place.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = bounded(path, FILE_MAX)
            .map_err(|why| format!("cannot read the file of --notify, {}: {why}", path.display()))?;
        let settings = Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))?;
        for receiver in &settings.receivers {
            let in_receiver = |why| format!("{}: receiver {}: {why}", path.display(), receiver.name);
            receiver.secrets().map_err(in_receiver)?;
            if let Some(ca) = &receiver.ca_file {
                bounded(ca, FILE_MAX).map_err(|why| in_receiver(format!("cannot read {}: {why}", ca.display())))?;
            }
        }
        Ok(settings)
    }

    /// Parses the file without reading the files that it names.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text)
            .map_err(|error| yaml::explained(&error, |line, column| format!("line {line}, column {column}")))?;
        let per_minute = messages(file.messages_per_minute, 10).map_err(|why| format!("messagesPerMinute: {why}"))?;
        if file.receivers.is_empty() || file.receivers.len() > RECEIVERS_MAX {
            return Err(format!("receivers: must have from 1 to {RECEIVERS_MAX} entries"));
        }
        let receivers: Vec<Receiver> = file
            .receivers
            .into_iter()
            .enumerate()
            .map(|(at, entry)| {
                let name = entry.name.clone();
                receiver(entry, per_minute).map_err(|why| format!("receivers[{at}] ({name}): {why}"))
            })
            .collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = receivers.iter().find(|receiver| !names.insert(receiver.name)) {
            return Err(format!("receivers: the name {} is there twice", twice.name));
        }
        let mut routes: Vec<Route> = file
            .routes
            .iter()
            .enumerate()
            .map(|(at, entry)| route(entry, &receivers).map_err(|why| format!("routes[{at}]: {why}")))
            .collect::<Result<_, _>>()?;
        if routes.is_empty() {
            routes.push(Route::to_all(receivers.len()));
        }
        Ok(Self {
            cluster: file.cluster.filter(|name| !name.is_empty()).map(|name| name.chars().take(NAME_MAX).collect()),
            group_wait: duration(file.group_wait.as_deref(), 10, 300).map_err(|why| format!("groupWait: {why}"))?,
            update_interval: duration(file.update_interval.as_deref(), 300, 86_400)
                .map_err(|why| format!("updateInterval: {why}"))?,
            receivers,
            routes,
        })
    }
}

fn duration(text: Option<&str>, default: i64, most: i64) -> Result<Duration, String> {
    let seconds = text.map_or(Some(default), parse_duration).filter(|seconds| (0..=most).contains(seconds));
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map(Duration::from_secs).ok_or_else(|| format!("must be a duration of at most {most} s, such as 90s or 5m"))
}

fn messages(count: Option<u16>, default: usize) -> Result<usize, String> {
    let count = count.map_or(default, usize::from);
    if (2..=1000).contains(&count) { Ok(count) } else { Err("must be from 2 to 1000".to_owned()) }
}

fn receiver(entry: ReceiverEntry, per_minute: usize) -> Result<Receiver, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if entry.name.is_empty() || entry.name.len() > NAME_MAX || !entry.name.chars().all(is_name) {
        return Err(format!("name: must have from 1 to {NAME_MAX} letters, digits, `-`, `_` or `.`"));
    }
    let given =
        [entry.slack, entry.teams, entry.discord, entry.pager_duty, entry.opsgenie, entry.alertmanager, entry.webhook];
    let mut kinds = Kind::ALL.into_iter().zip(given).filter_map(|(kind, endpoint)| Some((kind, endpoint?)));
    let (Some((kind, endpoint)), None) = (kinds.next(), kinds.next()) else {
        let keys: Vec<_> = Kind::ALL.into_iter().map(Kind::key).collect();
        return Err(format!("must have exactly one of: {}", keys.join(", ")));
    };
    check(kind, &endpoint).map_err(|why| format!("{}: {why}", kind.key()))?;
    let messages_per_minute =
        messages(entry.messages_per_minute, per_minute).map_err(|why| format!("messagesPerMinute: {why}"))?;
    Ok(Receiver { name: String::leak(entry.name), kind, endpoint, messages_per_minute, ca_file: entry.ca_file })
}

fn check(kind: Kind, endpoint: &Endpoint) -> Result<(), String> {
    let Endpoint { url, url_file, token_file, secret_file } = endpoint;
    let has = [url.is_some(), url_file.is_some(), token_file.is_some(), secret_file.is_some()];
    let names = ["url", "urlFile", "tokenFile", "secretFile"];
    for ((name, field), has) in names.into_iter().zip(kind.fields()).zip(has) {
        match field {
            Field::Absent if has && name == "url" => {
                return Err("url: this URL is a secret; write it into a file and name the file in urlFile".to_owned());
            }
            Field::Absent if has => return Err(format!("{name}: this receiver does not have it")),
            Field::Required if !has => return Err(format!("{name} is missing")),
            _ => {}
        }
    }
    if kind == Kind::Webhook && url.is_some() == url_file.is_some() {
        return Err("must have either url or urlFile".to_owned());
    }
    url.as_deref().map_or(Ok(()), |url| checked(url).map(drop).map_err(|why| format!("url: {why}")))
}

fn patterns(texts: &[String]) -> Vec<WildMatch> {
    texts.iter().map(|text| WildMatch::new(text)).collect()
}

fn route(entry: &RouteEntry, receivers: &[Receiver]) -> Result<Route, String> {
    let mut to = 0_u64;
    for name in &entry.receivers {
        let at = receivers.iter().position(|receiver| receiver.name == name.as_str());
        to |= 1 << at.ok_or_else(|| format!("receivers: there is no receiver {name}"))?;
    }
    if to == 0 {
        return Err("receivers: must name a receiver".to_owned());
    }
    let categories = entry.categories.iter().map(|name| {
        Category::named(name).map(Category::as_str).ok_or_else(|| {
            let known: Vec<_> = Category::ALL.into_iter().map(Category::as_str).collect();
            format!("categories: there is no category {name}; these are: {}", known.join(", "))
        })
    });
    Ok(Route {
        categories: categories.collect::<Result<_, _>>()?,
        namespaces: patterns(&entry.namespaces),
        severity: entry.severity.unwrap_or(Severity::Warning),
        workloads: patterns(&entry.workloads),
        receivers: to,
        goes_on: entry.goes_on,
    })
}

#[cfg(test)]
mod tests;
