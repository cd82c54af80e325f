use serde_json::{Value, json};

use super::*;
use crate::facts::{KindFields, Timestamp};
use crate::offline;
use crate::wire::{Dump, fields_read};

const PLANTED: &str = "s3cr3t-Pl4nted";

/// An object as a report has it.
fn reported(object: &Value) -> Value {
    let mut read = fields_read(object, &KindFields::default()).unwrap_or_default();
    mask(&mut read);
    read
}

fn is_clean(object: &Value) -> bool {
    !object.to_string().contains(PLANTED)
}

/// Replaces one text of a value by another, the next one at each call.
fn plant(value: &mut Value, left: &mut usize, by: &str) {
    match value {
        Value::String(text) => {
            if *left == 0 {
                by.clone_into(text);
            }
            *left = left.wrapping_sub(1);
        }
        Value::Array(all) => all.iter_mut().for_each(|value| plant(value, left, by)),
        Value::Object(map) => map
            .iter_mut()
            .filter(|(key, _)| !["kind", "apiVersion"].contains(&key.as_str()))
            .for_each(|(_, value)| plant(value, left, by)),
        _ => {}
    }
}

fn objects() -> Vec<Value> {
    let text = include_str!("../../../examples/broken-cluster.yaml");
    let documents = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    documents.flat_map(|value| value["items"].as_array().cloned().unwrap_or_else(|| vec![value])).collect()
}

#[test]
fn secret_is_masked_in_every_text() {
    let mut planted = 0;
    for object in objects() {
        for place in 0.. {
            let mut with_secret = object.clone();
            let mut left = place;
            plant(&mut with_secret, &mut left, &format!("failed: password={PLANTED}"));
            if left != usize::MAX && left < place || with_secret == object {
                break;
            }
            planted += 1;
            assert!(is_clean(&reported(&with_secret)), "{}", reported(&with_secret));
        }
    }
    assert!(planted > 100, "{planted}");
}

#[test]
fn value_that_its_place_makes_a_secret_is_masked() {
    let pod = |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec});
    let of_container = |field: &str, value: Value| pod(json!({"containers": [{"name": "app", field: value}]}));
    let get = json!({"httpGet": {"path": "/", "httpHeaders": [{"name": "X", "value": PLANTED}]}});
    let istio = json!({"/app-health/app/livez": get}).to_string();
    for object in [
        of_container("env", json!([{"name": "MODE", "value": PLANTED}])),
        of_container("env", json!([{"name": "ISTIO_KUBE_APP_PROBERS", "value": istio}])),
        of_container("env", json!([{"name": "ISTIO_KUBE_APP_PROBERS", "value": PLANTED}])),
        of_container("args", json!(["serve", "--db-password", PLANTED])),
        of_container("args", json!([format!("--token={PLANTED}")])),
        of_container("command", json!(["curl", "-u", format!("admin:{PLANTED}"), "http://x"])),
        of_container("command", json!(["sh", "-c", format!("exec mysql -u root --password={PLANTED}")])),
        of_container("livenessProbe", json!({"exec": {"command": ["redis-cli", "-a", PLANTED, "ping"]}})),
        of_container("livenessProbe", get),
        pod(json!({"volumes": [{"name": "v", "csi": {"driver": "x", "volumeAttributes": {"share": PLANTED}}}]})),
        pod(json!({"nodeSelector": {"auth-token": PLANTED}})),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": PLANTED}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"k": PLANTED}, "binaryData": {"b": PLANTED}}),
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "data": {"spec": {"template":
            {"spec": {"containers": [{"name": "app", "env": [{"name": "A", "value": PLANTED}], "args": ["--password", PLANTED]}]}}}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "annotations":
            {"kubectl.kubernetes.io/last-applied-configuration": PLANTED, "note": PLANTED}}}),
        json!({"apiVersion": "db.example.com/v1", "kind": "Database", "metadata": {"name": "d"}, "spec": {"admin": PLANTED},
            "status": {"conditions": [{"type": "Ready", "message": format!("password: {PLANTED}")}]}}),
    ] {
        assert!(is_clean(&reported(&object)), "{}", reported(&object));
    }
}

#[test]
fn names_of_variables_and_keys_stay() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "app",
        "args": ["serve", "--port", "8080"], "env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
            {"name": "MODE", "value": "x"}]}]}});
    let container = &reported(&pod)["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["serve", "--port", "8080"]));
    assert_eq!(container["env"][0]["valueFrom"]["secretKeyRef"], json!({"name": "db", "key": "password"}));
    assert_eq!(container["env"][1], json!({"name": "MODE", "value": "***"}));
}

/// A workload whose names occur in fields, generated names, texts and images.
fn shop() -> Vec<Value> {
    let owned = |kind: &str, name: &str| json!([{"kind": kind, "name": name, "uid": "x", "controller": true}]);
    let uid = "0e5b1d6a-1b2c-4d3e-8f90-a1b2c3d4e5f6";
    vec![
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "checkout-5d4f7c9b-x2x4z", "namespace": "acme-shop", "uid": uid,
            "labels": {"app": "checkout"}, "ownerReferences": owned("ReplicaSet", "checkout-5d4f7c9b")},
            "spec": {"nodeName": "ip-10-4-0-7.acme.internal", "containers": [{"name": "checkout", "image": "reg.acme.com:5000/pay/checkout:1.2",
                "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "checkout-settings", "key": "a"}}}]}]},
            "status": {"containerStatuses": [{"name": "checkout", "state": {"waiting": {"reason": "ImagePullBackOff", "message":
                "Get \"https://reg.acme.com:5000/v2/pay/checkout/manifests/1.2\": dial tcp 10.4.5.6:5000: connect: connection refused"}}}]}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "checkout-5d4f7c9b", "namespace": "acme-shop",
            "ownerReferences": owned("Deployment", "checkout")}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "checkout", "namespace": "acme-shop"}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "checkout", "namespace": "acme-shop"}, "spec": {"selector": {"app": "checkout"}}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ip-10-4-0-7.acme.internal"}}),
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "checkout-5d4f7c9b-x2x4z.17f", "namespace": "acme-shop"},
            "involvedObject": {"kind": "Pod", "namespace": "acme-shop", "name": "checkout-5d4f7c9b-x2x4z", "uid": uid, "fieldPath": "spec.containers{checkout}"},
            "message": format!("Back-off pulling image for container checkout in pod checkout-5d4f7c9b-x2x4z_acme-shop({uid}) from 10.4.5.6")}),
    ]
}

#[test]
fn names_are_replaced_by_the_same_names_everywhere() {
    let mut objects = shop();
    let mut names = Names::of(&objects, Words::Everywhere);
    objects.iter_mut().for_each(|object| names.replace(object));
    let [pod, set, deployment, service, node, event] = &objects[..] else { panic!() };
    assert_eq!(deployment["metadata"]["name"], "workload-1");
    assert_eq!(set["metadata"]["name"], "workload-1-5d4f7c9b");
    assert_eq!(pod["metadata"]["name"], "workload-1-5d4f7c9b-x2x4z");
    assert_eq!(pod["metadata"]["ownerReferences"][0]["name"], set["metadata"]["name"]);
    assert_eq!(pod["metadata"]["labels"], service["spec"]["selector"]);
    assert_eq!(pod["spec"]["nodeName"], node["metadata"]["name"]);
    assert_eq!(event["involvedObject"]["uid"], pod["metadata"]["uid"]);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["name"], "checkout", "a diagnosis names it");
    let image = container["image"].as_str().unwrap();
    let (registry, path) = image.strip_suffix(":1.2").unwrap().split_once('/').unwrap();
    let message = pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].as_str().unwrap();
    assert_eq!(
        message,
        format!(
            "Get \"https://{registry}/v2/{path}/manifests/1.2\": dial tcp 192.0.2.1:5000: connect: connection refused"
        )
    );
    assert_eq!(
        event["message"],
        format!(
            "Back-off pulling image for container checkout in pod workload-1-5d4f7c9b-x2x4z_namespace-1({}) from 192.0.2.1",
            pod["metadata"]["uid"].as_str().unwrap()
        )
    );
    let all = Value::from(objects.clone()).to_string();
    for name in ["acme", "10.4.", "0e5b1d6a", "pay/", "settings"] {
        assert!(!all.contains(name), "{name}: {all}");
    }
}

#[test]
fn objects_of_a_workload_are_those_that_explain_it() {
    let mut objects = shop();
    objects.push(
        json!({"kind": "Pod", "metadata": {"name": "other", "namespace": "acme-shop"}, "spec": {"nodeName": "n2"}}),
    );
    objects.push(json!({"kind": "Node", "metadata": {"name": "n2"}}));
    objects.push(json!({"kind": "Event", "metadata": {"namespace": "acme-shop"}, "involvedObject": {"kind": "Pod", "name": "other"}}));
    let is_asked = |object: &Value| text(object, &["kind"]) == "Deployment";
    assert_eq!(related(&objects, is_asked), [true, true, true, true, true, true, false, false, false]);
    objects[0]["spec"].as_object_mut().unwrap().remove("nodeName");
    let with_room = related(&objects, is_asked);
    assert_eq!(with_room, [true, true, true, true, true, true, true, true, false], "it waits for a node");
}

#[test]
fn reduced_pod_counts_and_is_healthy() {
    let mut pod = shop().swap_remove(0);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "500m"}});
    let read = |pod: &Value| {
        let mut dump = Dump::default();
        dump.read(&pod.to_string());
        dump
    };
    let full = read(&pod);
    only_requests(&mut pod);
    let reduced = read(&pod);
    assert_eq!(reduced.pods[0].effective_requests().cpu, full.pods[0].effective_requests().cpu);
    assert_eq!(reduced.pods[0].node_name, full.pods[0].node_name);
    let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
    let report = offline::diagnose(reduced, offline::Logs::default(), now, crate::case::Thresholds::default());
    assert_eq!(report.pods.len(), 0);
}
