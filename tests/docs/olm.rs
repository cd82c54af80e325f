//! The OLM bundle in deploy/olm: its manifests are made of deploy/base, the CRDs and parts.yaml.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use shindan_core::api::{DiagnosisRule, NodeDiagnosis, PodDiagnosis, WorkloadDiagnosis};

use crate::{holds, root};

const BUNDLE: &str = "deploy/olm";

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&text_of(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The object of a kind and name in a file of deploy/base.
fn base(file: &str, kind: &str, name: &str) -> Value {
    let text = text_of(&format!("deploy/base/{file}"));
    let objects = text.split("\n---\n").map(|part| serde_saphyr::from_str::<Value>(part).unwrap());
    let mut found = objects.filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    found.next().unwrap_or_else(|| panic!("deploy/base/{file} has no {kind} {name}"))
}

/// The text of an annotation of Chart.yaml, as YAML.
fn of_chart(chart: &Value, annotation: &str) -> Value {
    serde_saphyr::from_str(chart["annotations"][annotation].as_str().unwrap()).unwrap()
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// The name of a field for people: `Pod UID`, `First seen`.
fn display_name(field: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut after_lower = true;
    for letter in field.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() || !after_lower => word.push(letter),
            _ => words.push(letter.to_string()),
        }
        after_lower = letter.is_lowercase();
    }
    let is_short_form = |word: &str| word.len() > 1 && word.chars().all(char::is_uppercase);
    let words = words.iter().map(|word| if is_short_form(word) { word.clone() } else { word.to_lowercase() });
    let text = words.collect::<Vec<_>>().join(" ");
    let first = text.chars().next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(text.chars().skip(1)).collect()
}

/// How the console shows a field.
fn x_descriptor(path: &str) -> &'static str {
    match path {
        "conditions" => "urn:alm:descriptor:io.kubernetes.conditions",
        "state" => "urn:alm:descriptor:io.kubernetes.phase",
        "cause" => "urn:alm:descriptor:io.kubernetes.phase:reason",
        "nodeName" => "urn:alm:descriptor:io.kubernetes:Node",
        "podName" => "urn:alm:descriptor:io.kubernetes:Pod",
        _ => "urn:alm:descriptor:text",
    }
}

/// The fields of a part of an object that the console shows: those with one value, the workload, and the conditions.
fn descriptors(part: &Value) -> Value {
    let described = |path: &str, name: &str, field: &Value| {
        json!({
            "path": path,
            "displayName": display_name(name),
            "description": field["description"].as_str().unwrap_or_default(),
            "x-descriptors": [x_descriptor(path)],
        })
    };
    let fields = part["properties"].as_object().into_iter().flatten();
    let shown = fields.filter_map(|(name, field)| match str_of(&field["type"]) {
        "object" if name == "workload" => Some(described("workload.display", name, field)),
        "array" if name == "conditions" => Some(described(name, name, field)),
        "object" | "array" => None,
        _ => Some(described(name, name, field)),
    });
    shown.collect()
}

/// A kind of the bundle, with the texts of the Helm chart.
fn owned(definition: &Value, chart: &Value) -> Value {
    let (spec, version) = (&definition["spec"], &definition["spec"]["versions"][0]);
    let texts = of_chart(chart, "artifacthub.io/crds");
    let text = texts.as_array().unwrap().iter().find(|text| text["kind"] == spec["names"]["kind"]).unwrap();
    let parts = &version["schema"]["openAPIV3Schema"]["properties"];
    json!({
        "name": definition["metadata"]["name"],
        "version": version["name"],
        "kind": spec["names"]["kind"],
        "displayName": text["displayName"],
        "description": text["description"],
        "specDescriptors": descriptors(&parts["spec"]),
        "statusDescriptors": descriptors(&parts["status"]),
    })
}

/// The Deployment of deploy/base. Platforms with OLM, such as OpenShift, may assign the user; otherwise that of the image
/// applies, which is the same.
fn deployment() -> Value {
    let mut deployment = base("deployment.yaml", "Deployment", "shindan");
    let context = deployment["spec"]["template"]["spec"]["securityContext"].as_object_mut().unwrap();
    for field in ["runAsUser", "runAsGroup"] {
        assert_eq!(context.remove(field), Some(json!(65532)), "{field}");
    }
    deployment
}

fn cluster_service_version() -> Value {
    let (parts, chart) = (yaml(&format!("{BUNDLE}/parts.yaml")), yaml("deploy/chart/shindan/Chart.yaml"));
    let definitions: Vec<Value> =
        shindan_core::api::crds().iter().map(|definition| serde_json::to_value(definition).unwrap()).collect();
    let deployment = deployment();
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    let version = env!("CARGO_PKG_VERSION");
    let permissions = |kind: &str, file: &str, name: &str| json!([{"serviceAccountName": "shindan", "rules": base(file, kind, name)["rules"]}]);
    let written_by_the_operator = definitions.iter().map(|one| str_of(&one["metadata"]["name"]));
    let written_by_the_operator: Vec<_> =
        written_by_the_operator.filter(|name| !name.starts_with("diagnosisrules.")).collect();
    let kubernetes = str_of(&chart["kubeVersion"]).trim_start_matches(">=").trim_end_matches("-0");
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("shindan.v{version}"),
            "annotations": {
                "alm-examples": serde_json::to_string_pretty(&parts["examples"]).unwrap(),
                "capabilities": parts["capabilities"],
                "categories": parts["categories"],
                "containerImage": image,
                "description": chart["description"],
                "operatorframework.io/suggested-namespace": "shindan-system",
                "operators.operatorframework.io/internal-objects": serde_json::to_string(&written_by_the_operator).unwrap(),
                "repository": chart["home"],
                "support": chart["maintainers"][0]["name"],
            },
            "labels": {
                "operatorframework.io/arch.amd64": "supported",
                "operatorframework.io/arch.arm64": "supported",
                "operatorframework.io/os.linux": "supported",
            },
        },
        "spec": {
            "displayName": "Shindan",
            "description": parts["description"],
            "version": version,
            "maturity": parts["maturity"],
            "minKubeVersion": kubernetes,
            "keywords": chart["keywords"],
            "provider": parts["provider"],
            "links": parts["links"],
            "icon": [{
                "base64data": BASE64_STANDARD.encode(fs::read(root().join("docs/images/icon.svg")).unwrap()),
                "mediatype": "image/svg+xml",
            }],
            "installModes": [
                {"type": "OwnNamespace", "supported": false},
                {"type": "SingleNamespace", "supported": false},
                {"type": "MultiNamespace", "supported": false},
                {"type": "AllNamespaces", "supported": true},
            ],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": permissions("ClusterRole", "operator-role.yaml", "shindan"),
                    "permissions": permissions("Role", "lease-role.yaml", "shindan-lease"),
                    "deployments": [{
                        "name": "shindan",
                        "label": deployment["metadata"]["labels"],
                        "spec": deployment["spec"],
                    }],
                },
            },
            "customresourcedefinitions": {
                "owned": definitions.iter().map(|definition| owned(definition, &chart)).collect::<Value>(),
            },
            "relatedImages": [{"name": "shindan", "image": image}],
        },
    })
}

/// Objects beside the Deployment and its permissions, in the namespace that OLM chooses.
fn beside() -> BTreeMap<&'static str, Value> {
    let objects = [
        ("shindan-reader.clusterrole.yaml", base("reader-role.yaml", "ClusterRole", "shindan-reader")),
        ("shindan.priorityclass.yaml", base("priority.yaml", "PriorityClass", "shindan")),
        ("shindan-metrics.service.yaml", base("service.yaml", "Service", "shindan-metrics")),
    ];
    let moved = objects.map(|(file, mut object)| {
        object["metadata"].as_object_mut().unwrap().remove("namespace");
        (file, object)
    });
    BTreeMap::from(moved)
}

#[test]
fn the_bundle_is_made_of_the_base_and_the_crds() {
    let mut files = beside();
    files.insert("shindan.clusterserviceversion.yaml", cluster_service_version());
    for (file, object) in &files {
        holds(&format!("{BUNDLE}/manifests/{file}"), &serde_saphyr::to_string(object).unwrap());
    }
    if std::env::var_os("UPDATE").is_some() {
        return; // another test writes the CRDs
    }
    let mut names: BTreeSet<String> = files.keys().map(|file| (*file).to_owned()).collect();
    names.extend(shindan_core::api::crds().iter().map(|one| format!("{}.yaml", one.metadata.name.as_deref().unwrap())));
    let kept = fs::read_dir(root().join(BUNDLE).join("manifests")).unwrap();
    let kept: BTreeSet<_> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(kept, names);
}

/// Each object of deploy/base is in the bundle, is made by OLM, or cannot be in a bundle.
#[test]
fn the_bundle_leaves_out_only_what_olm_makes_or_refuses() {
    const MADE_BY_OLM: [&str; 6] =
        ["Namespace", "ServiceAccount", "ClusterRoleBinding", "RoleBinding", "CustomResourceDefinition", "Deployment"];
    const REFUSED: [&str; 2] = ["FlowSchema", "PriorityLevelConfiguration"];
    let installed = text_of("deploy/install.yaml");
    let mut in_bundle: BTreeSet<(String, String)> = BTreeSet::new();
    for object in beside().values() {
        in_bundle.insert((str_of(&object["kind"]).to_owned(), str_of(&object["metadata"]["name"]).to_owned()));
    }
    in_bundle.insert(("ClusterRole".to_owned(), "shindan".to_owned()));
    in_bundle.insert(("Role".to_owned(), "shindan-lease".to_owned()));
    let objects = installed.split("\n---\n").map(|part| serde_saphyr::from_str::<Value>(part).unwrap());
    let expected: BTreeSet<_> = objects
        .map(|object| (str_of(&object["kind"]).to_owned(), str_of(&object["metadata"]["name"]).to_owned()))
        .filter(|(kind, _)| !MADE_BY_OLM.contains(&kind.as_str()) && !REFUSED.contains(&kind.as_str()))
        .collect();
    assert_eq!(in_bundle, expected);
}

#[test]
fn the_examples_are_objects_of_each_kind() {
    let parts = yaml(&format!("{BUNDLE}/parts.yaml"));
    let mut kinds = Vec::new();
    for example in parts["examples"].as_array().unwrap() {
        let kind = str_of(&example["kind"]);
        let read = match kind {
            "DiagnosisRule" => serde_json::from_value::<DiagnosisRule>(example.clone()).map(drop),
            "NodeDiagnosis" => serde_json::from_value::<NodeDiagnosis>(example.clone()).map(drop),
            "PodDiagnosis" => serde_json::from_value::<PodDiagnosis>(example.clone()).map(drop),
            "WorkloadDiagnosis" => serde_json::from_value::<WorkloadDiagnosis>(example.clone()).map(drop),
            kind => panic!("{kind} is no kind of Shindan"),
        };
        read.unwrap_or_else(|e| panic!("{kind}: {e}"));
        kinds.push(kind);
    }
    assert_eq!(kinds, ["DiagnosisRule", "NodeDiagnosis", "PodDiagnosis", "WorkloadDiagnosis"]);
}

/// A catalog reads the labels of the image, and OLM the annotations.
#[test]
fn the_image_of_the_bundle_has_the_annotations_as_labels() {
    let annotations = yaml(&format!("{BUNDLE}/metadata/annotations.yaml"))["annotations"].clone();
    let dockerfile = text_of(&format!("{BUNDLE}/bundle.Dockerfile"));
    let labels = dockerfile.lines().filter_map(|line| line.strip_prefix("LABEL ")?.split_once('='));
    let labels: Map<String, Value> = labels.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    assert_eq!(Value::Object(labels), annotations);
}

#[test]
fn fields_have_names_for_people() {
    for (field, name) in [
        ("podUID", "Pod UID"),
        ("firstSeen", "First seen"),
        ("cause", "Cause"),
        ("daemonSetsMissing", "Daemon sets missing"),
    ] {
        assert_eq!(display_name(field), name);
    }
}
