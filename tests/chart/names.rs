//! Names and labels of the objects, and several releases in one cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{CHART, Objects, container, helm, objects, pod, refused, rendered, succeeded};

/// The labels of all objects of the release `shindan`, besides `app.kubernetes.io/name`.
const LABELS: [(&str, &str); 6] = [
    ("app.kubernetes.io/instance", "shindan"),
    ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
    ("app.kubernetes.io/component", "operator"),
    ("app.kubernetes.io/part-of", "shindan"),
    ("app.kubernetes.io/managed-by", "Helm"),
    ("helm.sh/chart", concat!("shindan-", env!("CARGO_PKG_VERSION"))),
];

/// The labels of an object and of its pods. CRDs are no templates, so they have none.
fn labels(object: &mut Value) -> Vec<&mut serde_json::Map<String, Value>> {
    let is_definition = object["kind"] == "CustomResourceDefinition";
    let is_deployment = object["kind"] == "Deployment";
    let Value::Object(fields) = object else { return Vec::new() };
    let mut found = Vec::new();
    for (name, field) in fields.iter_mut() {
        match name.as_str() {
            "metadata" if !is_definition => found.extend(field["labels"].as_object_mut()),
            "spec" if is_deployment => found.extend(field["template"]["metadata"]["labels"].as_object_mut()),
            _ => {}
        }
    }
    found
}

/// The objects without the labels that only the chart has.
pub(crate) fn unlabelled(mut all: Objects) -> Objects {
    for labels in all.values_mut().flat_map(labels) {
        LABELS.iter().for_each(|(label, _)| drop(labels.remove(*label)));
    }
    all
}

/// All objects of a release with everything that has a name.
fn everything(release: &str, namespace: &str, values: &[&str]) -> Objects {
    const ALL: [&str; 9] = [
        "highAvailability=true",
        "previousLogs=true",
        "network=true",
        "networkPolicy.enabled=true",
        r#"annotate=["pods"]"#,
        r#"config.kinds=["certificates.cert-manager.io"]"#,
        "metrics.serviceMonitor.enabled=true",
        "prometheusRule.enabled=true",
        "dashboards.enabled=true",
    ];
    let command = ["template", release, CHART, "--namespace", namespace];
    objects(&succeeded(helm(&command, &[&ALL, values].concat())))
}

#[test]
fn each_object_has_the_recommended_labels() {
    let rules = r#"rules.definitions={"quiet-ci":{"exceptions":[{"cause":"AppError","ignore":true}]}}"#;
    for values in [[rules, "nodes=true"], [rules, r#"namespaces=["a"]"#]] {
        // With namespaces, nodes need a role of their own.
        let mut all = everything("shindan", "shindan-system", &[values[0], values[1], "nodes=true"]);
        for (name, object) in &mut all {
            let found = labels(object);
            assert_eq!(found.len(), if name.starts_with("Deployment") { 2 } else { 1 }, "{name}");
            for labels in found {
                assert_eq!(labels["app.kubernetes.io/name"], "shindan", "{name}");
                LABELS.iter().for_each(|(label, value)| assert_eq!(labels[*label], *value, "{name}"));
            }
        }
    }
}

/// The selector of a Deployment cannot change, so an upgrade from 0.1 needs that of 0.1.
#[test]
fn the_selector_is_that_of_version_0_1() {
    let all = everything("shindan", "shindan-system", &[]);
    let selector = json!({"app.kubernetes.io/name": "shindan"});
    for (name, path) in [
        ("Deployment shindan-system/shindan", "/spec/selector/matchLabels"),
        ("Service shindan-system/shindan-metrics", "/spec/selector"),
        ("PodDisruptionBudget shindan-system/shindan", "/spec/selector/matchLabels"),
        ("NetworkPolicy shindan-system/shindan", "/spec/podSelector/matchLabels"),
        ("ServiceMonitor shindan-system/shindan", "/spec/selector/matchLabels"),
    ] {
        assert_eq!(all[name].pointer(path), Some(&selector), "{name}");
    }
}

/// The name of the release, of the chart, or of `fullnameOverride`, with a suffix where there are several of a kind.
#[test]
fn objects_are_named_after_the_release() {
    let deployment = |release: &str, values: &[&str]| {
        let all = everything(release, "elsewhere", values);
        let name = all.keys().find(|name| name.starts_with("Deployment ")).unwrap();
        name.strip_prefix("Deployment elsewhere/").unwrap().to_owned()
    };
    assert_eq!(deployment("shindan", &[]), "shindan");
    assert_eq!(deployment("our-shindan", &[]), "our-shindan");
    assert_eq!(deployment("ours", &[]), "ours-shindan");
    assert_eq!(deployment("ours", &[r#"nameOverride="diagnoses""#]), "ours-diagnoses");
    assert_eq!(deployment("ours", &[r#"fullnameOverride="diagnoses""#]), "diagnoses");
    let long = deployment("a-release-with-a-name-that-is-as-long-as-helm-accepts", &[]);
    assert!(long.len() <= 55, "the Service has eight more characters: {long}");
}

/// With `fullnameOverride` a release of any name has the objects of the release `shindan`.
#[test]
fn another_release_and_namespace_change_only_these_names() {
    let elsewhere = everything("ours", "elsewhere", &[r#"fullnameOverride="shindan""#]);
    let text = serde_json::to_string(&elsewhere).unwrap();
    assert!(!text.contains("shindan-system"));
    let moved: Objects = serde_json::from_str(&text.replace("elsewhere", "shindan-system")).unwrap();
    assert_eq!(unlabelled(moved), unlabelled(everything("shindan", "shindan-system", &[])));
}

/// `nameOverride` changes the label in selectors and in the commands of alerts, too.
#[test]
fn another_name_selects_its_own_pods() {
    let all =
        everything("shindan", "shindan-system", &[r#"nameOverride="diagnoses""#, r#"fullnameOverride="shindan""#]);
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains(r#""app.kubernetes.io/name":"shindan""#), "{text}");
    assert!(!text.contains("app.kubernetes.io/name=shindan"), "{text}");
    assert_eq!(container(&all)["name"], "shindan", "the dashboard queries the container by its name");
}

/// Helm refuses an object that belongs to another release, so cluster-scoped names must differ.
#[test]
fn two_releases_share_no_object() {
    let names = |release: &str, namespace: &str, watched: &str| -> BTreeSet<String> {
        let values =
            [format!("fullnameOverride=\"{release}\""), format!("namespaces=[\"{watched}\"]"), "nodes=true".into()];
        let values: Vec<_> = values.iter().map(String::as_str).collect();
        let in_namespaces = everything("shindan", namespace, &values);
        let in_cluster = everything("shindan", namespace, &values[..1]);
        in_namespaces.into_keys().chain(in_cluster.into_keys()).collect()
    };
    // Both have a Role for Events of Nodes in the namespace `default`, and watch the same namespace.
    let (first, second) = (names("first", "one", "shop"), names("second", "two", "shop"));
    let shared: Vec<_> = first.intersection(&second).collect();
    assert!(shared.is_empty(), "{shared:?}");
    assert!(first.contains("ClusterRole /first") && first.contains("Role default/first-nodes"), "{first:?}");
    assert!(first.contains("PriorityLevelConfiguration /first") && first.contains("PriorityClass /first"), "{first:?}");

    // The priority level and the class of a release are its own.
    let all = everything("shindan", "two", &[r#"fullnameOverride="second""#]);
    assert_eq!(all["FlowSchema /second"]["spec"]["priorityLevelConfiguration"]["name"], "second");
    let pod = &all["Deployment two/second"]["spec"]["template"]["spec"];
    assert_eq!((&pod["priorityClassName"], &pod["serviceAccountName"]), (&json!("second"), &json!("second")));
}

#[test]
fn the_account_can_be_another_one() {
    let account = rendered(&[r#"serviceAccount={"name":"robot","annotations":{"team":"a"}}"#]);
    assert_eq!(account["ServiceAccount shindan-system/robot"]["metadata"]["annotations"], json!({"team": "a"}));
    assert_eq!(pod(&account)["serviceAccountName"], "robot");
    for name in ["RoleBinding shindan-system/shindan-lease", "ClusterRoleBinding /shindan"] {
        let subjects = json!([{"kind": "ServiceAccount", "name": "robot", "namespace": "shindan-system"}]);
        assert_eq!(account[name]["subjects"], subjects, "{name}");
    }
    let annotating = rendered(&[r#"serviceAccount={"name":"robot"}"#, r#"annotate=["pods"]"#]);
    let condition = &annotating["ValidatingAdmissionPolicy /shindan-annotate"]["spec"]["matchConditions"][0];
    let operator = r#"request.userInfo.username == "system:serviceaccount:shindan-system:robot""#;
    assert_eq!(condition["expression"], operator);
    for name in ["FlowSchema /shindan", "FlowSchema /shindan-leader-election"] {
        let subject = &account[name]["spec"]["rules"][0]["subjects"][0]["serviceAccount"]["name"];
        assert_eq!(subject, "robot", "{name}");
    }
    let existing = rendered(&["serviceAccount.create=false", r#"serviceAccount.name="robot""#]);
    assert!(!existing.keys().any(|name| name.starts_with("ServiceAccount ")));
    assert_eq!(pod(&existing)["serviceAccountName"], "robot");
    // Not the account `default`, which other pods of the namespace use.
    assert!(refused(&["serviceAccount.create=false"]).contains("serviceAccount.name: name the account that exists"));
}
