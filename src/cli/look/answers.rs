//! Answers about objects with a fake API server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shindan_core::case::Thresholds;
use shindan_core::rules::catalog::{self, Catalog};
use shindan_core::user_rules;

use super::gather::{Gathered, Question, resolve};
use super::testing;

type Lists = Vec<(&'static str, Value)>;

/// The answer about one object of namespace shop.
async fn answer(lists: &[(&'static str, Value)], subject: &str, at: &str, here: bool) -> Gathered {
    let clients = testing::clients(lists, &[]);
    let limit = Duration::from_secs(5);
    let (asked, _) = resolve(&[subject.to_owned()], &clients, limit).await.unwrap();
    let thresholds = Thresholds::default().for_snapshot();
    let question = Question::new(&clients, Some("shop".to_owned()), asked, thresholds, limit).await.unwrap();
    let question = Question { gone: Vec::new(), here, ..question };
    question.answer(at.parse().unwrap()).await.unwrap()
}

/// The causes with their objects.
fn causes(answer: &Gathered) -> Vec<String> {
    let of = answer.found.nodes_and_workloads.iter();
    of.map(|of| format!("{} {}", of.key.object.name, of.object.head().cause)).collect()
}

/// The kind PrintJob, and the jammed job poster, whose status has no condition.
fn print_jobs() -> Lists {
    let resource = json!({"resource": "printjobs", "singularResource": "printjob", "responseKind": {"kind": "PrintJob"},
        "scope": "Namespaced", "shortNames": ["pj"], "verbs": ["list"]});
    let apis = json!([{"metadata": {"name": "print.hoshi.example"}, "versions": [{"version": "v1", "resources": [resource]}]}]);
    let poster = json!({"metadata": {"namespace": "shop", "name": "poster", "uid": "p",
        "creationTimestamp": "2026-11-21T08:00:00Z"},
        "spec": {"printer": "hp-3"}, "status": {"errors": [{"code": "JAM"}]}});
    vec![("apis", apis), ("printjobs", json!([poster]))]
}

#[test]
fn rules_read_the_fields_of_live_objects() {
    let rule = json!({"causes": [{
        "cause": "hoshi.example/PaperJam", "category": "Lifecycle", "signal": "object", "severity": "Critical",
        "match": {"kinds": ["printjobs.print.hoshi.example"],
            "when": "resource.status.errors.exists(e, e.code == \"JAM\")"},
        "summary": "{object.display} is stuck in {resource.spec.printer}",
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [{"text": "Remove the paper."}],
    }], "tests": [{"name": "jammed", "at": "2026-11-21T09:00:00Z", "expect": "hoshi.example/PaperJam", "objects": [{
        "apiVersion": "print.hoshi.example/v1", "kind": "PrintJob",
        "metadata": {"name": "a", "namespace": "b", "uid": "c", "creationTimestamp": "2026-11-21T08:00:00Z"},
        "spec": {"printer": "hp-3"}, "status": {"errors": [{"code": "JAM"}]}}]}]});
    let checked = user_rules::check(&rule);
    assert!(checked.is_active(), "{checked:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = catalog::within(Arc::new(Catalog::with(checked.additions)), || {
        runtime.block_on(answer(&print_jobs(), "pj/poster", "2026-11-21T09:00:00Z", true))
    });
    assert_eq!(causes(&answer), ["printjob.print.hoshi.example-poster hoshi.example/PaperJam"]);
    assert!(answer.found.nodes_and_workloads[0].object.head().summary.ends_with("is stuck in hp-3"));
}
