//! The file of a dump: YAML documents behind a head that states how they were made.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context;
use serde_json::Value;
use shindan_core::facts::{Timestamp, format_bytes};
use shindan_core::message::text;
use shindan_core::redact::is_of_other_namespace;
use shindan_core::rules::catalog;
use shindan_core::wire::Dump;

/// Longest line of the head.
const LINE: usize = 300;

/// What the head of a dump states.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The version of the API server.
    pub(super) kubernetes: String,
    pub(super) now: Timestamp,
    /// The requested objects.
    pub(super) asked: Vec<String>,
    /// What could not be read.
    pub(super) left_out: Vec<String>,
    pub(super) has_replaced_names: bool,
}

/// The content of the file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: String,
    /// Number of objects.
    pub(super) objects: usize,
    /// Number of objects that did not fit.
    pub(super) left_out: usize,
    /// What did not fit, for the user.
    pub(super) note: Option<String>,
}

impl Document {
    /// Writes the objects of a namespace, or of the cluster, in at most `most` bytes.
    pub(super) fn new(head: &Head, objects: &[Value], namespace: Option<&str>, most: usize) -> anyhow::Result<Self> {
        let mut ranked: Vec<&Value> = objects.iter().collect();
        ranked.sort_by(|a, b| rank(a, namespace).cmp(&rank(b, namespace)));
        let mut body = String::new();
        let mut written = 0;
        let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
        for object in ranked {
            let yaml = serde_saphyr::to_string(object).context("an object cannot be written as YAML")?;
            if body.len() + yaml.len() > most {
                *left_out.entry(object["kind"].as_str().unwrap_or_default()).or_default() += 1;
                continue;
            }
            body.push_str("---\n");
            body.push_str(&yaml);
            written += 1;
        }
        let counts: Vec<String> = left_out.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        let note = (!counts.is_empty()).then(|| {
            let size = format_bytes(i64::try_from(most).unwrap_or(i64::MAX));
            format!("objects that do not fit in --max-size ({size}) are left out: {}", counts.join(", "))
        });
        let text = head.text(namespace, note.as_deref()) + &body;
        Ok(Self { text, objects: written, left_out: left_out.values().sum(), note })
    }

    /// The objects as `shindan diagnose` reads them.
    pub(super) fn read(&self) -> Dump {
        let mut dump = Dump::default().keeping(catalog::current().fields().clone());
        dump.read(&self.text);
        dump
    }
}

/// The order of the objects. The last ones are left out first.
fn rank<'o>(object: &'o Value, namespace: Option<&str>) -> (u8, Reverse<&'o str>) {
    let kind = object["kind"].as_str().unwrap_or_default();
    let time = ["lastTimestamp", "eventTime", "firstTimestamp"].into_iter().find_map(|field| object[field].as_str());
    let is_other = namespace.is_some_and(|namespace| is_of_other_namespace(object, namespace));
    let rank = match kind {
        "Pod" if is_other => 4,
        "Event" => 3,
        "Pod" => 1,
        "ConfigMap" | "Secret" | "ServiceAccount" => 2,
        _ => 0,
    };
    // Of the Events, the newest come first.
    (rank, Reverse(time.unwrap_or_default()))
}

impl Head {
    fn text(&self, namespace: Option<&str>, did_not_fit: Option<&str>) -> String {
        let of = match namespace {
            Some(namespace) if self.asked.is_empty() => format!("namespace {namespace}"),
            Some(namespace) => format!("{} in namespace {namespace}", self.asked.join(", ")),
            None => self.asked.join(", "),
        };
        let option = namespace.map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        let mut lines = vec![
            format!("Written by shindan dump {} from Kubernetes {}, for a bug report.", env!("CARGO_PKG_VERSION"), self.kubernetes),
            format!("Objects: {of}, and what their diagnosis depends on."),
            format!("judged-at: {}", self.now),
            format!("Diagnose it with `shindan diagnose -f FILE{option}`."),
            "Left out: fields that no diagnosis reads, values of variables, and the content of ConfigMaps and Secrets.".to_owned(),
            "Masked: secrets in texts, as in diagnoses. Pods of other namespaces have only what counts for room on nodes.".to_owned(),
        ];
        if self.has_replaced_names {
            lines.push("Replaced: names of objects, hosts and images, IP addresses and UIDs. Container names are as they were.".to_owned());
        }
        lines.extend(self.left_out.iter().map(|what| format!("Left out: {what}")));
        lines.extend(did_not_fit.map(|what| format!("Left out: {what}")));
        let mut head = String::new();
        for line in lines {
            let _ = writeln!(head, "# {}", text::line(&line, LINE));
        }
        head
    }
}
