//! The API server or etcd is unavailable, or has compacted its history.

use std::time::Duration;

use http::StatusCode;
use rustix::process::Signal;

use crate::operator::SOON;
use crate::stage::Stage;

/// Length of an outage of the API server: longer than a few retries of each watch.
const AWAY: Duration = Duration::from_secs(if cfg!(feature = "faults-long") { 60 } else { 8 });

#[tokio::test]
async fn the_api_server_is_stopped_for_a_while() {
    let mut stage = Stage::alone("api-away").await;
    stage.plane.kill_api();
    stage.operator.await_probe("/readyz", StatusCode::SERVICE_UNAVAILABLE, &["pods: ", "cannot reach"], SOON).await;
    tokio::time::sleep(AWAY).await;
    stage.operator.await_probe("/healthz", StatusCode::OK, &["ok"], SOON).await;
    stage.plane.start_api().await;
    stage.change_and_verify().await;
}

#[tokio::test]
async fn the_api_server_hangs_and_resumes() {
    let stage = Stage::alone("api-hangs").await;
    stage.space.fail_all("meanwhile").await;
    stage.plane.signal_api(Signal::STOP);
    tokio::time::sleep(AWAY).await;
    stage.plane.signal_api(Signal::CONT);
    stage.plane.api_is_ready().await;
    stage.change_and_verify().await;
}

#[tokio::test]
async fn etcd_is_killed_and_restarted() {
    let mut stage = Stage::alone("etcd-killed").await;
    stage.plane.kill_etcd();
    tokio::time::sleep(AWAY).await;
    stage.plane.start_etcd().await;
    stage.plane.api_is_ready().await;
    stage.change_and_verify().await;
}

#[tokio::test]
async fn etcd_hangs_and_resumes() {
    let stage = Stage::alone("etcd-hangs").await;
    // The client cannot know whether a write succeeded.
    stage.space.fail_all("meanwhile").await;
    stage.plane.signal_etcd(Signal::STOP);
    tokio::time::sleep(AWAY).await;
    stage.plane.signal_etcd(Signal::CONT);
    stage.plane.api_is_ready().await;
    stage.change_and_verify().await;
}

/// Changes during the disconnection are compacted, so the operator relists.
#[tokio::test]
async fn missed_changes_have_been_compacted() {
    let mut stage = Stage::alone("compacted").await;
    stage.proxy.refuse();
    stage.make_changes().await;
    stage.plane.compact().await;
    stage.plane.kill_api();
    stage.plane.start_api().await;
    let lists = stage.operator.metric("shindan_lists_total{source=\"pods\"}").await.unwrap();
    stage.proxy.listen().await;
    stage.settle().await;
    let now = stage.operator.metric("shindan_lists_total{source=\"pods\"}").await.unwrap();
    assert!(now > lists, "{lists} lists, then {now}");
    stage.verify().await;
}
