//! Two replicas, of which one writes: the leader dies, hangs, is cut off, is stopped; their clocks differ by an hour.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::control_plane::ControlPlane;
use crate::operator::{Launch, Operator, SOON};
use crate::pods::{FAILURES, Space};
use crate::proxy::{Flow, Proxy};
use crate::truth::{Witness, says_the_same_afresh};
use crate::wait::{ensure, eventually};

/// Rounds of a leader's death.
const DEATHS: usize = if cfg!(feature = "faults-long") { 40 } else { 3 };

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
        eventually(within, "it leads", async || ensure(self.leads().await, || "it follows".to_owned())).await;
    }

    async fn is_following(&self, within: Duration) {
        eventually(within, "it follows", async || {
            let leads = self.operator.metric("shindan_leader").await?;
            ensure(leads < 0.5, || "it leads".to_owned())
        })
        .await;
    }

    async fn restart(&mut self) {
        self.operator = self.launch.ready().await;
    }
}

/// The first one leads at the beginning, and pods have failed by then.
struct Pair {
    leader: Replica,
    follower: Replica,
    witness: Witness,
    space: Space,
    plane: ControlPlane,
}

impl Pair {
    async fn begin(name: &str) -> Self {
        Self::with(name, |launch| launch, |launch| launch).await
    }

    /// Each is started in its own way.
    async fn with(name: &str, first: impl Fn(Launch) -> Launch, second: impl Fn(Launch) -> Launch) -> Self {
        let plane = ControlPlane::start(name).await;
        let client = plane.client().await;
        let space = Space::new(client.clone(), "shop").await;
        let witness = Witness::of(client);
        let leader = Replica::start(&plane, &first).await;
        leader.is_leading(SOON).await;
        let follower = Replica::start(&plane, &second).await;
        let pair = Self { leader, follower, witness, space, plane };
        pair.space.fail_all("before").await;
        pair.space.well("fine").await;
        pair.settles().await;
        pair.follower.is_following(SOON).await;
        pair
    }

    async fn settles(&self) {
        self.witness.agrees(&[&self.space], &self.leader.operator).await;
    }

    fn change_places(&mut self) {
        std::mem::swap(&mut self.leader, &mut self.follower);
    }

    /// Things go on while the other one comes to lead.
    async fn other_takes_over(&mut self, because: &str) {
        let began = Instant::now();
        self.space.fail_all("after").await;
        self.space.well("before-0").await;
        self.space.delete("before-1").await;
        self.follower.is_leading(SOON).await;
        println!("measured: {because}: the other replica leads after {:.1} s", began.elapsed().as_secs_f64());
        self.change_places();
    }

    /// One leads, what is written is right, no Event is there twice, and a fresh operator says the same.
    async fn ends_well(self) {
        let Self { leader, follower, witness, space, plane } = self;
        follower.is_following(SOON).await;
        assert!(leader.leads().await);
        witness.agrees(&[&space], &leader.operator).await;
        let metric = follower.operator.metric("shindan_diagnoses_active").await.unwrap();
        assert!(metric.abs() < 0.5, "who follows counts nothing: {metric}");
        follower.operator.stop().await;
        says_the_same_afresh(leader.operator, &leader.launch, &[&space]).await;
        drop(plane);
    }
}

#[tokio::test]
async fn the_leader_is_killed_while_things_happen() {
    let mut pair = Pair::begin("leader-killed").await;
    for round in 0..DEATHS {
        let Pair { leader, follower, space, .. } = &mut pair;
        // Amid its writes.
        space.fail_all(&format!("round-{round}")).await;
        leader.operator.signal(Signal::KILL);
        space.well(&format!("round-{round}-0")).await;
        space.delete(&format!("round-{round}-1")).await;
        follower.is_leading(SOON).await;
        leader.restart().await;
        pair.change_places();
    }
    pair.ends_well().await;
}

#[tokio::test]
async fn a_leader_that_was_frozen_writes_nothing_when_it_wakes() {
    let mut pair = Pair::begin("leader-frozen").await;
    pair.space.fail_all("meanwhile").await;
    pair.leader.operator.signal(Signal::STOP);
    pair.other_takes_over("frozen").await;
    pair.settles().await;
    pair.follower.operator.signal(Signal::CONT);
    pair.follower.is_following(SOON).await;
    pair.settles().await;
    pair.ends_well().await;
}

/// What it had sent arrives when the other one has led for long.
#[tokio::test]
async fn a_leader_that_was_cut_off_does_no_harm_with_what_it_had_sent() {
    let mut pair = Pair::begin("leader-cut-off").await;
    let cut = async {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        pair.leader.proxy.all(Flow::Silent);
    };
    tokio::join!(pair.space.fail_all("meanwhile"), cut);
    pair.other_takes_over("cut off").await;
    pair.follower.is_following(SOON).await;
    pair.settles().await;
    pair.follower.proxy.all(Flow::Pass);
    pair.space.fail("late", FAILURES[0]).await;
    pair.settles().await;
    pair.follower.operator.is_ready().await;
    pair.ends_well().await;
}

#[tokio::test]
async fn a_leader_that_stops_hands_over() {
    let mut pair = Pair::begin("leader-stopped").await;
    for round in 0..2 {
        pair.space.fail_all(&format!("round-{round}")).await;
        pair.leader.operator.signal(Signal::TERM);
        pair.follower.is_leading(SOON).await;
        eventually(SOON, "the old leader ends", async || {
            ensure(!pair.leader.operator.is_running(), || "it runs".to_owned())
        })
        .await;
        pair.leader.restart().await;
        pair.change_places();
    }
    pair.ends_well().await;
}

#[tokio::test]
async fn of_two_that_lost_the_api_server_one_leads_again() {
    let mut pair = Pair::begin("leader-without-api").await;
    pair.plane.kill_api();
    pair.leader.is_following(SOON).await;
    pair.plane.start_api().await;
    pair.space.fail_all("after").await;
    eventually(SOON, "one of them leads", async || {
        let leads = (pair.leader.leads().await, pair.follower.leads().await);
        ensure(leads.0 != leads.1, || format!("{leads:?}"))
    })
    .await;
    if pair.follower.leads().await {
        pair.change_places();
    }
    pair.ends_well().await;
}

/// Half an hour ahead, and half an hour behind; each takes over from the other.
#[tokio::test]
async fn clocks_that_differ_by_an_hour_do_no_harm() {
    let mut pair = Pair::with("leader-clocks", |launch| at("+30m", launch), |launch| at("-30m", launch)).await;
    for because in ["ahead", "behind"] {
        pair.leader.operator.signal(Signal::KILL);
        let began = Instant::now();
        pair.space.fail_all(because).await;
        pair.follower.is_leading(SOON).await;
        println!(
            "measured: half an hour {because}: the other replica leads after {:.1} s",
            began.elapsed().as_secs_f64()
        );
        pair.leader.restart().await;
        pair.change_places();
        pair.settles().await;
    }
    pair.leader.is_leading(SOON).await;
    pair.follower.is_following(SOON).await;
}

/// Its time of day is so much off; the monotonic clock, by which it measures, is not.
fn at(offset: &str, launch: Launch) -> Launch {
    let library = std::fs::read_dir("/usr/lib").unwrap().filter_map(|entry| {
        let file = entry.ok()?.path().join("faketime/libfaketime.so.1");
        file.is_file().then_some(file)
    });
    let library = library.last().expect("libfaketime is missing: install the package faketime");
    let preload = library.to_str().unwrap();
    launch.env("LD_PRELOAD", preload).env("FAKETIME", offset).env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}
