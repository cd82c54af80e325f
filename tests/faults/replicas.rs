//! Two replicas with leader election: the leader is killed, frozen, disconnected or stopped; clocks differ by an hour.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::control_plane::ControlPlane;
use crate::invariants::{Witness, new_operator_agrees};
use crate::operator::{Launch, Operator, SOON};
use crate::pods::{FAILURES, Space};
use crate::proxy::{Flow, Proxy};
use crate::wait::{ensure, eventually};

/// Number of kills of the leader.
const ROUNDS: usize = if cfg!(feature = "faults-long") { 40 } else { 8 };

struct Replica {
    operator: Operator,
    launch: Launch,
    proxy: Proxy,
}

impl Replica {
    async fn start(plane: &ControlPlane, prepare: &impl Fn(Launch) -> Launch) -> Self {
        let proxy = Proxy::to(plane.address()).await;
        let launch = Launch::new(plane, &plane.operator_kubeconfig(proxy.address())).with(&["--leader-elect"]);
        let launch = prepare(launch);
        let operator = launch.ready().await;
        Self { operator, launch, proxy }
    }

    async fn leads(&self) -> bool {
        self.operator.metric("shindan_leader").await.is_ok_and(|leads| leads > 0.5)
    }

    async fn is_leading(&self, within: Duration) {
        eventually(within, "it leads", async || ensure(self.leads().await, || "it is a standby".to_owned())).await;
    }

    async fn is_standby(&self, within: Duration) {
        eventually(within, "it is a standby", async || {
            let leads = self.operator.metric("shindan_leader").await?;
            ensure(leads < 0.5, || "it leads".to_owned())
        })
        .await;
    }

    async fn restart(&mut self) {
        self.operator = self.launch.ready().await;
    }
}

/// Two replicas and failed pods; the first replica leads at the start.
struct Pair {
    leader: Replica,
    standby: Replica,
    witness: Witness,
    space: Space,
    plane: ControlPlane,
}

impl Pair {
    async fn begin(name: &str) -> Self {
        Self::with(name, |launch| launch, |launch| launch).await
    }

    /// Starts each replica with its own changes of the launch.
    async fn with(name: &str, first: impl Fn(Launch) -> Launch, second: impl Fn(Launch) -> Launch) -> Self {
        let plane = ControlPlane::start(name).await;
        let client = plane.client().await;
        let space = Space::new(client.clone(), "shop").await;
        let witness = Witness::of(client);
        let leader = Replica::start(&plane, &first).await;
        leader.is_leading(SOON).await;
        let standby = Replica::start(&plane, &second).await;
        let pair = Self { leader, standby, witness, space, plane };
        pair.space.fail_all("before").await;
        pair.space.set_healthy("fine").await;
        pair.settle().await;
        pair.standby.is_standby(SOON).await;
        pair
    }

    async fn settle(&self) {
        self.witness.agrees(&[&self.space], &self.leader.operator).await;
    }

    fn change_places(&mut self) {
        std::mem::swap(&mut self.leader, &mut self.standby);
    }

    /// Makes changes until the standby leads.
    async fn standby_becomes_leader(&mut self, because: &str) {
        let began = Instant::now();
        self.space.fail_all("after").await;
        self.space.set_healthy("before-0").await;
        self.space.delete("before-1").await;
        self.standby.is_leading(SOON).await;
        println!("measured: {because}: the other replica leads after {:.1} s", began.elapsed().as_secs_f64());
        self.change_places();
    }

    /// Verifies that one replica leads, that diagnoses are correct, that no Event is duplicated, and that a new operator agrees.
    async fn verify(self) {
        let Self { leader, standby, witness, space, plane } = self;
        standby.is_standby(SOON).await;
        assert!(leader.leads().await);
        witness.agrees(&[&space], &leader.operator).await;
        let metric = standby.operator.metric("shindan_diagnoses_active").await.unwrap();
        assert!(metric.abs() < 0.5, "who follows counts nothing: {metric}");
        standby.operator.stop().await;
        new_operator_agrees(leader.operator, &leader.launch, &[&space]).await;
        drop(plane);
    }
}

#[tokio::test]
async fn the_leader_is_killed_during_changes() {
    let mut pair = Pair::begin("leader-killed").await;
    for round in 0..ROUNDS {
        let Pair { leader, standby, space, .. } = &mut pair;
        // During its writes.
        space.fail_all(&format!("round-{round}")).await;
        leader.operator.signal(Signal::KILL);
        space.set_healthy(&format!("round-{round}-0")).await;
        space.delete(&format!("round-{round}-1")).await;
        standby.is_leading(SOON).await;
        leader.restart().await;
        pair.change_places();
    }
    pair.verify().await;
}

#[tokio::test]
async fn a_frozen_leader_writes_nothing_when_it_resumes() {
    let mut pair = Pair::begin("leader-frozen").await;
    pair.space.fail_all("meanwhile").await;
    pair.leader.operator.signal(Signal::STOP);
    pair.standby_becomes_leader("frozen").await;
    pair.settle().await;
    pair.standby.operator.signal(Signal::CONT);
    pair.standby.is_standby(SOON).await;
    pair.settle().await;
    pair.verify().await;
}

/// Its writes arrive long after the other replica became the leader.
#[tokio::test]
async fn late_writes_of_a_disconnected_leader_have_no_effect() {
    let mut pair = Pair::begin("leader-cut-off").await;
    let cut = async {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        pair.leader.proxy.all(Flow::Stalled);
    };
    tokio::join!(pair.space.fail_all("meanwhile"), cut);
    pair.standby_becomes_leader("cut off").await;
    pair.standby.is_standby(SOON).await;
    pair.settle().await;
    pair.standby.proxy.all(Flow::Pass);
    pair.space.fail("late", FAILURES[0]).await;
    pair.settle().await;
    pair.standby.operator.is_ready().await;
    pair.verify().await;
}

#[tokio::test]
async fn a_stopping_leader_releases_its_lease() {
    let mut pair = Pair::begin("leader-stopped").await;
    for round in 0..2 {
        pair.space.fail_all(&format!("round-{round}")).await;
        pair.leader.operator.signal(Signal::TERM);
        pair.standby.is_leading(SOON).await;
        eventually(SOON, "the old leader ends", async || {
            ensure(!pair.leader.operator.is_running(), || "it runs".to_owned())
        })
        .await;
        pair.leader.restart().await;
        pair.change_places();
    }
    pair.verify().await;
}

#[tokio::test]
async fn one_of_two_disconnected_replicas_leads_again() {
    let mut pair = Pair::begin("leader-without-api").await;
    pair.plane.kill_api();
    pair.leader.is_standby(SOON).await;
    pair.plane.start_api().await;
    pair.space.fail_all("after").await;
    eventually(SOON, "one of them leads", async || {
        let leads = (pair.leader.leads().await, pair.standby.leads().await);
        ensure(leads.0 != leads.1, || format!("{leads:?}"))
    })
    .await;
    if pair.standby.leads().await {
        pair.change_places();
    }
    pair.verify().await;
}

/// One clock is half an hour ahead and one half an hour behind; each replica leads in turn.
#[tokio::test]
async fn clocks_may_differ_by_an_hour() {
    let mut pair = Pair::with("leader-clocks", |launch| at("+30m", launch), |launch| at("-30m", launch)).await;
    for because in ["ahead", "behind"] {
        pair.leader.operator.signal(Signal::KILL);
        let began = Instant::now();
        pair.space.fail_all(because).await;
        pair.standby.is_leading(SOON).await;
        println!(
            "measured: half an hour {because}: the other replica leads after {:.1} s",
            began.elapsed().as_secs_f64()
        );
        pair.leader.restart().await;
        pair.change_places();
        pair.settle().await;
    }
    pair.leader.is_leading(SOON).await;
    pair.standby.is_standby(SOON).await;
}

/// Shifts the wall clock by an offset; the monotonic clock stays.
fn at(offset: &str, launch: Launch) -> Launch {
    let library = std::fs::read_dir("/usr/lib").unwrap().filter_map(|entry| {
        let file = entry.ok()?.path().join("faketime/libfaketime.so.1");
        file.is_file().then_some(file)
    });
    let library = library.last().expect("libfaketime is missing: install the package faketime");
    let preload = library.to_str().unwrap();
    launch.env("LD_PRELOAD", preload).env("FAKETIME", offset).env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}
