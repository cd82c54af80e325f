//! Faults of the network between the operator and the API server.

use http::StatusCode;

use crate::invariants::SETTLED;
use crate::operator::SOON;
use crate::pods::FAILURES;
use crate::proxy::Flow;
use crate::stage::Stage;

/// Open connections deliver nothing, as after a failover of a load balancer. The operator notices by a timeout: watches of
/// objects are renewed every 90 s.
#[tokio::test]
async fn watches_hang_without_being_closed() {
    let stage = Stage::among_others("watches-hang").await;
    stage.proxy.open(Flow::Stalled);
    stage.change_and_verify().await;
}

/// Lists and starts of watches get no response.
#[tokio::test]
async fn lists_hang() {
    let stage = Stage::among_others("lists-hang").await;
    let Stage { operator, launch, proxy, .. } = &stage;
    // The first connection serves discovery, the second the read of our own objects.
    proxy.fresh_after(2, Flow::Stalled);
    let other = launch.start().await;
    // The error is a timeout, or a failed connection where a new one is opened.
    let texts = ["pods: cannot reach the API server"];
    other.await_probe("/readyz", StatusCode::SERVICE_UNAVAILABLE, &texts, SETTLED).await;
    proxy.all(Flow::Pass);
    other.is_ready().await;
    other.stop().await;
    operator.await_probe("/readyz", StatusCode::OK, &["ok"], SOON).await;
    stage.change_and_verify().await;
}

#[tokio::test]
async fn responses_are_slow() {
    let stage = Stage::among_others("slow").await;
    stage.proxy.all(Flow::Slow(20_000));
    let Stage { launch, space, .. } = &stage;
    space.fail_all("slow").await;
    stage.settle().await;
    let other = launch.ready().await;
    other.stop().await;
    stage.change_and_verify().await;
}

#[tokio::test]
async fn connections_are_reset_again_and_again() {
    let stage = Stage::among_others("resets").await;
    for round in 0..10 {
        stage.proxy.cut();
        stage.space.fail(&format!("round-{round}"), FAILURES[round % FAILURES.len()]).await;
        stage.proxy.cut();
        stage.space.set_healthy(&format!("round-{}", round / 2)).await;
    }
    stage.change_and_verify().await;
}
