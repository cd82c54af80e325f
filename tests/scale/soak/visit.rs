//! One visitor: it comes, fails, recovers in part, is replaced in part, and goes.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;

use crate::etcd::Put;
use crate::lab::Lab;
use crate::recorded::{Place, Visit, going, is_pod};
use crate::sights::Sights;

/// How long the operator may take for what it tells of a visitor. Long, as nothing is measured by it.
const WITHIN: Duration = Duration::from_secs(120);
/// What lies between the deletion of a pod and its end, here as in a cluster.
const GOING: Duration = Duration::from_secs(2);

/// All of one visit; what it brought is gone at its end.
pub(super) async fn stay(lab: &Lab, visit: Visit) -> Result<()> {
    let mut here = Here { lab, visit, objects: BTreeMap::new() };
    let namespace = visit.own_namespace().map(|name| lab.fleet.namespace_named(&name));
    if let Some(namespace) = &namespace {
        lab.etcd.put([namespace.clone()]).await?;
    }
    here.put(lab.fleet.arrival(visit)).await?;
    let failing = visit.failing();
    here.told(&failing).await?;

    // Two recover. One goes while it fails, as does one that is well, and another comes for each.
    let (recover, stay) = failing.split_at(2);
    let replaced = [stay[0], visit.well()];
    here.put(recover.iter().map(|place| lab.fleet.recovered(*place)).collect()).await?;
    let keys = replaced.map(|place| lab.fleet.as_filled(place).key);
    here.remove(|key| keys.iter().any(|gone| gone == key)).await?;
    let next = replaced.map(Place::next);
    here.put(next.iter().flat_map(|place| lab.fleet.pod_with_events(*place)).collect()).await?;
    here.told(&[next[0], stay[1], stay[2]]).await?;
    here.ended(&[recover[0], recover[1], stay[0]]).await?;

    if let Some(namespace) = &namespace {
        lab.etcd.put([going(namespace, Timestamp::now())?]).await?;
    }
    here.remove(|_| true).await?;
    // As the namespace's controller does: our objects go with it, and all Events.
    if let (Some(namespace), Some(name)) = (namespace, visit.own_namespace()) {
        for kind in ["shindan.dev/poddiagnoses", "shindan.dev/workloaddiagnoses", "events"] {
            lab.etcd.remove(&format!("/registry/{kind}/{name}/")).await?;
        }
        lab.etcd.remove_keys([namespace.key]).await?;
    }
    Ok(())
}

/// A visitor, and what is there of it now.
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

    /// Deletes some of it: pods take a while to end.
    async fn remove(&mut self, which: impl Fn(&str) -> bool) -> Result<()> {
        let now = Timestamp::now();
        let (gone, here): (BTreeMap<_, _>, _) = take(&mut self.objects).into_iter().partition(|(key, _)| which(key));
        self.objects = here;
        let pods = gone.values().filter(|put| is_pod(put)).map(|put| going(put, now));
        self.lab.etcd.put(pods.collect::<Result<Vec<_>>>()?).await?;
        tokio::time::sleep(GOING).await;
        self.lab.etcd.remove_keys(gone.into_keys()).await
    }

    /// Waits until each of these pods has its diagnosis.
    async fn told(&self, pods: &[Place]) -> Result<()> {
        let cause = self.visit.cause();
        let is_told = |sights: &Sights, place: &Place| {
            let sight = sights.of(&place.key()).filter(crate::sights::Sight::is_active);
            sight.is_some_and(|sight| sight.labels.get("cause").is_some_and(|told| told == cause))
        };
        let what = format!("{cause} of {}", self.visit.own_namespace().unwrap_or_else(|| pods[0].key()));
        self.lab.sights.within(&what, WITHIN, |sights| pods.iter().all(|place| is_told(sights, place))).await
    }

    /// Waits until no diagnosis says that one of these pods fails.
    async fn ended(&self, pods: &[Place]) -> Result<()> {
        let fails = |sights: &Sights, place: &Place| sights.of(&place.key()).is_some_and(|sight| sight.is_active());
        let what = format!("ends of {}", self.visit.cause());
        self.lab.sights.within(&what, WITHIN, |sights| !pods.iter().any(|place| fails(sights, place))).await
    }
}
