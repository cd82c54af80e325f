//! Watch sequences of the network: what is decided, and when.

use std::collections::BTreeSet;

use crate::api::DiagnosisState;
use crate::case::Thresholds;
use crate::facts::route::{NetworkKind, NetworkObject};
use crate::facts::{ObjectKey, Timestamp, after};
use crate::outbox::{Lane, Subject};
use crate::reconcile::{Intent, Policy, Write};
use crate::state::cluster::network::NetworkState;
use crate::state::{Caps, Change, NetworkChange, Source, Touched, World};
use crate::wire::{Dump, EndpointSlice, Service};

fn at(second: i64) -> Timestamp {
    after("2026-11-28T09:00:00Z".parse().unwrap(), second)
}

/// The state of an operator that follows the network, and the newest decisions.
struct Operator {
    world: World,
    /// When each waiting object is due.
    timers: Vec<(Subject, Timestamp)>,
    /// Reasons and notes of the emitted Events.
    events: Vec<(String, String)>,
    /// How many Events were aggregated.
    aggregated: usize,
}

impl Operator {
    /// All lists are complete and empty.
    fn new() -> Self {
        let mut operator = Self::before_its_lists();
        for kind in NetworkKind::ALL {
            operator.listed(kind, &[], 0);
        }
        operator
    }

    fn before_its_lists() -> Self {
        let caps = Caps { per_namespace: usize::MAX, ended_per_failure: usize::MAX };
        let mut world = World::new(Thresholds::default(), Policy::default(), caps);
        world.cluster.follow_network(&[], NetworkKind::ALL.map(|kind| (kind, None)));
        for source in Source::ALL {
            let _ = world.apply(Change::ListStarted(source), at(0));
            let _ = world.apply(Change::ListDone(source), at(0));
        }
        Self { world, timers: Vec::new(), events: Vec::new(), aggregated: 0 }
    }

    fn listed(&mut self, kind: NetworkKind, names: &[&str], second: i64) -> Vec<String> {
        let present: BTreeSet<ObjectKey> = names.iter().map(|name| ObjectKey::new("shop", *name)).collect();
        let touched =
            self.world.apply(Change::Network(NetworkChange::Listed { kind, namespace: None, present }), at(second));
        self.decide(touched, second)
    }

    /// Applies objects as the watches deliver them, and decides.
    fn see(&mut self, yaml: &str, second: i64) -> Vec<String> {
        let mut dump = Dump::default();
        dump.read(yaml);
        assert_eq!(dump.problems, [], "{yaml}");
        let services = dump.services.iter().filter_map(Service::backend).map(NetworkObject::Service);
        let slices = dump.slices.iter().filter_map(EndpointSlice::slice).map(NetworkObject::Slice);
        let claims = dump.claims.iter().map(|claim| NetworkObject::Claim(claim.stored()));
        let objects = dump.network.into_iter().chain(services).chain(slices).chain(claims);
        let changes = objects.map(|object| Change::Network(NetworkChange::Seen(Box::new(object))));
        let changes = changes.chain(dump.pods.into_iter().map(|pod| Change::Pod(Box::new(pod))));
        let changes = changes.chain(dump.workloads.into_iter().map(|of| Change::Workload(Box::new(of))));
        let changes: Vec<Change> = changes.chain(dump.nodes.into_iter().map(|of| Change::Node(Box::new(of)))).collect();
        let touched = changes.into_iter().flat_map(|change| self.world.apply(change, at(second))).collect();
        self.decide(touched, second)
    }

    fn delete(&mut self, kind: NetworkKind, name: &str, second: i64) -> Vec<String> {
        let key = ObjectKey::new("shop", name);
        let touched = self.world.apply(Change::Network(NetworkChange::Deleted(kind, key)), at(second));
        self.decide(touched, second)
    }

    /// Decides on what is due.
    fn wait(&mut self, second: i64) -> Vec<String> {
        let due = self.timers.iter().filter(|(_, due)| *due <= at(second));
        let due = due.map(|(subject, _)| (subject.clone(), Lane::Change)).collect();
        self.decide(due, second)
    }

    /// The written diagnoses: `Ingress/shop IngressBackendMissing`, with the state if it is not Active.
    fn decide(&mut self, touched: Touched, second: i64) -> Vec<String> {
        let mut written = Vec::new();
        let mut left: Vec<Subject> = touched.into_iter().map(|(subject, _)| subject).collect();
        while let Some(subject) = left.pop() {
            let decision = self.world.decide(&subject, at(second));
            self.aggregated += usize::from(decision.aggregated);
            let plan = decision.plan;
            self.timers.retain(|(known, _)| *known != subject);
            self.timers.extend(plan.wake.map(|due| (subject, due)));
            let Some(Intent::Apply(write)) = plan.intent else { continue };
            self.events.extend(write.announcement.iter().map(|event| (event.reason.clone(), event.note.clone())));
            let after = self.world.acknowledged(&write, "u".to_owned(), "1".to_owned(), at(second));
            left.extend(after.into_iter().map(|(subject, _)| subject));
            written.push(shown(&write));
        }
        written.sort();
        written.dedup();
        written
    }
}

fn shown(write: &Write) -> String {
    let head = write.object.head();
    let subject =
        write.object.workload().map_or_else(|| write.key.to_string(), |of| format!("{}/{}", of.kind, of.name));
    match head.state {
        DiagnosisState::Active => format!("{subject} {}", head.cause),
        state => format!("{subject} {} {state:?}", head.cause),
    }
}

const CLASS: &str = "kind: IngressClass\napiVersion: networking.k8s.io/v1\nmetadata: {name: nginx}\n";

fn ingress(name: &str, service: &str) -> String {
    format!(
        r#"
kind: Ingress
apiVersion: networking.k8s.io/v1
metadata: {{name: {name}, namespace: shop, uid: "i-{name}", creationTimestamp: "2026-11-28T08:00:00Z"}}
spec:
  ingressClassName: nginx
  rules: [{{http: {{paths: [{{path: /, backend: {{service: {{name: {service}, port: {{number: 80}}}}}}}}]}}}}]
"#
    )
}

fn service(name: &str, target: &str) -> String {
    format!(
        r#"
kind: Service
apiVersion: v1
metadata: {{name: {name}, namespace: shop, uid: "s-{name}", creationTimestamp: "2026-11-28T08:00:00Z"}}
spec: {{clusterIP: 10.0.0.1, selector: {{app: {name}}}, ports: [{{port: 80, targetPort: {target}}}]}}
"#
    )
}

fn slice(service: &str, ready: bool) -> String {
    format!(
        r"
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {{name: {service}-x, namespace: shop, labels: {{kubernetes.io/service-name: {service}}}}}
endpoints: [{{addresses: [10.1.0.1], conditions: {{ready: {ready}}}, targetRef: {{kind: Pod, name: {service}-0}}}}]
"
    )
}

/// A pod that listens on 8080; a failing one is in CrashLoopBackOff.
fn pod(app: &str, fails: bool) -> String {
    let (ready, state) = if fails {
        (
            "False",
            "ready: false, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error, message: \"panic: no license\", startedAt: \"2026-11-28T08:59:00Z\", finishedAt: \"2026-11-28T08:59:01Z\"}}",
        )
    } else {
        ("True", "ready: true, restartCount: 0, state: {running: {startedAt: \"2026-11-28T08:00:05Z\"}}")
    };
    format!(
        r#"
kind: Pod
apiVersion: v1
metadata: {{name: {app}-0, namespace: shop, uid: "p-{app}", labels: {{app: {app}}}, creationTimestamp: "2026-11-28T08:00:00Z"}}
spec: {{nodeName: n1, containers: [{{name: web, image: "web:1", ports: [{{containerPort: 8080}}]}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: "{ready}", lastTransitionTime: "2026-11-28T08:59:01Z"}}]
  containerStatuses: [{{name: web, image: "web:1", {state}}}]
"#
    )
}

/// A served path: Ingress `shop` to Service `web` with a ready pod.
fn served() -> Operator {
    let mut operator = Operator::new();
    let all = [CLASS, &service("web", "8080"), &slice("web", true), &pod("web", false), &ingress("shop", "web")];
    assert_eq!(operator.see(&all.join("---\n"), 0), [""; 0]);
    operator
}

#[test]
fn an_ingress_is_diagnosed_when_its_service_is_deleted_and_recovers_when_it_is_back() {
    let mut operator = served();
    assert_eq!(operator.delete(NetworkKind::Service, "web", 100), [""; 0], "it may be replaced");
    assert_eq!(operator.wait(119), [""; 0]);
    assert_eq!(operator.wait(120), ["Ingress/shop IngressBackendMissing"]);
    assert_eq!(operator.see(&service("web", "8080"), 130), ["Ingress/shop IngressBackendMissing Recovered"]);
}

#[test]
fn a_failing_pod_breaks_the_path_with_its_cause() {
    let mut operator = served();
    let failed = operator.see(&[slice("web", false), pod("web", true)].join("---\n"), 100);
    assert!(failed.iter().all(|of| !of.starts_with("Ingress")), "{failed:?}");
    assert_eq!(operator.wait(120), ["Ingress/shop EndpointsNotReady"]);
    let served = operator.see(&[slice("web", true), pod("web", false)].join("---\n"), 200);
    assert!(served.contains(&"Ingress/shop EndpointsNotReady Recovered".to_owned()), "{served:?}");
}

#[test]
fn many_ingresses_of_a_namespace_with_one_cause_have_few_events() {
    const LIMIT: &str = "Further Ingresses, routes and similar objects of this namespace with this cause have no Event for up to 10 minutes";
    let mut operator = Operator::new();
    let all: Vec<String> = (0..50).map(|n| ingress(&format!("i{n}"), "web")).collect();
    operator.see(&all.join("---\n"), 0);
    assert_eq!(operator.wait(20).len(), 50, "each has its diagnosis");
    let reasons: Vec<&str> = operator.events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["IngressClassMissing"; 5]);
    let states_the_limit: Vec<bool> = operator.events.iter().map(|(_, note)| note.ends_with(LIMIT)).collect();
    assert_eq!(states_the_limit, [false, false, false, false, true]);
    assert_eq!(operator.aggregated, 45);
    // The class is there now, and the Service is not: another cause, of one root.
    operator.see(CLASS, 100);
    operator.wait(120);
    let of_service = operator.events.iter().filter(|(reason, _)| reason == "IngressBackendMissing");
    assert_eq!(of_service.count(), 1, "{:?}", operator.events);
    operator.see(&[service("web", "8080"), slice("web", true), pod("web", false)].join("---\n"), 200);
    let recovered = operator.events.iter().filter(|(reason, _)| reason == "Recovered");
    assert_eq!(recovered.count(), 6, "of the five with an Event about the class, and of the one about the Service");
}

#[test]
fn starting_pods_do_not_break_the_path() {
    let mut operator = served();
    let starting = pod("web", false).replace("\"True\"", "\"False\"").replace("ready: true", "ready: false");
    assert_eq!(operator.see(&[slice("web", false), starting].join("---\n"), 100), [""; 0]);
    assert_eq!(operator.wait(400), [""; 0]);
}

#[test]
fn a_service_is_reported_by_the_ingress_that_leads_to_it() {
    let mut operator = served();
    assert_eq!(operator.see(&service("web", "9090"), 100), [""; 0]);
    assert_eq!(operator.wait(120), ["Ingress/shop TargetPortMissing"]);
    // Without the Ingress, the Service is reported itself.
    assert_eq!(operator.delete(NetworkKind::Ingress, "shop", 130), ["Ingress/shop TargetPortMissing Gone"]);
    assert_eq!(operator.wait(150), ["Service/web TargetPortMissing"]);
}

#[test]
fn nothing_is_decided_before_all_lists() {
    let mut operator = Operator::before_its_lists();
    assert_eq!(operator.see(&ingress("shop", "web"), 0), [""; 0]);
    for kind in NetworkKind::ALL.into_iter().filter(|kind| *kind != NetworkKind::Service) {
        let names: &[&str] = if kind == NetworkKind::Ingress { &["shop"] } else { &[] };
        assert_eq!(operator.listed(kind, names, 0), [""; 0]);
        assert_eq!(operator.wait(60), [""; 0], "{kind:?}");
    }
    operator.see(CLASS, 60);
    assert_eq!(operator.listed(NetworkKind::Service, &[], 60), [""; 0]);
    assert_eq!(operator.wait(80), ["Ingress/shop IngressBackendMissing"]);
}

#[test]
fn objects_of_a_kind_that_cannot_be_listed_are_not_missing() {
    let mut operator = Operator::before_its_lists();
    for kind in NetworkKind::ALL.into_iter().filter(|kind| *kind != NetworkKind::Service) {
        operator.listed(kind, &[], 0);
    }
    let kind = NetworkKind::Service;
    let unavailable = Change::Network(NetworkChange::Unavailable { kind, namespace: None });
    let _ = operator.world.apply(unavailable, at(0));
    operator.see(&format!("{CLASS}---\n{}", ingress("shop", "web")), 0);
    assert_eq!(operator.wait(600), [""; 0]);
}

#[test]
fn an_object_that_a_new_list_lacks_is_gone() {
    let mut operator = served();
    operator.see(&ingress("other", "wbe"), 100);
    assert_eq!(operator.wait(120), ["Ingress/other IngressBackendMissing"]);
    assert_eq!(operator.listed(NetworkKind::Ingress, &["shop"], 130), ["Ingress/other IngressBackendMissing Gone"]);
}

#[test]
fn a_budget_blocks_the_drain_of_a_node() {
    let mut operator = served();
    let budget = r#"
kind: PodDisruptionBudget
apiVersion: policy/v1
metadata: {name: web, namespace: shop, uid: b1, generation: 1, creationTimestamp: "2026-11-28T08:00:00Z"}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
status: {observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0}
"#;
    assert_eq!(operator.see(budget, 100), [""; 0]);
    assert_eq!(operator.wait(600), [""; 0], "one replica is intended");
    let node = "kind: Node\napiVersion: v1\nmetadata: {name: n1}\nspec: {unschedulable: true}\n";
    operator.see(node, 700);
    assert_eq!(operator.wait(1000), ["PodDisruptionBudget/web PdbBlocksEviction"]);
}

#[test]
fn an_unchanged_pod_affects_nothing() {
    let mut operator = served();
    let mut dump = Dump::default();
    dump.read(&pod("web", false));
    let touched = operator.world.apply(Change::Pod(Box::new(dump.pods.remove(0))), at(50));
    assert_eq!(touched, []);
    let kept = |operator: &Operator| operator.world.kept().into_iter().find(|(name, _)| *name == "network");
    let before = kept(&operator);
    for _ in 0..3 {
        operator.see(
            &[service("web", "8080"), slice("web", true), pod("web", false), ingress("shop", "web")].join("---\n"),
            60,
        );
    }
    assert_eq!(kept(&operator), before);
}

#[test]
fn nothing_is_kept_if_the_network_is_not_followed() {
    let caps = Caps { per_namespace: usize::MAX, ended_per_failure: usize::MAX };
    let mut world = World::new(Thresholds::default(), Policy::default(), caps);
    let mut dump = Dump::default();
    dump.read(&pod("web", false));
    let _ = world.apply(Change::Pod(Box::new(dump.pods.remove(0))), at(0));
    let kept = world.kept().into_iter().find(|(name, _)| *name == "network");
    assert_eq!(kept, Some(("network", 0)));
}

#[test]
fn diagnoses_end_if_the_network_is_no_longer_followed() {
    let mut operator = Operator::new();
    operator.see(&[CLASS, &ingress("shop", "web")].join("---\n"), 0);
    assert_eq!(operator.wait(20), ["Ingress/shop IngressBackendMissing"]);
    operator.world.cluster.network = NetworkState::default();
    let key = NetworkKind::Ingress.workload(&ObjectKey::new("shop", "shop"));
    let touched = vec![(Subject::Workload(key), Lane::Resync)];
    assert_eq!(operator.decide(touched, 60), ["Ingress/shop IngressBackendMissing Gone"]);
}

#[test]
fn a_claim_is_unused_an_hour_after_its_last_pod() {
    let mut operator = Operator::new();
    let claim = r#"
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: data, namespace: shop, uid: c1, creationTimestamp: "2026-11-01T08:00:00Z"}
spec: {volumeName: pv-1, resources: {requests: {storage: 10Gi}}}
status: {phase: Bound}
"#;
    let uses =
        pod("web", false).replace("spec: {", "spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], ");
    operator.see(&uses, 0);
    operator.see(claim, 0);
    assert_eq!(operator.wait(7200), [""; 0]);
    let mut dump = Dump::default();
    dump.read(&uses);
    let deleted = Change::PodDeleted(Box::new(dump.pods.remove(0)));
    let touched = operator.world.apply(deleted, at(7200));
    assert_eq!(operator.decide(touched, 7200), [""; 0], "it may be replaced");
    assert_eq!(operator.wait(10_800), ["PersistentVolumeClaim/data ClaimUnused"]);
    assert_eq!(operator.see(&uses, 10_900), ["PersistentVolumeClaim/data ClaimUnused Recovered"]);
}
