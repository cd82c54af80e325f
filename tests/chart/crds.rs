//! CRDs are installed with the chart, outlive the release, and an upgrade never runs a new operator with old ones.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::{CHART, objects, read, root, run, succeeded};

const KINDS: [&str; 4] = ["diagnosisrules", "nodediagnoses", "poddiagnoses", "workloaddiagnoses"];

fn definitions() -> Vec<Value> {
    KINDS.iter().map(|kind| serde_saphyr::from_str(&read(&format!("crds/{kind}.shindan.dev.yaml"))).unwrap()).collect()
}

/// `helm show crds` is the command of the pages: it prints what is to be applied.
#[test]
fn helm_shows_the_crds_that_are_applied_before_an_upgrade() {
    let shown = objects(&succeeded(run(Command::new("helm").args(["show", "crds", CHART]))));
    let names: Vec<_> = shown.keys().map(String::as_str).collect();
    let expected = KINDS.map(|kind| format!("CustomResourceDefinition /{kind}.shindan.dev"));
    assert_eq!(names, expected);
    for definition in definitions() {
        assert_eq!(
            shown[&format!("CustomResourceDefinition /{}", definition["metadata"]["name"].as_str().unwrap())],
            definition
        );
    }
}

/// Helm deletes the templates of a release with it, and would delete all diagnoses with their CRDs.
#[test]
fn no_template_is_a_crd() {
    let all =
        succeeded(run(Command::new("helm").args(["template", "shindan", CHART, "-f", "tests/chart/every-value.yaml"])));
    assert!(!all.contains("kind: CustomResourceDefinition"));
    for path in fs::read_dir(root().join(CHART).join("templates")).unwrap().map(|entry| entry.unwrap().path()) {
        assert!(!fs::read_to_string(&path).unwrap().contains("kind: CustomResourceDefinition"), "{}", path.display());
    }
}

/// An API server that knows these CRDs, as far as `lookup` asks for them.
fn respond(stream: &TcpStream, definitions: &[Value]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
    let version = json!({"groupVersion": "apiextensions.k8s.io/v1", "version": "v1"});
    let body = match path {
        "/version" => json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"}),
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": []}),
        "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1",
            "groups": [{"name": "apiextensions.k8s.io", "versions": [version], "preferredVersion": version}]}),
        "/apis/apiextensions.k8s.io/v1" => json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": "apiextensions.k8s.io/v1", "resources": [{"name": "customresourcedefinitions",
            "singularName": "customresourcedefinition", "namespaced": false, "kind": "CustomResourceDefinition", "verbs": ["get"]}]}),
        _ => {
            let name = path.rsplit('/').next().unwrap_or_default();
            let found = definitions.iter().find(|definition| definition["metadata"]["name"] == name);
            found.cloned().unwrap_or(Value::Null)
        }
    };
    let code = if body.is_null() { "404 Not Found" } else { "200 OK" };
    let body = match body {
        Value::Null => {
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"})
        }
        body => body,
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut writer = stream;
    writer.write_all((head + &body).as_bytes())
}

/// What `helm upgrade` prints before it changes anything in a cluster with these CRDs.
fn upgrade(definitions: Vec<Value>, values: &[&str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            respond(&stream.unwrap(), &definitions).ok();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": server}}], "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
    fs::write(&config, text.to_string()).unwrap();
    let mut helm = Command::new("helm");
    helm.args(["template", "shindan", CHART, "--is-upgrade", "--dry-run=server", "--kubeconfig"]).arg(&config);
    helm.env("HELM_CACHE_HOME", folder.path()).env("HOME", folder.path());
    let output = run(helm.args(values.iter().flat_map(|value| ["--set-json", value])));
    String::from_utf8(output.stderr).unwrap()
}

const REFUSED: &str = "the CRDs of the cluster are older than this chart";

/// The mock API server cannot validate the other objects, so a rendered chart ends with that error.
const RENDERED: &str = "failed to download openapi";

#[test]
fn an_upgrade_with_old_crds_is_refused_with_the_command_that_updates_them() {
    let mut old = definitions();
    let field = |definition: &mut Value, path: &str, name: &str| {
        let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
        let fields = schema.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
        assert!(fields.remove(name).is_some(), "{path}/{name}");
    };
    field(&mut old[2], "/properties", "summary");
    field(&mut old[3], "/properties/remedies/items/properties", "command");
    old[1]["spec"]["versions"][0]["name"] = json!("v1alpha0");
    let error = upgrade(old.clone(), &[]);
    assert!(error.contains(REFUSED), "{error}");
    for lacks in ["NodeDiagnosis v1alpha1", "PodDiagnosis.status.summary", "WorkloadDiagnosis.status.remedies.command"]
    {
        assert!(error.contains(lacks), "{lacks}: {error}");
    }
    assert!(
        error.contains("helm show crds") && error.contains("kubectl apply --server-side --force-conflicts -f -"),
        "{error}"
    );
    assert!(upgrade(old, &["crds.check=false"]).contains(RENDERED));
}

/// Helm creates CRDs at an installation only.
#[test]
fn an_upgrade_without_a_new_crd_is_refused() {
    let error = upgrade(definitions().split_off(1), &[]);
    assert!(error.contains(REFUSED) && error.contains("They lack DiagnosisRule."), "{error}");
}

/// The same CRDs, those of a newer version (after `helm rollback`), and none yet (the first installation) are no obstacle.
#[test]
fn an_upgrade_with_current_newer_or_no_crds_is_rendered() {
    let mut newer = definitions();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    newer[2].pointer_mut(status).unwrap()["added"] = json!({"type": "string"});
    for cluster in [definitions(), newer, Vec::new()] {
        let error = upgrade(cluster, &[]);
        assert!(!error.contains(REFUSED) && error.contains(RENDERED), "{error}");
    }
}
