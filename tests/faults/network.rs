//! What lies between the operator and the API server.

use http::StatusCode;

use crate::operator::SOON;
use crate::pods::FAILURES;
use crate::proxy::Flow;
use crate::stage::Stage;
use crate::truth::SETTLED;

/// The connections are open and nothing comes any more, as after a failover of a balancer. Only time tells: watches
/// of objects are renewed every 90 s.
#[tokio::test]
async fn watches_hang_without_being_closed() {
    let stage = Stage::among_others("watches-hang").await;
    stage.proxy.open(Flow::Silent);
    stage.goes_on().await;
}

/// Lists and starts of watches get no answer.
#[tokio::test]
async fn lists_hang() {
    let stage = Stage::among_others("lists-hang").await;
    let Stage { operator, launch, proxy, .. } = &stage;
    // The first connection is for asking who is there, the second for reading back our own objects.
    proxy.fresh_after(2, Flow::Silent);
    let other = launch.start().await;
    // That no answer comes, or, where the connection is a new one, that there is none.
    let words = ["pods: cannot reach the API server"];
    other.answers("/readyz", StatusCode::SERVICE_UNAVAILABLE, &words, SETTLED).await;
    proxy.all(Flow::Pass);
    other.is_ready().await;
    other.stop().await;
    operator.answers("/readyz", StatusCode::OK, &["ok"], SOON).await;
    stage.goes_on().await;
}

#[tokio::test]
async fn answers_come_slowly() {
    let stage = Stage::among_others("slow").await;
    stage.proxy.all(Flow::Slow(20_000));
    let Stage { launch, space, .. } = &stage;
    space.fail_all("slow").await;
    stage.settles().await;
    let other = launch.ready().await;
    other.stop().await;
    stage.goes_on().await;
}

#[tokio::test]
async fn connections_are_reset_again_and_again() {
    let stage = Stage::among_others("resets").await;
    for round in 0..10 {
        stage.proxy.cut();
        stage.space.fail(&format!("round-{round}"), FAILURES[round % FAILURES.len()]).await;
        stage.proxy.cut();
        stage.space.well(&format!("round-{}", round / 2)).await;
    }
    stage.goes_on().await;
}
