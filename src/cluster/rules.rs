//! Follows `DiagnosisRule` objects: compiles and tests each, sends the catalogue with the active ones to the engine, and writes
//! their status.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde::Deserialize;
use shindan_core::api::{DiagnosisRule, DiagnosisRuleStatus};
use shindan_core::facts::Timestamp;
use shindan_core::rules::catalog::{self, Additions, Catalog};
use shindan_core::state::Change;
use shindan_core::user_rules::{self, Checked};
use shindan_core::wire::{Dynamic, WireRule};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

mod kinds;
mod status;

use super::publish::Publisher;
use crate::metrics::Metrics;
pub use kinds::Named;
use status::Verdict;

/// How long changes are gathered before the catalogue is compiled.
const GATHERING: Duration = Duration::from_millis(300);
/// How often the status of the rules is compared with what is written.
const STATUS: Duration = Duration::from_secs(5);
/// Timeout of the watch, which ends one whose connection is dead.
const WATCH_SECONDS: u32 = 290;

/// Reads the rules of the cluster.
pub struct Rules {
    client: Client,
    publisher: Publisher,
    metrics: Metrics,
    changes: mpsc::Sender<Change>,
    kinds: Named,
    /// The time of day, for conditions.
    clock: fn() -> Timestamp,
    /// The rules of the cluster by name.
    known: BTreeMap<String, Rule>,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("rules", &self.known.keys()).finish_non_exhaustive()
    }
}

/// A rule of the cluster.
struct Rule {
    uid: String,
    created: Option<Timestamp>,
    generation: i64,
    checked: Checked,
    /// The causes that it has or restricts.
    own: BTreeSet<String>,
    /// Why it is not active although it is valid.
    refused: Option<Verdict>,
    /// Whether it is not known yet whether a kind that it names can be read.
    is_pending: bool,
    /// Why a kind that it names is not followed now.
    waiting: Vec<String>,
    written: DiagnosisRuleStatus,
}

impl Rules {
    /// `clock` is the time of day.
    pub fn new(
        client: Client,
        publisher: Publisher,
        metrics: Metrics,
        changes: mpsc::Sender<Change>,
        kinds: Named,
        clock: fn() -> Timestamp,
    ) -> Self {
        Self { client, publisher, metrics, changes, kinds, clock, known: BTreeMap::new() }
    }

    /// Follows the rules until the engine ends. `listed` receives a message once they were read, or once it
    /// is known that they cannot be.
    pub async fn run(mut self, listed: oneshot::Sender<()>) {
        let mut listed = Some(listed);
        let api: Api<Dynamic<WireRule>> = Api::all_with(self.client.clone(), &ApiResource::erase::<DiagnosisRule>(&()));
        let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(super::PAGE);
        let mut stream = pin!(watcher(api, config).default_backoff());
        let mut present: BTreeSet<String> = BTreeSet::new();
        let mut is_list_changed = true;
        let mut status = tokio::time::interval(STATUS);
        let mut reload_at: Option<Instant> = None;
        let mut trouble: Option<&'static str> = None;
        loop {
            let gathered = async {
                match reload_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = stream.next() => event,
                () = gathered => {
                    reload_at = None;
                    if self.reload().await.is_err() {
                        return;
                    }
                    listed.take().map(|listed| listed.send(()));
                    self.write_statuses().await;
                    continue;
                }
                Ok(()) = self.kinds.standings.changed() => {
                    if self.kinds.judge(&mut self.known) {
                        reload_at.get_or_insert_with(Instant::now);
                    }
                    self.write_statuses().await;
                    continue;
                }
                _ = status.tick() => {
                    if self.refuse_expensive() | self.kinds.judge(&mut self.known) {
                        reload_at.get_or_insert_with(Instant::now);
                    }
                    self.write_statuses().await;
                    continue;
                }
            };
            let is_changed = match event {
                None => return,
                Some(Ok(watcher::Event::Init)) => {
                    present.clear();
                    false
                }
                Some(Ok(watcher::Event::InitApply(object))) => {
                    present.extend(object.0.metadata.name.clone());
                    is_list_changed |= self.seen(object.0).await;
                    false
                }
                Some(Ok(watcher::Event::InitDone)) => {
                    trouble = None;
                    let before = self.known.len();
                    self.known.retain(|name, _| present.contains(name));
                    // A relist without a change must not decide on everything again.
                    if std::mem::take(&mut is_list_changed) || self.known.len() != before {
                        reload_at = Some(Instant::now());
                    }
                    false
                }
                Some(Ok(watcher::Event::Apply(object))) => self.seen(object.0).await,
                Some(Ok(watcher::Event::Delete(object))) => {
                    object.0.metadata.name.is_some_and(|name| self.known.remove(&name).is_some())
                }
                Some(Err(error)) => {
                    let failure = super::watch::failure_of(error);
                    if trouble.replace(failure.category()) != Some(failure.category()) {
                        tracing::info!(%failure, "DiagnosisRules cannot be read; trying again");
                    }
                    listed.take().map(|listed| listed.send(()));
                    // Rules whose definition was removed are gone.
                    failure.is_not_found() && !std::mem::take(&mut self.known).is_empty()
                }
            };
            if is_changed {
                reload_at.get_or_insert_with(|| Instant::now() + GATHERING);
            }
        }
    }

    /// Takes in an object. Returns whether the catalogue may change.
    async fn seen(&mut self, object: WireRule) -> bool {
        let (Some(name), uid) = (object.metadata.name, object.metadata.uid.unwrap_or_default()) else { return false };
        let generation = object.metadata.generation.unwrap_or_default();
        let written = DiagnosisRuleStatus::deserialize(&object.status).unwrap_or_default();
        if let Some(rule) = self.known.get_mut(&name).filter(|rule| rule.uid == uid && rule.generation == generation) {
            rule.written = written;
            return false;
        }
        let created = object.metadata.creation_timestamp.map(|at| at.0);
        let spec = object.spec;
        let own = status::causes_of(&spec);
        // Its tests diagnose objects, which takes some milliseconds each.
        let checked = tokio::task::spawn_blocking(move || user_rules::check(&spec)).await.unwrap_or_else(|_| Checked {
            errors: vec!["spec: it cannot be checked; this is a bug, please report it".to_owned()],
            ..Checked::default()
        });
        tracing::info!(
            rule = name,
            active = checked.is_active(),
            errors = checked.errors.len(),
            "read a DiagnosisRule"
        );
        self.known.insert(
            name,
            Rule {
                uid,
                created,
                generation,
                checked,
                own,
                refused: None,
                is_pending: false,
                waiting: Vec::new(),
                written,
            },
        );
        true
    }

    /// Compiles the catalogue with the active rules and sends it to the engine. An error means that the engine has ended.
    async fn reload(&mut self) -> Result<(), mpsc::error::SendError<Change>> {
        self.kinds.judge(&mut self.known);
        let mut additions = Additions::default();
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        let mut active: Vec<_> = self.known.iter_mut().filter(|(_, rule)| rule.checked.is_active()).collect();
        // Of two rules with the same cause the older one is kept: a new rule does not stop another one.
        active.sort_by_key(|(_, rule)| rule.created);
        for (name, rule) in active {
            let names = rule.checked.additions.causes.iter().map(|file| file.cause.clone());
            let twice = names.clone().find_map(|cause| taken.get(&cause).map(|other| (cause, other.clone())));
            if let Some((cause, other)) = twice {
                rule.refused = Some(Verdict::Conflict { cause, other });
                continue;
            }
            if matches!(rule.refused, Some(Verdict::Conflict { .. })) {
                rule.refused = None;
            }
            if rule.refused.is_none() {
                taken.extend(names.map(|cause| (cause, name.clone())));
                additions.extend(rule.checked.additions.clone());
            }
        }
        self.kinds.publish(&self.known);
        let Ok(catalog) = tokio::task::spawn_blocking(move || Catalog::with(additions)).await else { return Ok(()) };
        self.changes.send(Change::Catalog(Box::new(catalog))).await
    }

    /// Refuses rules with a condition that was too expensive for the values of an object. Returns whether there is a new one.
    fn refuse_expensive(&mut self) -> bool {
        let catalog = catalog::current();
        let mut is_new = false;
        for (cause, object) in catalog.over_budget() {
            let rules = self.known.iter_mut().filter(|(_, rule)| rule.own.contains(cause) && rule.refused.is_none());
            for (name, rule) in rules.filter(|(_, rule)| rule.checked.is_active()) {
                tracing::warn!(
                    rule = name,
                    cause,
                    object,
                    "a condition of a DiagnosisRule is too expensive; it is inactive now"
                );
                rule.refused = Some(Verdict::TooExpensive { cause: cause.to_owned(), object: object.to_owned() });
                is_new = true;
            }
        }
        is_new
    }

    /// Writes each status that differs from what is written. Only the leader writes.
    async fn write_statuses(&mut self) {
        let active = self.metrics.active_by_cause();
        // In whole seconds, like all times in our objects.
        let now = Timestamp::from_second((self.clock)().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
        for (name, rule) in self.known.iter_mut().filter(|(_, rule)| !rule.is_pending) {
            let causes = rule.checked.additions.causes.iter().map(|file| file.cause.as_str());
            let matches = causes.filter_map(|cause| active.get(cause)).sum();
            let status = status::of((name, rule), matches, now);
            if status != rule.written && self.publisher.write_rule_status(name, &rule.uid, &status).await.is_ok() {
                rule.written = status;
            }
        }
    }
}
