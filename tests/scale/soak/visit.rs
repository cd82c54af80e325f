//! One visitor: a Deployment that is created, fails, partly recovers, is partly replaced, and is deleted.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;

use crate::etcd::Put;
use crate::lab::Lab;
use crate::recorded::{Place, Visit, is_pod, terminating};
use crate::sights::Sights;

/// Timeout for the diagnoses of a visitor. It is long, because no times are measured.
const WITHIN: Duration = Duration::from_secs(120);
/// Time between the deletion timestamp of a pod and its removal.
const GOING: Duration = Duration::from_secs(2);

/// Runs one visit; all its objects are deleted at the end.
pub(super) async fn stay(lab: &Lab, visit: Visit) -> Result<()> {
    let mut here = Here { lab, visit, objects: BTreeMap::new() };
    let namespace = visit.own_namespace().map(|name| lab.fleet.namespace_named(&name));
    if let Some(namespace) = &namespace {
        lab.etcd.put([namespace.clone()]).await?;
    }
    here.put(lab.fleet.arrival(visit)).await?;
    let failing = visit.failing();
    here.reported(&failing).await?;

    // Two pods recover. A failing and a healthy pod are deleted and replaced.
    let (recover, stay) = failing.split_at(2);
    let replaced = [stay[0], visit.healthy()];
    here.put(recover.iter().map(|place| lab.fleet.recovered(*place)).collect()).await?;
    let keys = replaced.map(|place| lab.fleet.as_filled(place).key);
    here.remove(|key| keys.iter().any(|removed| removed == key)).await?;
    let next = replaced.map(Place::next);
    here.put(next.iter().flat_map(|place| lab.fleet.pod_with_events(*place)).collect()).await?;
    here.reported(&[next[0], stay[1], stay[2]]).await?;
    here.ended(&[recover[0], recover[1], stay[0]]).await?;

    if let Some(namespace) = &namespace {
        lab.etcd.put([terminating(namespace, Timestamp::now())?]).await?;
    }
    here.remove(|_| true).await?;
    // Deletes our objects and all Events of the namespace, as its controller does.
    if let (Some(namespace), Some(name)) = (namespace, visit.own_namespace()) {
        for kind in ["shindan.dev/poddiagnoses", "shindan.dev/workloaddiagnoses", "events"] {
            lab.etcd.remove(&format!("/registry/{kind}/{name}/")).await?;
        }
        lab.etcd.remove_keys([namespace.key]).await?;
    }
    Ok(())
}

/// A visitor and its current objects.
struct Here<'a> {
    lab: &'a Lab,
    visit: Visit,
    objects: BTreeMap<String, Put>,
}

impl Here<'_> {
    async fn put(&mut self, puts: Vec<Put>) -> Result<()> {
        self.objects.extend(puts.iter().map(|put| (put.key.clone(), put.clone())));
        self.lab.etcd.put(puts).await
    }

    /// Deletes some of its objects; pods first get a deletion timestamp.
    async fn remove(&mut self, which: impl Fn(&str) -> bool) -> Result<()> {
        let now = Timestamp::now();
        let (removed, here): (BTreeMap<_, _>, _) = take(&mut self.objects).into_iter().partition(|(key, _)| which(key));
        self.objects = here;
        let pods = removed.values().filter(|put| is_pod(put)).map(|put| terminating(put, now));
        self.lab.etcd.put(pods.collect::<Result<Vec<_>>>()?).await?;
        tokio::time::sleep(GOING).await;
        self.lab.etcd.remove_keys(removed.into_keys()).await
    }

    /// Waits until each of these pods has its diagnosis.
    async fn reported(&self, pods: &[Place]) -> Result<()> {
        let cause = self.visit.cause();
        let is_reported = |sights: &Sights, place: &Place| {
            let sight = sights.of(&place.key()).filter(crate::sights::Sight::is_active);
            sight.is_some_and(|sight| sight.labels.get("cause").is_some_and(|reported| reported == cause))
        };
        let what = format!("{cause} of {}", self.visit.own_namespace().unwrap_or_else(|| pods[0].key()));
        self.lab.sights.within(&what, WITHIN, |sights| pods.iter().all(|place| is_reported(sights, place))).await
    }

    /// Waits until none of these pods has an Active diagnosis.
    async fn ended(&self, pods: &[Place]) -> Result<()> {
        let fails = |sights: &Sights, place: &Place| sights.of(&place.key()).is_some_and(|sight| sight.is_active());
        let what = format!("ends of {}", self.visit.cause());
        self.lab.sights.within(&what, WITHIN, |sights| !pods.iter().any(|place| fails(sights, place))).await
    }
}
