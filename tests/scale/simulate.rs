//! One operator, and one of ten replicas that share the namespaces, with more pods than the machine can serve an API server for.
//!
//! Objects are generated and read as from a watch, and applied to the state of the operator in this process. Requests are not
//! part of it. The result is the base of docs/scale.md.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use shindan_core::case::Thresholds;
use shindan_core::offline;
use shindan_core::outbox::{Lane, Subject};
use shindan_core::state::{Change, Source, World};
use shindan_core::wire::{Dump, Interner, Node, Pod};

use super::phases::whole;
use super::recorded::{Fleet, Look, Place, fnv};
use super::subject::{cpu_of, status_of};

/// Replicas that share the namespaces.
const REPLICAS: u64 = 10;
/// Status updates of healthy pods.
const UPDATES: usize = 50_000;
/// Share of the pods that begin to fail at once: one of this many.
const FAILING: usize = 10;
/// Pods that are generated at a time.
const PART: usize = 10_000;

/// What one replica receives.
#[derive(Debug, Clone, Copy)]
enum Share {
    All,
    /// The pods of one namespace in ten; the API server sends no others.
    Sent,
    /// The same pods, but the replica reads all and drops the others.
    Dropped,
}

impl Share {
    const ALL: [(Self, &'static str); 3] = [
        (Self::All, "one operator"),
        (Self::Sent, "one of ten, if the API server filters"),
        (Self::Dropped, "one of ten, if the replica filters"),
    ];

    fn keeps(self, namespace: &str) -> bool {
        // The API server would hash namespaces the same way.
        matches!(self, Self::All) || fnv(namespace).is_multiple_of(REPLICAS)
    }
}

/// The state of a replica, and the CPU seconds that it took so far.
struct Replica {
    share: Share,
    world: World,
    strings: Interner,
    now: Timestamp,
    cpu: f64,
}

impl Replica {
    /// Reads pods as a watch delivers them. Returns those that newly fail.
    fn read(&mut self, pods: &[(String, String)]) -> Result<Vec<Subject>> {
        let began = cpu()?;
        let mut failing = Vec::new();
        for (namespace, text) in pods {
            let keeps = self.share.keeps(namespace);
            if !keeps && matches!(self.share, Share::Sent) {
                continue;
            }
            let pod: Pod = serde_json::from_str(text)?;
            if keeps {
                let pod = Box::new(pod.into_facts(&mut self.strings));
                let touched = self.world.apply(Change::Pod(pod), self.now);
                let new = touched.into_iter().filter(|(_, lane)| *lane == Lane::NewFailure);
                failing.extend(new.map(|(subject, _)| subject));
            }
        }
        self.cpu += cpu()? - began;
        Ok(failing)
    }

    /// Diagnoses pods, without writing.
    fn decide(&mut self, pods: &[Subject]) -> Result<()> {
        let began = cpu()?;
        for pod in pods {
            self.world.decide(pod, self.now);
        }
        self.cpu += cpu()? - began;
        Ok(())
    }
}

fn cpu() -> Result<f64> {
    cpu_of(std::process::id())
}

fn memory() -> Result<f64> {
    Ok(status_of(std::process::id(), "VmRSS:")? / 1024.0)
}

/// Prints memory and CPU time of each share. Each has its own process, because memory is that of a process.
pub(crate) fn compare(pods: usize) -> Result<()> {
    println!("{pods} pods, of which one in {FAILING} begins to fail at once:\n");
    println!(
        "| | memory, MiB | first list, s of CPU | an update, us of CPU | the failures, s of CPU | memory then, MiB |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (at, (_, name)) in Share::ALL.iter().enumerate() {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(["simulate", "--pods", &pods.to_string(), "--share", &at.to_string()]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("| {name} | {} |", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}

/// Measures one share.
#[allow(clippy::disallowed_methods, reason = "recorded times are moved to now")]
pub(crate) fn one(pods: usize, share: usize) -> Result<()> {
    let (share, _) = *Share::ALL.get(share).context("no such share")?;
    let now = Timestamp::now();
    let fleet = Fleet::new(pods, now)?;
    let world = offline::world(Dump::default(), now, Thresholds::default());
    let mut replica = Replica { share, world, strings: Interner::default(), now, cpu: 0.0 };
    let healthy = fleet.healthy();
    for put in fleet.objects().take_while(|put| !put.key.starts_with("/registry/deployments/")) {
        if put.key.starts_with("/registry/minions/") {
            let node: Node = serde_json::from_str(&put.value)?;
            replica.world.apply(Change::Node(Box::new(node.into_facts(&mut replica.strings))), now);
        }
    }
    let texts = |part: &[Place], look: Option<Look>| -> Vec<(String, String)> {
        let put = |place: &Place| look.map_or_else(|| fleet.as_filled(*place), |look| fleet.looking(*place, look));
        part.iter().map(|place| (place.namespace(), put(place).value)).collect()
    };
    // The memory of the texts, which the allocator keeps, is not counted.
    drop(texts(&healthy[..PART.min(healthy.len())], None));
    let empty = memory()?;
    let in_parts = |replica: &mut Replica, places: &[Place], look: Option<Look>, decides: bool| {
        for part in places.chunks(PART) {
            let failing = replica.read(&texts(part, look))?;
            if decides {
                replica.decide(&failing)?;
            }
        }
        anyhow::Ok(std::mem::take(&mut replica.cpu))
    };
    replica.world.apply(Change::ListStarted(Source::Pods), now);
    let listing = in_parts(&mut replica, &healthy, None, false)?;
    replica.world.apply(Change::ListDone(Source::Pods), now);
    let listed = memory()?;
    let updating = in_parts(&mut replica, &healthy[..UPDATES.min(healthy.len())], Some(Look::Healthy), false)?;
    let failing = in_parts(&mut replica, &healthy[..pods / FAILING], Some(Look::Killed), true)?;
    println!(
        "{:.0} | {listing:.1} | {:.0} | {failing:.1} | {:.0}",
        listed - empty,
        updating * 1e6 / whole(UPDATES.min(healthy.len()) as u64),
        memory()? - empty,
    );
    Ok(())
}
