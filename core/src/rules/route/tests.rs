//! Tests of the walk on dumps: each hop is broken once, and healthy paths are silent.

use crate::api::Severity;
use crate::case::Thresholds;
use crate::facts::Timestamp;
use crate::offline;
use crate::reconcile::Write;
use crate::wire::Dump;

const AT: &str = "2026-11-28T10:00:00Z";

/// An Ingress and an HTTPRoute to Service `web`, whose pod is ready.
const SHOP: &str = r#"
kind: IngressClass
apiVersion: networking.k8s.io/v1
metadata: {name: nginx}
---
kind: Ingress
apiVersion: networking.k8s.io/v1
metadata: {name: shop, namespace: shop, uid: i1, creationTimestamp: "2026-11-28T09:00:00Z"}
spec:
  ingressClassName: nginx
  tls: [{secretName: shop-tls}]
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /api, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
---
kind: GatewayClass
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: envoy, generation: 1}
status: {conditions: [{type: Accepted, status: "True", reason: Accepted, observedGeneration: 1}]}
---
kind: Gateway
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: edge, namespace: shop, uid: g1, generation: 1, creationTimestamp: "2026-11-28T09:00:00Z"}
spec:
  gatewayClassName: envoy
  listeners: [{name: https, port: 443, hostname: "*.example.com", tls: {certificateRefs: [{name: edge-tls}]}}]
status:
  conditions:
  - {type: Accepted, status: "True", reason: Accepted, observedGeneration: 1}
  - {type: Programmed, status: "True", reason: Programmed, observedGeneration: 1}
  listeners:
  - name: https
    conditions:
    - {type: Conflicted, status: "False", reason: NoConflicts, observedGeneration: 1}
    - {type: ResolvedRefs, status: "True", reason: ResolvedRefs, observedGeneration: 1}
---
kind: HTTPRoute
apiVersion: gateway.networking.k8s.io/v1
metadata: {name: front, namespace: shop, uid: r1, generation: 1, creationTimestamp: "2026-11-28T09:00:00Z"}
spec:
  hostnames: [front.example.com]
  parentRefs: [{name: edge, sectionName: https}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}, method: GET}]
    backendRefs: [{name: web, port: 80}]
status:
  parents:
  - parentRef: {name: edge, sectionName: https}
    conditions:
    - {type: Accepted, status: "True", reason: Accepted, observedGeneration: 1}
    - {type: ResolvedRefs, status: "True", reason: ResolvedRefs, observedGeneration: 1}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop, uid: s1, creationTimestamp: "2026-11-28T09:00:00Z"}
spec: {selector: {app: web, tier: front}, ports: [{name: http, port: 80, targetPort: http}]}
---
kind: EndpointSlice
apiVersion: discovery.k8s.io/v1
metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: web-0}}]
ports: [{name: http, port: 8080}]
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: shop, uid: d1, generation: 1, creationTimestamp: "2026-11-28T09:00:00Z"}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec: {containers: [{name: web, image: "web:1", ports: [{name: http, containerPort: 8080}]}]}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}
---
kind: Pod
apiVersion: v1
metadata: {name: web-0, namespace: shop, uid: p1, creationTimestamp: "2026-11-28T09:00:00Z", labels: {app: web, tier: front}}
spec: {nodeName: n1, containers: [{name: web, image: "web:1", ports: [{name: http, containerPort: 8080}]}]}
status:
  phase: Running
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-28T09:00:10Z"}]
  containerStatuses: [{name: web, ready: true, started: true, state: {running: {startedAt: "2026-11-28T09:00:05Z"}}}]
"#;

fn writes(text: &str) -> Vec<Write> {
    writes_with(text, Thresholds::default().for_snapshot())
}

fn writes_with(text: &str, thresholds: Thresholds) -> Vec<Write> {
    let mut dump = Dump::default();
    dump.read(text);
    assert_eq!(dump.problems, [], "{text}");
    let now: Timestamp = AT.parse().unwrap();
    offline::diagnose(dump, offline::Logs::default(), now, thresholds).nodes_and_workloads
}

/// Object, cause and summary of each diagnosis.
fn found(text: &str) -> Vec<(String, String, String)> {
    let of = |write: &Write| {
        let head = write.object.head();
        (write.key.to_string(), head.cause.clone(), head.summary.clone())
    };
    writes(text).iter().map(of).collect()
}

/// The dump with some texts replaced. Each must occur.
fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(SHOP.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// The diagnoses of Ingresses, Gateways, routes and Services: cause, and first command.
fn broken(changes: &[(&str, &str)]) -> Vec<(String, String, String)> {
    let all = writes(&with(changes));
    let is_of_route = |write: &&Write| write.object.head().category == "Network";
    all.iter()
        .filter(is_of_route)
        .map(|write| {
            let head = write.object.head();
            let command = head.remedies.iter().find_map(|remedy| remedy.command.clone()).unwrap_or_default();
            (head.cause.clone(), head.summary.clone(), command)
        })
        .collect()
}

const NO_ROUTE: (&str, &str) = ("kind: HTTPRoute\n", "kind: Ignored\n");
const NO_INGRESS: (&str, &str) = ("kind: Ingress\n", "kind: Ignored\n");

#[test]
fn healthy_paths_are_silent() {
    assert_eq!(found(SHOP), []);
    let tcp = "ports: [{name: http, containerPort: 8080}]";
    for changes in [
        // ExternalName.
        vec![("selector: {app: web, tier: front}, ", "type: ExternalName, externalName: example.org, ")],
        // Endpoints that a user creates.
        vec![("selector: {app: web, tier: front}, ", "")],
        // A class by the annotation only, and no class with a default.
        vec![
            ("  ingressClassName: nginx\n", ""),
            ("metadata: {name: shop, ", "metadata: {annotations: {kubernetes.io/ingress.class: other}, name: shop, "),
        ],
        vec![("  ingressClassName: nginx\n", ""), ("status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}\n", "")],
        // A resource backend, and a wildcard host.
        vec![("service: {name: web, port: {number: 80}}", "resource: {kind: Bucket, name: b}")],
        vec![("host: shop.example.com", "host: '*.example.com'")],
        // A port by its name, and a container that declares no port.
        vec![("port: {number: 80}", "port: {name: http}")],
        vec![("targetPort: http", "targetPort: 3000"), (tcp, "ports: []")],
        // A port for metrics only.
        vec![("targetPort: http", "targetPort: 3000"), (tcp, "ports: [{name: http-metrics, containerPort: 9090}]")],
        // A backend without weight, another kind of backend, and a controller without status.
        vec![("{name: web, port: 80}]", "{name: old, port: 80, weight: 0}, {name: web, port: 80}]")],
        vec![("backendRefs: [{name: web, port: 80}]", "backendRefs: [{kind: ServiceImport, group: x, name: far}]")],
        vec![("observedGeneration: 1}", "observedGeneration: 0}"), ("reason: Accepted", "reason: Odd")],
        // Conditions about an older generation.
        vec![
            ("generation: 1}", "generation: 2}"),
            ("generation: 1, creation", "generation: 2, creation"),
            ("Accepted, status: \"True\"", "Accepted, status: \"False\""),
        ],
        // Kinds that were not listed.
        vec![("kind: IngressClass", "kind: Ignored"), ("kind: GatewayClass", "kind: Ignored")],
        vec![("kind: Service\n", "kind: Ignored\n")],
        vec![("kind: Gateway\n", "kind: Ignored\n")],
        // A workload that is scaled to 0.
        vec![
            ("replicas: 1\n", "replicas: 0\n"),
            ("kind: Pod\n", "kind: Ignored\n"),
            ("endpoints: [{", "endpoints: []\nold: [{"),
        ],
    ] {
        assert_eq!(found(&with(&changes)), [], "{changes:?}");
    }
}

fn assert_broken(changes: &[(&str, &str)], expected: (&str, &str, &str)) {
    let all = broken(changes);
    assert_eq!(all.len(), 1, "{changes:?}: {all:#?}");
    let (cause, summary, command) = &all[0];
    let (name, line, part) = expected;
    assert_eq!((cause.as_str(), summary.as_str()), (name, line));
    assert!(command.contains(part), "{cause}: {command}");
    assert!(summary.chars().count() <= 200, "{summary}");
}

#[test]
fn each_hop_of_an_ingress_is_named() {
    assert_broken(
        &[("ingressClassName: nginx", "ingressClassName: ngnix")],
        (
            "IngressClassMissing",
            "Ingress shop: its IngressClass ngnix does not exist, so no controller serves it; IngressClass nginx exists",
            r#"kubectl -n shop patch ingress/shop --type=json -p '[{"op":"add","path":"/spec/ingressClassName","value":"nginx"}]'"#,
        ),
    );
    let other = broken(&[("ingressClassName: nginx", "ingressClassName: internal")]);
    assert!(other[0].1.ends_with("those that exist: nginx"), "{other:#?}");
    assert_eq!(other[0].2, "kubectl get ingressclass", "another class is another controller");
    assert_broken(
        &[NO_ROUTE, ("service: {name: web,", "service: {name: wbe,")],
        (
            "IngressBackendMissing",
            "Ingress shop: shop.example.com/api leads to Service wbe, which does not exist; Service web does",
            r#"[{"op":"test","path":"/spec/rules/0/http/paths/0/backend/service/name","value":"wbe"},{"op":"replace","path":"/spec/rules/0/http/paths/0/backend/service/name","value":"web"}]"#,
        ),
    );
    assert_broken(
        &[NO_ROUTE, ("port: {number: 80}", "port: {number: 8080}")],
        (
            "ServicePortMissing",
            "Ingress shop: shop.example.com/api leads to port 8080 of Service web, which it does not have: it has 80 (http)",
            r#"{"op":"replace","path":"/spec/rules/0/http/paths/0/backend/service/port","value":{"number":80}}"#,
        ),
    );
    assert_broken(
        &[NO_ROUTE, ("port: {number: 80}", "port: {name: htpp}")],
        (
            "ServicePortMissing",
            "Ingress shop: shop.example.com/api leads to port htpp of Service web, which it does not have: it has 80 (http)",
            r#""value":{"name":"http"}}"#,
        ),
    );
    let none = ("endpoints: [{", "endpoints: []\nold: [{");
    assert_broken(
        &[NO_ROUTE, none, ("selector: {app: web, tier: front}", "selector: {app: web, tier: frnt}")],
        (
            "BackendSelectsNothing",
            "Ingress shop: shop.example.com/api leads to Service web, which selects tier=frnt, but the pods of Deployment web have tier=front",
            r#"kubectl -n shop patch service web -p '{"spec":{"selector":{"tier":"front"}}}'"#,
        ),
    );
    assert_broken(
        &[NO_ROUTE, ("targetPort: http", "targetPort: htpp")],
        (
            "TargetPortMissing",
            "Ingress shop: port 80 of Service web leads to targetPort htpp, which no container has: the pods have 8080 (http)",
            r#"[{"op":"test","path":"/spec/ports/0/port","value":80},{"op":"add","path":"/spec/ports/0/targetPort","value":"http"}]"#,
        ),
    );
    assert_broken(
        &[NO_ROUTE, ("port: 80, targetPort: http", "port: 80")],
        (
            "TargetPortMissing",
            "Ingress shop: port 80 of Service web leads to targetPort 80, which no container has: the pods have 8080 (http)",
            r#""value":8080}"#,
        ),
    );
    let event = "endpoints: [{";
    let missing = "kind: Ignored\n---\nkind: Event\napiVersion: v1\nmetadata: {name: e, namespace: shop}\ntype: Warning\nreason: Sync\nmessage: 'secret \"shop-tls\" not found'\ninvolvedObject: {kind: Ingress, apiVersion: networking.k8s.io/v1, name: shop, namespace: shop, uid: i1}\nlastTimestamp: \"2026-11-28T09:50:00Z\"\nfirstTimestamp: \"2026-11-28T09:10:00Z\"\n---\nkind: EndpointSlice\n";
    assert_broken(
        &[NO_ROUTE, ("kind: EndpointSlice\n", missing), (event, event)],
        (
            "RouteTlsSecretMissing",
            "Ingress shop: TLS Secret shop-tls is missing, reports its controller (Sync): secret \"shop-tls\" not found",
            "",
        ),
    );
}

#[test]
fn endpoints_that_are_not_ready_name_the_cause_of_a_pod() {
    let changes = [
        NO_ROUTE,
        ("conditions: {ready: true}", "conditions: {ready: false}"),
        ("type: Ready, status: \"True\", last", "type: Ready, status: \"False\", last"),
        (
            "ready: true, started: true, state: {running: {startedAt: \"2026-11-28T09:00:05Z\"}}",
            "ready: false, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"web:1\": ErrImagePull: manifest unknown'}}",
        ),
        ("phase: Running", "phase: Pending"),
    ];
    let all = broken(&changes);
    let (cause, summary, command) = &all[0];
    assert_eq!(cause, "EndpointsNotReady", "{all:#?}");
    assert_eq!(
        summary,
        "Ingress shop: shop.example.com/api leads to Service web, which has no ready endpoint: pod web-0 has ImageTagNotFound"
    );
    assert_eq!(command, "kubectl -n shop describe pod web-0");
}

#[test]
fn each_hop_of_a_gateway_is_named() {
    assert_broken(
        &[("gatewayClassName: envoy", "gatewayClassName: evnoy")],
        (
            "GatewayClassMissing",
            "Gateway edge: its GatewayClass evnoy does not exist, so no controller serves it; GatewayClass envoy exists",
            "/spec/gatewayClassName",
        ),
    );
    let programmed = "{type: Programmed, status: \"True\", reason: Programmed, observedGeneration: 1}";
    assert_broken(
        &[(
            programmed,
            "{type: Programmed, status: \"False\", reason: AddressNotAssigned, message: no load balancer, observedGeneration: 1}",
        )],
        (
            "GatewayNotAccepted",
            "Gateway edge is not served by its controller (AddressNotAssigned): no load balancer",
            "kubectl -n shop edit gateway edge",
        ),
    );
    let conflicted = "{type: Conflicted, status: \"False\", reason: NoConflicts,";
    assert_broken(
        &[(conflicted, "{type: Conflicted, status: \"True\", reason: HostnameConflict,")],
        (
            "GatewayListenerConflict",
            "Gateway edge: listener https (port 443) conflicts with another listener (HostnameConflict)",
            "edit gateway edge",
        ),
    );
    let resolved = "    - {type: ResolvedRefs, status: \"True\", reason: ResolvedRefs, observedGeneration: 1}\n---\nkind: HTTPRoute";
    let unresolved = |reason: &str| {
        format!(
            "    - {{type: ResolvedRefs, status: \"False\", reason: {reason}, observedGeneration: 1}}\n---\nkind: HTTPRoute"
        )
    };
    assert_broken(
        &[(resolved, &unresolved("InvalidCertificateRef"))],
        (
            "RouteTlsSecretMissing",
            "Gateway edge: listener https has no valid certificate, Secret edge-tls (InvalidCertificateRef)",
            "",
        ),
    );
    assert_broken(
        &[(resolved, &unresolved("RefNotPermitted")), ("[{name: edge-tls}]", "[{name: edge-tls, namespace: certs}]")],
        (
            "ReferenceGrantMissing",
            "Gateway edge: listener https may not use Secret certs/edge-tls: no ReferenceGrant in namespace certs allows it",
            "",
        ),
    );
}

#[test]
fn each_hop_of_a_route_is_named() {
    assert_broken(
        &[("parentRefs: [{name: edge, sectionName: https}]", "parentRefs: [{name: egde}]")],
        (
            "GatewayMissing",
            "HTTPRoute front: front.example.com is attached to Gateway egde, which does not exist; Gateway edge exists",
            "kubectl -n shop edit HTTPRoute front",
        ),
    );
    let accepted = "    - {type: Accepted, status: \"True\", reason: Accepted, observedGeneration: 1}\n";
    assert_broken(
        &[(
            accepted,
            "    - {type: Accepted, status: \"False\", reason: NoMatchingListenerHostname, message: no listener, observedGeneration: 1}\n",
        )],
        (
            "RouteNotAccepted",
            "HTTPRoute front: front.example.com is not accepted by Gateway edge (NoMatchingListenerHostname): no listener",
            "edit HTTPRoute front",
        ),
    );
    assert_broken(
        &[NO_INGRESS, ("{name: web, port: 80}", "{name: wbe, port: 80}")],
        (
            "RouteBackendMissing",
            "HTTPRoute front: front.example.com/ leads to Service wbe, which does not exist; Service web does",
            r#"{"op":"replace","path":"/spec/rules/0/backendRefs/0/name","value":"web"}"#,
        ),
    );
    assert_broken(
        &[NO_INGRESS, ("{name: web, port: 80}", "{name: web, port: 8080}")],
        (
            "ServicePortMissing",
            "HTTPRoute front: front.example.com/ leads to port 8080 of Service web, which it does not have: it has 80 (http)",
            r#"{"op":"replace","path":"/spec/rules/0/backendRefs/0/port","value":80}"#,
        ),
    );
    let resolved =
        "    - {type: ResolvedRefs, status: \"True\", reason: ResolvedRefs, observedGeneration: 1}\n---\nkind: Service";
    let refused = "    - {type: ResolvedRefs, status: \"False\", reason: RefNotPermitted, observedGeneration: 1}\n---\nkind: Service";
    assert_broken(
        &[NO_INGRESS, ("{name: web, port: 80}", "{name: web, namespace: other, port: 80}"), (resolved, refused)],
        (
            "ReferenceGrantMissing",
            "HTTPRoute front: front.example.com/ may not use Service other/web: no ReferenceGrant in namespace other allows it",
            "",
        ),
    );
}

#[test]
fn a_service_without_a_route_is_judged_by_its_target_port_only() {
    let changes = [NO_ROUTE, NO_INGRESS, ("targetPort: http", "targetPort: 80")];
    assert_broken(
        &changes,
        (
            "TargetPortMissing",
            "Service web: port 80 leads to targetPort 80, which no container has: the pods have 8080 (http)",
            r#""value":8080}"#,
        ),
    );
}

#[test]
fn severity_depends_on_the_other_paths() {
    let two = (
        "      - {path: /api",
        "      - {path: /, backend: {service: {name: web, port: {number: 80}}}}\n      - {path: /api",
    );
    let severity = |changes: &[(&str, &str)]| writes(&with(changes))[0].object.head().severity;
    let missing = (
        "/api, pathType: Prefix, backend: {service: {name: web",
        "/api, pathType: Prefix, backend: {service: {name: wbe",
    );
    assert_eq!(severity(&[NO_ROUTE, missing]), Severity::Critical);
    assert_eq!(severity(&[NO_ROUTE, missing, two]), Severity::Warning);
}
