//! Counts of requests from the API server's metrics.

use std::collections::BTreeMap;

use anyhow::Result;
use kube::Client;

/// Requests by verb and resource. Refused requests (such as POST of an existing Event) are counted separately.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(BTreeMap<(String, String), u64>);

/// Resources that the operator writes. The API server writes others for itself.
const WRITTEN: [&str; 4] = ["poddiagnoses", "workloaddiagnoses", "nodediagnoses", "events"];
const WRITES: [&str; 6] = ["APPLY", "PATCH", "POST", "PUT", "DELETE", "DELETECOLLECTION"];
/// Verbs of reads, except watches, which are counted when they end.
const READS: [&str; 2] = ["GET", "LIST"];

impl Requests {
    /// Counts of all clients so far. The harness sends no such requests during a measurement.
    pub(crate) async fn now(client: &Client) -> Result<Self> {
        let text = client.request_text(http::Request::get("/metrics").body(Vec::new())?).await?;
        let mut all = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{")) {
            let Some((labels, count)) = line.rsplit_once("} ") else { continue };
            let of = |name: &str| {
                let (_, rest) = labels.split_once(&format!("{name}=\""))?;
                Some(rest.split_once('"')?.0.to_owned())
            };
            let (Some(verb), Some(resource), Some(code)) = (of("verb"), of("resource"), of("code")) else { continue };
            let verb = if code.starts_with('2') { verb } else { format!("{verb} {code}") };
            if !resource.is_empty() {
                *all.entry((verb, resource)).or_default() += count.parse::<u64>()?;
            }
        }
        Ok(Self(all))
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        let new = self.0.iter().map(|(key, count)| (key.clone(), count - before.0.get(key).unwrap_or(&0).min(count)));
        Self(new.filter(|(_, count)| *count > 0).collect())
    }

    pub(crate) fn of(&self, verb: &str, resource: &str) -> u64 {
        self.0.get(&(verb.to_owned(), resource.to_owned())).copied().unwrap_or(0)
    }

    /// Writes of diagnoses and Events.
    pub(crate) fn writes(&self) -> u64 {
        let is_write =
            |(verb, resource): &(String, String)| WRITES.contains(&&**verb) && WRITTEN.contains(&&**resource);
        self.0.iter().filter(|(key, _)| is_write(key)).map(|(_, count)| count).sum()
    }

    /// Counts by `verb resource`, as they are printed.
    pub(crate) fn by_verb(&self) -> impl Iterator<Item = (String, u64)> {
        let is_reported = |(verb, resource): &(String, String)| {
            let verb = verb.split(' ').next().unwrap_or_default();
            READS.contains(&verb) || WRITES.contains(&verb) && WRITTEN.contains(&&**resource)
        };
        self.0
            .iter()
            .filter(move |(key, _)| is_reported(key))
            .map(|((verb, resource), count)| (format!("{verb} {resource}"), *count))
    }
}
