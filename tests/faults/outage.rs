//! The API server or etcd is away, or has forgotten.

use std::time::Duration;

use http::StatusCode;
use rustix::process::Signal;

use crate::operator::SOON;
use crate::stage::Stage;

/// How long an API server is away: longer than a few tries of each watch.
const AWAY: Duration = Duration::from_secs(if cfg!(feature = "faults-long") { 60 } else { 8 });

#[tokio::test]
async fn the_api_server_is_away_for_a_while() {
    let mut stage = Stage::alone("api-away").await;
    stage.plane.kill_api();
    stage.operator.answers("/readyz", StatusCode::SERVICE_UNAVAILABLE, &["pods: ", "cannot reach"], SOON).await;
    tokio::time::sleep(AWAY).await;
    stage.operator.answers("/healthz", StatusCode::OK, &["ok"], SOON).await;
    stage.plane.start_api().await;
    stage.goes_on().await;
}

#[tokio::test]
async fn the_api_server_hangs_and_goes_on() {
    let stage = Stage::alone("api-hangs").await;
    stage.space.fail_all("meanwhile").await;
    stage.plane.signal_api(Signal::STOP);
    tokio::time::sleep(AWAY).await;
    stage.plane.signal_api(Signal::CONT);
    stage.plane.api_is_ready().await;
    stage.goes_on().await;
}

#[tokio::test]
async fn etcd_is_killed_and_comes_back() {
    let mut stage = Stage::alone("etcd-killed").await;
    stage.plane.kill_etcd();
    tokio::time::sleep(AWAY).await;
    stage.plane.start_etcd().await;
    stage.plane.api_is_ready().await;
    stage.goes_on().await;
}

#[tokio::test]
async fn etcd_hangs_and_goes_on() {
    let stage = Stage::alone("etcd-hangs").await;
    // Written, or not: who asked cannot know.
    stage.space.fail_all("meanwhile").await;
    stage.plane.signal_etcd(Signal::STOP);
    tokio::time::sleep(AWAY).await;
    stage.plane.signal_etcd(Signal::CONT);
    stage.plane.api_is_ready().await;
    stage.goes_on().await;
}

/// What happened while the operator was cut off cannot be told any more: it lists anew.
#[tokio::test]
async fn what_was_missed_has_been_compacted_away() {
    let mut stage = Stage::alone("compacted").await;
    stage.proxy.refuse();
    stage.things_happen().await;
    stage.plane.compact().await;
    stage.plane.kill_api();
    stage.plane.start_api().await;
    let lists = stage.operator.metric("shindan_lists_total{source=\"pods\"}").await.unwrap();
    stage.proxy.listen().await;
    stage.settles().await;
    let now = stage.operator.metric("shindan_lists_total{source=\"pods\"}").await.unwrap();
    assert!(now > lists, "{lists} lists, then {now}");
    stage.ends_well().await;
}
