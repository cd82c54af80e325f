//! Intake of watch events and lookup results into the state.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cluster::network::Affected;
use super::{Change, Source, Touched, World, decide};
use crate::api::DiagnosisKind;
use crate::case::Ledger;
use crate::facts::route::NetworkKind;
use crate::facts::{Lookup, LookupResult, Phase, PodFacts, Timestamp, WorkloadKey, is_custom_group};
use crate::outbox::{Lane, Subject};
use crate::reconcile::Bearer;
use crate::rules::catalog;

impl World {
    /// Applies a change and returns the affected subjects.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Touched {
        let Some(change) = self.reported.defer(change) else { return Vec::new() };
        match change {
            Change::ListStarted(source) => {
                match source {
                    Source::Pods => self.cluster.pods.begin_list(),
                    Source::Nodes => self.cluster.nodes.begin_list(),
                    Source::Objects(kind) => self.reported.records_mut(kind).begin_list(),
                    Source::Workloads(kind) => {
                        let known =
                            self.reported.workload_records.workloads().chain(self.cluster.overrides.workloads());
                        let known = known.chain(self.reported.annotations.workloads());
                        let known = known.filter(|key| key.watched_kind() == Some(kind));
                        self.cluster.owners.begin_list(kind, known);
                    }
                    Source::Services => self.cluster.services.begin_list(),
                    Source::Events => {}
                }
                Vec::new()
            }
            Change::ListDone(source) => self.list_done(source, now),
            Change::Pod(pod) => self.pod(*pod, now),
            Change::PodDeleted(pod) => self.pod_deleted(&pod.uid, now),
            Change::Workload(workload) => decide::workload::workload(self, *workload, now),
            Change::Service { namespace, service } => self.cluster.service(&namespace, service),
            Change::ServiceDeleted(key) => self.cluster.service_deleted(&key),
            Change::WorkloadDeleted(key) => decide::workload::workload_deleted(self, &key, now),
            Change::ResourcesListed { api_version, kind, present } => {
                let is_of_kind = |key: &&WorkloadKey| key.api_version == api_version && key.kind == kind;
                let known = self.reported.workload_records.workloads().chain(self.cluster.objects.keys().cloned());
                let gone: BTreeSet<WorkloadKey> =
                    known.filter(|key| is_of_kind(&key) && !present.contains(key)).collect();
                gone.iter().flat_map(|key| decide::workload::workload_deleted(self, key, now)).collect()
            }
            Change::Network(change) => decide::network::apply(self, change, now),
            Change::ResourcesFollowed(kinds) => {
                let is_followed = |key: &WorkloadKey| {
                    !is_custom_group(key.group())
                        || kinds.iter().any(|(group, kind)| *group == *key.group() && **kind == *key.kind)
                };
                let known = self.reported.workload_records.workloads().chain(self.cluster.objects.keys().cloned());
                let others: BTreeSet<WorkloadKey> = known.filter(|key| !is_followed(key)).collect();
                others.iter().flat_map(|key| decide::workload::workload_deleted(self, key, now)).collect()
            }
            Change::Node(node) => self.cluster.node(*node, now),
            Change::NodeDeleted(name) => self.cluster.node_deleted(&name),
            Change::Event(event) => self.cluster.event(*event, now),
            Change::Object { key, resource_version } => {
                let mut touched = self.reported.records_mut(key.kind).seen(&key.object, &resource_version);
                touched.extend(self.reported.orphan_seen(key, resource_version));
                touched
            }
            Change::ObjectDeleted(key) => {
                decide::workload::forget_gone_workload(self, &key);
                self.reported.spared.forget(&key);
                self.reported.records_mut(key.kind).deleted(&key.object)
            }
            Change::Catalog(catalog) => {
                self.settings.follow(&catalog);
                catalog::replace(*catalog, now);
                let pods = self.cluster.unhealthy().map(Subject::Pod);
                pods.chain(self.regular_subjects()).map(|subject| (subject, Lane::Resync)).collect()
            }
            Change::LookupResult { result: LookupResult::Pods(pods), .. } => {
                // Skips pods that were deleted since, and pods whose newer full facts the watch has delivered.
                let known = pods.into_iter().filter(|pod| self.cluster.pods.is_slim(&pod.uid)).collect::<Vec<_>>();
                known.into_iter().flat_map(|pod| self.pod(pod, now)).collect()
            }
            // The result is no longer requested. Offline, results arrive before the requests.
            Change::LookupResult { lookup, .. }
                if self.settings.lookups_enabled && !self.cluster.lookups.is_requested(&lookup) =>
            {
                Vec::new()
            }
            Change::LookupResult { lookup, result } => {
                let requesters = self.cluster.lookups.store(lookup, result, now);
                requesters.into_iter().map(|requester| (requester, Lane::Change)).collect()
            }
        }
    }

    fn list_done(&mut self, source: Source, now: Timestamp) -> Touched {
        let first = self.cluster.listed_sources.insert(source, true).is_none();
        if first {
            self.cluster.listed_at = now;
        }
        let mut touched = self.listed(source, first, now);
        if first {
            touched.extend(self.reported.all_annotations());
        }
        touched
    }

    fn listed(&mut self, source: Source, first: bool, now: Timestamp) -> Touched {
        match source {
            Source::Pods => {
                let missing = self.cluster.pods.end_list();
                let mut touched: Touched = missing.iter().flat_map(|uid| self.pod_deleted(uid, now)).collect();
                let affected = self.cluster.network.listed(NetworkKind::Pod, None);
                touched.extend(self.cluster.network.subjects(affected));
                self.cluster.events.limit_unknown_pods();
                if first {
                    // Diagnoses whose pods were deleted while the operator was down.
                    let without_pod =
                        self.reported.pod_records.active().filter(|r| !self.cluster.pods.contains(&r.subject_uid));
                    touched.extend(without_pod.map(|r| (Subject::Object(r.key.clone().into()), Lane::Resync)));
                    touched.extend(decide::workload::all_unsettled(self));
                }
                touched
            }
            Source::Nodes => {
                let missing = self.cluster.nodes.end_list();
                missing.iter().flat_map(|name| self.cluster.node_deleted(name)).collect()
            }
            Source::Objects(kind) => {
                let mut touched = self.reported.records_mut(kind).end_list();
                match kind {
                    DiagnosisKind::Node if first => {
                        touched.extend(
                            self.cluster.nodes.all().keys().map(|name| (Subject::Node(name.clone()), Lane::Resync)),
                        );
                    }
                    DiagnosisKind::Workload if first => touched.extend(decide::workload::all_unsettled(self)),
                    _ => {}
                }
                touched
            }
            Source::Workloads(kind) => {
                let missing = self.cluster.owners.end_list(kind);
                let mut touched: Touched =
                    missing.iter().flat_map(|key| decide::workload::workload_deleted(self, key, now)).collect();
                if first {
                    touched.extend(decide::workload::all_unsettled(self));
                    touched.extend(self.cluster.all_served());
                }
                touched
            }
            Source::Services => {
                let missing = self.cluster.services.end_list();
                let mut touched: Touched = missing.iter().flat_map(|key| self.cluster.service_deleted(key)).collect();
                touched.extend(self.cluster.all_served());
                touched
            }
            Source::Events => {
                self.cluster.events.forget_old(now);
                Vec::new()
            }
        }
    }

    fn pod(&mut self, mut facts: PodFacts, now: Timestamp) -> Touched {
        let (uid, key) = (facts.uid.clone(), facts.key.clone());
        let annotation =
            self.reported.annotations.annotation_seen(Bearer::Pod(uid.clone()), &uid, facts.carried.take());
        let at_start = !self.cluster.is_listed(Source::Pods);
        if let Some(static_uid) = &facts.static_uid {
            self.cluster.events.adopt(static_uid, &facts, now);
        }
        if facts.deletion.is_some() {
            self.capture_failure(&uid, now);
        }
        let recorded = self.reported.pod_records.summary_entry(&facts.key).filter(|r| r.is_active());
        // A write in flight may be the first one of a diagnosis.
        let is_written = recorded.is_some() || self.reported.pod_records.is_writing(&facts.key);
        let stranded =
            facts.node_name.as_ref().and_then(|n| self.cluster.nodes.get(n)).is_some_and(|n| !n.facts.is_ready());
        let keep = is_written || stranded || self.cluster.events.any_kill_of(&uid);
        let past = if self.cluster.pods.is_full(&uid) {
            Ledger::default()
        } else {
            self.reported.pod_records.history(&facts.key, &uid)
        };
        let known_failing = recorded.is_some_and(|r| *r.subject_uid == *uid);
        let job = crate::case::immediate_workload(&facts).filter(|own| &*own.kind == "Job");
        let is_thrown_out = facts.phase == Phase::Failed && !facts.reason.is_empty();
        let top = if is_thrown_out { crate::case::top_workload(&facts, None) } else { None };
        let owner = top.as_ref().and_then(|_| crate::case::immediate_workload(&facts)).map(|own| own.name.clone());
        let ended = facts.over_since().map_or(now, |at| at.min(now));
        let affected = if self.cluster.network.is_on() {
            let cause = if facts.is_ready() { None } else { decide::network::cause_of(self, &facts.key) };
            self.cluster.network.pod(&facts, cause)
        } else {
            Affected::new()
        };
        let change = self.cluster.pods.put(facts, keep, past, at_start, now);
        if let Some(top) = top.filter(|_| change.is_newly_terminated()) {
            self.cluster.workloads.thrown_out(top, owner, ended, now);
        }
        if let Some(job) = job.filter(|_| change.has_just_terminated()) {
            // The Job may be complete now, which supersedes its failed pods.
            self.cluster.lookups.outdated(&Lookup::Workload(job), now);
        }
        self.cluster.events.pod_appeared(&uid, &key, !change.is_unhealthy);
        if !change.is_unhealthy {
            self.cluster.lookups.forget(&Subject::Pod(uid.clone()));
            self.reported.capacity.forget_pod(&uid);
        }
        self.cluster.nodes.move_requests(&change);
        let drained = self.cluster.nodes.drained(&change);
        let mut touched = self.cluster.workloads.moved(&uid, &change);
        touched.extend(drained.map(|node| (Subject::Node(node), Lane::Resync)));
        touched.extend(self.cluster.network.subjects(affected));
        touched.extend(annotation);
        if change.is_unhealthy {
            let lane = match (at_start, known_failing) {
                (true, _) => Lane::Resync,
                (false, true) => Lane::Change,
                (false, false) => Lane::NewFailure,
            };
            touched.push((Subject::Pod(uid), lane));
        }
        touched
    }

    fn pod_deleted(&mut self, uid: &Arc<str>, now: Timestamp) -> Touched {
        self.capture_failure(uid, now);
        let Some((key, change)) = self.cluster.pods.remove(uid) else { return Vec::new() };
        self.cluster.nodes.move_requests(&change);
        self.cluster.events.forget(uid);
        self.cluster.lookups.forget(&Subject::Pod(uid.clone()));
        self.reported.capacity.forget_pod(uid);
        self.reported.annotations.forget(&Bearer::Pod(uid.clone()));
        let drained = self.cluster.nodes.drained(&change);
        let mut touched = self.cluster.workloads.moved(uid, &change);
        touched.extend(drained.map(|node| (Subject::Node(node), Lane::Resync)));
        let affected = self.cluster.network.pod_removed(uid, &key);
        touched.extend(self.cluster.network.subjects(affected));
        if self.reported.pod_records.summary_entry(&key).is_some_and(|r| *r.subject_uid == **uid) {
            touched.push((Subject::Object(key.into()), Lane::Change));
        }
        touched
    }
}
