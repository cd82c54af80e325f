//! Permissions that are revoked while the operator runs: it continues without them and reports the missing ones.

use http::StatusCode;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, PostParams};

use crate::invariants::diagnoses;
use crate::operator::SOON;
use crate::pods::FAILURES;
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

const ROLE: &str = "shindan";

/// A permission to revoke: the resource, the verbs, and the part of the operator that needs it.
struct Withdrawn {
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    part: &'static str,
}

const fn withdrawn(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    part: &'static str,
) -> Withdrawn {
    Withdrawn { group, resource, verbs, part }
}

/// The operator works without these, with fewer details.
const POORER: [Withdrawn; 8] = [
    withdrawn("", "nodes", &["list", "watch"], "nodes"),
    withdrawn("", "events", &["list", "watch"], "events"),
    withdrawn("", "services", &["watch"], "services"),
    withdrawn("apps", "deployments", &["get", "list", "watch"], "deployments"),
    withdrawn("batch", "jobs", &["list", "watch"], "jobs"),
    withdrawn("shindan.dev", "nodediagnoses", &["list", "watch"], "nodediagnoses"),
    withdrawn("shindan.dev", "workloaddiagnoses", &["list", "watch"], "workloaddiagnoses"),
    withdrawn("events.k8s.io", "events", &["create"], "post_events"),
];

/// The operator cannot diagnose or write without these.
const PODS: Withdrawn = withdrawn("", "pods", &["list", "watch"], "pods");
const OWN: Withdrawn = withdrawn("shindan.dev", "poddiagnoses", &["list", "watch"], "poddiagnoses");
const WRITES: Withdrawn = withdrawn("shindan.dev", "poddiagnoses", &["create", "patch"], "write_poddiagnoses");

impl Withdrawn {
    /// Removes the permission from the role.
    async fn withdraw(&self, stage: &Stage) {
        let roles = Api::<ClusterRole>::all(stage.space.client.clone());
        let mut role = roles.get(ROLE).await.unwrap();
        let mut rules = Vec::new();
        for rule in role.rules.take().unwrap_or_default() {
            let of_group = rule.api_groups.iter().flatten().any(|group| group == self.group);
            let (these, others): (Vec<_>, Vec<_>) =
                rule.resources.clone().unwrap_or_default().into_iter().partition(|r| of_group && r == self.resource);
            let mut rest = rule.clone();
            rest.resources = Some(others).filter(|others| !others.is_empty());
            rules.extend(rest.resources.is_some().then_some(rest));
            if !these.is_empty() {
                let mut poorer = rule;
                poorer.resources = Some(these);
                poorer.verbs.retain(|verb| !self.verbs.contains(&verb.as_str()));
                rules.extend((!poorer.verbs.is_empty()).then_some(poorer));
            }
        }
        role.rules = Some(rules);
        roles.replace(ROLE, &PostParams::default(), &role).await.unwrap();
        // An open watch is authorized again only when it is renewed: after 90 s, or 290 s for Events.
        stage.proxy.cut();
    }

    fn give_back(stage: &Stage) {
        stage.plane.install(|kind| kind == "ClusterRole");
    }

    async fn is_missing(&self, stage: &Stage, status: StatusCode) {
        let name = format!("{}: ", self.part);
        stage.operator.await_probe("/readyz", status, &[&name, self.resource], SOON).await;
        stage.operator.await_probe("/healthz", StatusCode::OK, &["ok"], SOON).await;
        self.is_counted(stage, 1.0).await;
    }

    async fn is_there(&self, stage: &Stage) {
        eventually(SOON * 2, format!("{} is there again", self.part), async || {
            let (status, text) = stage.operator.probe("/readyz").await?;
            ensure(status == StatusCode::OK && text == "ok\n", || text)
        })
        .await;
        self.is_counted(stage, 0.0).await;
    }

    async fn is_counted(&self, stage: &Stage, count: f64) {
        let gauge = format!("shindan_part_missing{{part=\"{}\"}}", self.part);
        let counted = stage.operator.metric(&gauge).await.unwrap();
        assert!((counted - count).abs() < f64::EPSILON, "{gauge} is {counted}");
    }
}

#[tokio::test]
async fn the_operator_works_without_each_of_its_permissions() {
    let stage = Stage::alone("rights").await;
    for (n, right) in POORER.iter().enumerate() {
        right.withdraw(&stage).await;
        let pod = format!("without-{n}");
        stage.space.fail(&pod, FAILURES[n % FAILURES.len()]).await;
        eventually(SOON, format!("{pod} is diagnosed without {}", right.part), async || {
            let found = diagnoses(&stage.space).await?;
            ensure(found.iter().any(|d| d.spec.pod_name == pod), || format!("{} others", found.len()))
        })
        .await;
        right.is_missing(&stage, StatusCode::OK).await;
        Withdrawn::give_back(&stage);
        if right.part == "post_events" {
            // The next Event shows that the permission is back.
            stage.space.fail("reported-again", FAILURES[0]).await;
        }
        right.is_there(&stage).await;
    }
    stage.change_and_verify().await;
}

#[tokio::test]
async fn without_access_to_diagnoses_it_waits_and_reports_it() {
    let stage = Stage::alone("own-rights").await;
    for right in [PODS, OWN] {
        right.withdraw(&stage).await;
        right.is_missing(&stage, StatusCode::SERVICE_UNAVAILABLE).await;
        Withdrawn::give_back(&stage);
        right.is_there(&stage).await;
    }
    WRITES.withdraw(&stage).await;
    stage.make_changes().await;
    WRITES.is_missing(&stage, StatusCode::OK).await;
    Withdrawn::give_back(&stage);
    stage.settle().await;
    WRITES.is_there(&stage).await;
    stage.verify().await;
}
