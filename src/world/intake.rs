//! What the watches and the lookups say, taken in: the only way in.

use std::sync::Arc;

use super::{Change, Source, Touched, World, events, owners};
use crate::api::DiagnosisKind;
use crate::diagnosis::Ledger;
use crate::facts::{EventFacts, Looked, NodeFacts, Phase, PodFacts, Timestamp, Want};
use crate::outbox::{Lane, Subject};
use crate::plan::Bearer;

impl World {
    /// Takes in what the cluster said, and tells whom it concerns.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Touched {
        let Some(change) = self.put_off(change) else { return Vec::new() };
        match change {
            Change::ListStarted(source) => {
                match source {
                    Source::Pods => self.pods.begin_list(),
                    Source::Nodes => self.nodes.begin_list(),
                    Source::Objects(kind) => match self.outers(kind) {
                        Some(outers) => outers.begin_list(),
                        None => self.records.begin_list(),
                    },
                    Source::Workloads(kind) => {
                        let known = self.workload_objects.workloads().chain(self.wishes.workloads());
                        let known = known.chain(self.annotations.workloads());
                        let known = known.filter(|key| key.watched_kind() == Some(kind));
                        self.owners.begin_list(kind, known);
                    }
                    Source::Services => self.services.begin_list(),
                    Source::Events => {}
                }
                Vec::new()
            }
            Change::ListDone(source) => self.list_done(source, now),
            Change::Pod(pod) => self.pod(*pod, now),
            Change::PodDeleted(pod) => self.pod_deleted(&pod.uid, now),
            Change::Workload(workload) => self.workload(*workload, now),
            Change::Service { namespace, service } => self.service(&namespace, service),
            Change::ServiceDeleted(key) => self.service_deleted(&key),
            Change::WorkloadDeleted(key) => self.workload_deleted(&key, now),
            Change::Node(node) => self.node(*node, now),
            Change::NodeDeleted(name) => self.node_deleted(&name),
            Change::Event(event) => self.event(*event, now),
            Change::Object { key, resource_version } => {
                let mut touched = match self.outers(key.kind) {
                    Some(outers) => outers.seen(&key, &resource_version),
                    None => self.records.seen(&key.object, &resource_version),
                };
                touched.extend(self.stray(key, resource_version));
                touched
            }
            Change::ObjectDeleted(key) => {
                self.forget_burial(&key);
                self.spared.forget(&key);
                match self.outers(key.kind) {
                    Some(outers) => outers.deleted(&key),
                    None => self.records.deleted(&key.object),
                }
            }
            Change::Looked { looked: Looked::Pods(pods), .. } => {
                // What was deleted since is not to come back, and what the watch told in full is newer than this.
                let known = pods.into_iter().filter(|pod| self.pods.is_slim(&pod.uid)).collect::<Vec<_>>();
                known.into_iter().flat_map(|pod| self.pod(pod, now)).collect()
            }
            // Nobody asks any more. (Offline the answers come before the questions.)
            Change::Looked { want, .. } if self.answers_come && !self.lookups.is_asked(&want) => Vec::new(),
            Change::Looked { want, looked } => {
                let asked = self.lookups.answered(want, looked, now);
                asked.into_iter().map(|asker| (asker, Lane::Change)).collect()
            }
        }
    }

    fn list_done(&mut self, source: Source, now: Timestamp) -> Touched {
        let first = self.listed.insert(source, true).is_none();
        if first {
            self.listed_at = now;
        }
        let mut touched = self.listed(source, first, now);
        if first {
            touched.extend(self.all_annotations());
        }
        touched
    }

    fn listed(&mut self, source: Source, first: bool, now: Timestamp) -> Touched {
        match source {
            Source::Pods => {
                let missing = self.pods.end_list();
                let mut touched: Touched = missing.iter().flat_map(|uid| self.pod_deleted(uid, now)).collect();
                self.events.limit_strangers();
                if first {
                    // Diagnoses whose pods vanished while nobody watched.
                    let orphans = self.records.active().filter(|r| !self.pods.contains(&r.pod_uid));
                    touched.extend(orphans.map(|r| (Subject::Object(r.key.clone()), Lane::Resync)));
                    touched.extend(self.all_unsettled());
                }
                touched
            }
            Source::Nodes => {
                let missing = self.nodes.end_list();
                missing.iter().flat_map(|name| self.node_deleted(name)).collect()
            }
            Source::Objects(kind) => {
                let mut touched = match self.outers(kind) {
                    Some(outers) => outers.end_list(),
                    None => self.records.end_list(),
                };
                match kind {
                    DiagnosisKind::Node if first => {
                        touched.extend(self.nodes.all().keys().map(|name| (Subject::Node(name.clone()), Lane::Resync)));
                    }
                    DiagnosisKind::Workload if first => touched.extend(self.all_unsettled()),
                    _ => {}
                }
                touched
            }
            Source::Workloads(kind) => {
                let missing = self.owners.end_list(kind);
                let mut touched: Touched = missing.iter().flat_map(|key| self.workload_deleted(key, now)).collect();
                if first {
                    touched.extend(self.all_unsettled());
                    touched.extend(self.all_served());
                }
                touched
            }
            Source::Services => {
                let missing = self.services.end_list();
                let mut touched: Touched = missing.iter().flat_map(|key| self.service_deleted(key)).collect();
                touched.extend(self.all_served());
                touched
            }
            Source::Events => {
                self.events.forget_old(now);
                Vec::new()
            }
        }
    }

    fn pod(&mut self, mut facts: PodFacts, now: Timestamp) -> Touched {
        let (uid, key) = (facts.uid.clone(), facts.key.clone());
        let annotation = self.annotation_seen(Bearer::Pod(uid.clone()), &uid, facts.carried.take());
        let at_start = !self.is_listed(Source::Pods);
        if let Some(static_uid) = &facts.static_uid {
            self.events.adopt(static_uid, &facts, now);
        }
        if facts.deletion.is_some() {
            self.hear_last_words(&uid, now);
        }
        let recorded = self.records.brief(&facts.key).filter(|r| r.is_active());
        // A write under way may be the first of a diagnosis.
        let is_written = recorded.is_some() || self.records.is_writing(&facts.key);
        let stranded = facts.node_name.as_ref().and_then(|n| self.nodes.get(n)).is_some_and(|n| !n.facts.is_ready());
        let keep = is_written || stranded || self.events.any_kill_of(&uid);
        let past = if self.pods.is_full(&uid) { Ledger::default() } else { self.records.history(&facts.key, &uid) };
        let known_failing = recorded.is_some_and(|r| *r.pod_uid == *uid);
        let job = crate::diagnosis::immediate_workload(&facts).filter(|own| &*own.kind == "Job");
        let is_thrown_out = facts.phase == Phase::Failed && !facts.reason.is_empty();
        let top = if is_thrown_out { crate::diagnosis::top_workload(&facts, None) } else { None };
        let owner = top.as_ref().and_then(|_| crate::diagnosis::immediate_workload(&facts)).map(|own| own.name.clone());
        let ended = facts.over_since().map_or(now, |at| at.min(now));
        let change = self.pods.put(facts, keep, past, at_start, now);
        if let Some(top) = top.filter(|_| change.is_met_over()) {
            self.workloads.thrown_out(top, owner, ended, now);
        }
        if let Some(job) = job.filter(|_| change.has_ended()) {
            // It may be complete now, and then its failed pods are no failure any more.
            self.lookups.outdated(&Want::Workload(job), now);
        }
        self.events.met(&uid, &key, !change.is_unwell);
        if !change.is_unwell {
            self.lookups.forget(&Subject::Pod(uid.clone()));
            self.records.forget_pod(&uid);
        }
        self.nodes.move_requests(&change);
        let mut touched = self.workloads.moved(&uid, &change);
        touched.extend(annotation);
        if change.is_unwell {
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
        self.hear_last_words(uid, now);
        let Some((key, change)) = self.pods.remove(uid) else { return Vec::new() };
        self.nodes.move_requests(&change);
        self.events.forget(uid);
        self.lookups.forget(&Subject::Pod(uid.clone()));
        self.records.forget_pod(uid);
        self.annotations.forget(&Bearer::Pod(uid.clone()));
        let mut touched = self.workloads.moved(uid, &change);
        if self.records.brief(&key).is_some_and(|r| *r.pod_uid == **uid) {
            touched.push((Subject::Object(key), Lane::Change));
        }
        touched
    }

    fn node(&mut self, facts: NodeFacts, now: Timestamp) -> Touched {
        let name = facts.name.clone();
        let effect = self.nodes.put(facts, now);
        let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
        if !self.is_listed(Source::Nodes) {
            // All pods are looked at once everything is listed.
            return touched;
        }
        if effect.readiness_changed {
            touched.extend(self.pods.on_node(&name).map(|uid| (Subject::Pod(uid), Lane::Change)));
        }
        if effect.offer_changed {
            touched.extend(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync)));
        }
        touched
    }

    fn node_deleted(&mut self, name: &Arc<str>) -> Touched {
        self.nodes.remove(name);
        let stranded = self.pods.on_node(name).map(|uid| (Subject::Pod(uid), Lane::Change));
        let itself = std::iter::once((Subject::Node(name.clone()), Lane::Change));
        itself.chain(stranded).chain(self.pods.unscheduled().map(|uid| (Subject::Pod(uid), Lane::Resync))).collect()
    }

    fn event(&mut self, event: EventFacts, now: Timestamp) -> Touched {
        if &*event.regarding.kind == "Node" {
            let name = event.regarding.name.clone();
            let explains_ends = self.nodes.event(&event);
            let mut touched = vec![(Subject::Node(name.clone()), Lane::Change)];
            if explains_ends {
                let unwell = self.pods.on_node(&name).filter(|uid| self.pods.is_full(uid));
                touched.extend(unwell.map(|uid| (Subject::Pod(uid), Lane::Change)));
            }
            return touched;
        }
        if let Some(key) = owners::key_of(&event) {
            let is_news = self.owners.event(&key, event, now);
            return if is_news { vec![(Subject::Workload(key), Lane::Change)] } else { Vec::new() };
        }
        if &*event.regarding.kind != "Pod" {
            return Vec::new();
        }
        let Some(uid) = self.pods.uid_for(&event) else { return Vec::new() };
        if self.pods.is_slim(&uid) && !events::matters_to_the_well(&event) {
            return Vec::new();
        }
        let is_stranger = !self.pods.contains(&uid);
        let is_news = self.events.put(&uid, event, is_stranger, now);
        if is_stranger && self.is_listed(Source::Pods) {
            self.events.limit_strangers();
        }
        if is_news && self.pods.is_full(&uid) { vec![(Subject::Pod(uid), Lane::Change)] } else { Vec::new() }
    }
}
