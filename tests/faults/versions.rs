//! The requests of the operator against each Kubernetes version in the README.
//!
//! `tests/cluster/cluster build --apiservers` builds the API servers; tests/cluster/tools/README.md describes how to add one.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use shindan_core::api::DiagnosisKind;

use crate::control_plane::{ControlPlane, Programs};
use crate::invariants::{SETTLED, new_operator_agrees};
use crate::operator::{Operator, SOON};
use crate::pods::{self, FAILURES, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

macro_rules! versions {
    ($($module:ident: $minor:literal;)*) => {$(
        mod $module {
            use super::{Lists, works_on};

            #[tokio::test]
            async fn with_streamed_lists() {
                works_on($minor, Lists::Streamed).await;
            }

            #[tokio::test]
            async fn with_paged_lists() {
                works_on($minor, Lists::Paged).await;
            }
        }
    )*};
}

versions! {
    v1_34: "1.34";
    v1_35: "1.35";
    v1_36: "1.36";
    v1_37: "1.37";
}

/// How the API server serves initial lists of watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    Streamed,
    Paged,
}

async fn works_on(minor: &str, lists: Lists) {
    let (programs, version) = Programs::with_apiserver(minor);
    let streaming = format!("--feature-gates=WatchList={}", lists == Lists::Streamed);
    let plane = ControlPlane::of(programs, &format!("{version}-{lists:?}"), &[&streaming]).await;
    let client = plane.client().await;
    assert_eq!(client.apiserver_version().await.unwrap().git_version, version);
    installs(&plane).await;
    pods::node(&client).await;
    let before = Space::new(client, "long-before").await;
    before.fail_all("before").await;
    before.set_healthy("fine").await;

    let mut stage = Stage::on(plane, &["--leader-elect"]).await;
    all_agree(&stage, &before).await;
    follows(&stage, lists).await;
    shows(&stage).await;
    changes(&stage).await;
    all_agree(&stage, &before).await;
    event_is_found(&stage);
    stage = is_restarted(stage, &before).await;
    stage = has_forgotten(stage, &before).await;
    stage = is_succeeded(stage, &before).await;
    new_operator_agrees(stage.operator, &stage.launch, &[&before, &stage.space]).await;
}

async fn all_agree(stage: &Stage, before: &Space) {
    stage.witness.agrees(&[before, &stage.space], &stage.operator).await;
}

/// Applies all of deploy/, including the Deployment, without warnings of the API server.
async fn installs(plane: &ControlPlane) {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let apply = ["apply", "--server-side", "--warnings-as-errors"];
    let all = deploy.join("install.yaml").display().to_string();
    plane.kubectl(&[&apply[..], &["-f", &all]].concat(), None).unwrap();
    plane.await_definitions().await;
    for overlay in deploy.join("overlays").read_dir().unwrap() {
        let folder = overlay.unwrap().path().display().to_string();
        let rendered = plane.kubectl(&["kustomize", &folder], None).unwrap();
        let namespaces: BTreeSet<&str> =
            rendered.lines().filter_map(|line| line.strip_prefix("  namespace: ")).collect();
        for namespace in namespaces {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            plane.kubectl(&["apply", "--server-side", "-f", "-"], Some(&namespace.to_string())).unwrap();
        }
        // The kinds of the Prometheus operator are not installed.
        let is_known = |object: &&str| !object.contains("apiVersion: monitoring.coreos.com/");
        let known = rendered.split("\n---\n").filter(is_known).collect::<Vec<_>>().join("\n---\n");
        plane.kubectl(&[&apply[..], &["--dry-run=server", "-f", "-"]].concat(), Some(&known)).unwrap();
    }
    let definitions: Value =
        serde_json::from_str(&plane.kubectl(&["get", "crd", "-o", "json"], None).unwrap()).unwrap();
    for definition in definitions["items"].as_array().unwrap() {
        let conditions = definition["status"]["conditions"].as_array().unwrap();
        let mut known: Vec<_> = conditions.iter().map(|c| (c["type"].as_str(), c["status"].as_str())).collect();
        known.sort_unstable();
        let accepted = [(Some("Established"), Some("True")), (Some("NamesAccepted"), Some("True"))];
        assert_eq!(known, accepted, "{}", definition["metadata"]["name"]);
    }
}

/// Checks that each watch has listed in the expected way and without errors.
async fn follows(stage: &Stage, lists: Lists) {
    let operator = &stage.operator;
    eventually(SETTLED, "each watch has listed", async || {
        let (_, metrics) = operator.probe("/metrics").await?;
        let watches = metrics.lines().filter(|line| line.starts_with("shindan_watch_staleness_seconds{")).count();
        let listed = operator.metric("shindan_lists_total").await?;
        ensure(watches > 10 && listed >= f64::from(u32::try_from(watches).unwrap()), || {
            format!("{watches} watches, {listed} lists")
        })
    })
    .await;
    let errors = operator.metric("shindan_watch_errors_total").await.unwrap();
    assert!(errors.abs() < f64::EPSILON, "{errors} errors: {}", operator.log());
    let refused = operator.log().contains("the API server does not stream lists; listing in pages");
    assert_eq!(refused, lists == Lists::Paged, "{}", operator.log());

    // The API server's own metrics agree. Only the operator lists CronJobs here.
    let apiserver_metrics = stage.plane.kubectl(&["get", "--raw", "/metrics"], None).unwrap();
    let of_cronjobs = |metric: &str, label: &str| {
        let samples = apiserver_metrics.lines().filter(|line| line.starts_with(metric) && line.contains(label));
        samples.filter(|line| line.contains("resource=\"cronjobs\"")).count() > 0
    };
    let streamed = of_cronjobs("apiserver_watch_list_duration_seconds_count{", "version=\"v1\"");
    let paged = of_cronjobs("apiserver_request_total{", "verb=\"LIST\"");
    assert_eq!((streamed, paged), (lists == Lists::Streamed, lists == Lists::Paged));
}

/// Checks the output of `kubectl get`.
async fn shows(stage: &Stage) {
    // kubectl caches the discovery for a while.
    let get = ["-n", &stage.space.name, "get", "diagnoses"];
    let found = eventually(SOON, "kubectl knows diagnoses", async || stage.plane.kubectl(&get, None)).await;
    let heads = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let definition = serde_json::to_value(shindan_core::api::crd(DiagnosisKind::Pod)).unwrap();
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    let shown = columns.iter().filter(|column| column["priority"].as_i64().unwrap_or(0) == 0);
    let mut expected = vec!["NAME".to_owned()];
    expected.extend(shown.map(|column| column["name"].as_str().unwrap().to_uppercase()));
    assert_eq!(heads(found.lines().next().unwrap()), expected, "{found}");
    for (n, failure) in FAILURES.iter().enumerate() {
        let row = found.lines().map(heads).find(|row| row[0].contains(&format!("before-{n}"))).unwrap_or_default();
        assert!(row.len() > 4, "before-{n} in:\n{found}");
        assert_eq!((&*row[1], &*row[2], &*row[4]), (failure.cause, failure.container, "Active"), "{found}");
    }
}

/// Makes pods fail, fail in another way, recover and be deleted.
async fn changes(stage: &Stage) {
    stage.make_changes().await;
    stage.space.fail("changes", FAILURES[0]).await;
    stage.settle().await;
    assert_eq!(FAILURES[0].container, FAILURES[5].container);
    stage.space.fail_again("changes", FAILURES[5]).await;
}

/// Checks that an Event is found by field selectors and has the name of its pod.
fn event_is_found(stage: &Stage) {
    let failure = FAILURES[0];
    let selector = format!("involvedObject.name=after-0,reason={},type=Warning", failure.cause);
    let get = ["-n", &stage.space.name, "get", "events", "--field-selector", &selector, "-o", "name"];
    let found = stage.plane.kubectl(&get, None).unwrap();
    let names: Vec<_> = found.lines().collect();
    assert!(matches!(names[..], [one] if one.starts_with("event/after-0.")), "{selector}: {names:?}");
}

/// Restarts the operator as an upgrade does: the new process writes nothing new. It posts pending Events again, because the
/// old process may have stopped between an object and its Event, and gets a conflict for each.
async fn is_restarted(mut stage: Stage, before: &Space) -> Stage {
    stage.operator.stop().await;
    stage.operator = stage.launch.ready().await;
    all_agree(&stage, before).await;
    let (_, metrics) = stage.operator.probe("/metrics").await.unwrap();
    let writes: Vec<_> = metrics.lines().filter(|line| line.starts_with("shindan_writes_total{")).collect();
    let offers = |line: &&str| line.contains("verb=\"post\",code=\"409\"");
    assert!(writes.iter().all(offers), "writes after a restart: {writes:?}");
    stage
}

/// Compacts the changes during a disconnection, so that the operator relists.
async fn has_forgotten(mut stage: Stage, before: &Space) -> Stage {
    let lists = "shindan_lists_total{source=\"pods\"}";
    let earlier = stage.operator.metric(lists).await.unwrap();
    stage.proxy.refuse();
    stage.space.fail_all("unseen").await;
    stage.space.delete("before-2").await;
    stage.space.set_healthy("changes").await;
    stage.plane.compact().await;
    stage.plane.kill_api();
    stage.plane.start_api().await;
    stage.proxy.listen().await;
    all_agree(&stage, before).await;
    let now = stage.operator.metric(lists).await.unwrap();
    assert!(now > earlier, "{earlier} lists, then {now}");
    stage
}

/// Kills the leader; the standby continues.
async fn is_succeeded(mut stage: Stage, before: &Space) -> Stage {
    let standby = stage.launch.ready().await;
    let leads = async |operator: &Operator| operator.metric("shindan_leader").await;
    assert!((leads(&stage.operator).await.unwrap() - leads(&standby).await.unwrap() - 1.0).abs() < f64::EPSILON);
    stage.operator.signal(Signal::KILL);
    stage.operator = standby;
    eventually(SETTLED, "the other replica leads", async || {
        let is = leads(&stage.operator).await?;
        ensure(is > 0.0, || "it is a standby".to_owned())
    })
    .await;
    stage.space.fail_all("under-another").await;
    stage.space.set_healthy("before-3").await;
    all_agree(&stage, before).await;
    stage
}
