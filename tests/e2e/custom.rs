//! Custom resources with the kubectl plugin and the page, without a rule or a flag of the operator for their kind.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use crate::page::Page;
use crate::support::{Space, ensure, eventually, kubectl, together, try_kubectl};

/// A definition is served within this time.
const SERVED: Duration = Duration::from_secs(30);

/// The definition of a kind, until this is dropped.
struct Kind(String);

impl Kind {
    fn define(plural: &str, kind: &str, group: &str, short: &[&str]) -> Self {
        let name = format!("{plural}.{group}");
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "shortNames": short},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        });
        try_kubectl(&["apply", "-f", "-"], Some(&definition.to_string())).unwrap();
        kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &format!("crd/{name}")]);
        Self(name)
    }
}

impl Drop for Kind {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "--wait=false", "crd", &self.0], None);
    }
}

/// Runs the plugin with a configuration that `kubectl` has.
fn plugin(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shindan")).args(["look"]).args(args).env("LC_ALL", "C.UTF-8").output().unwrap()
}

/// Exit code, and standard output with standard error.
fn answer(args: &[&str]) -> (Option<i32>, String) {
    let output = plugin(args);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code(), text)
}

/// Creates an object with a status, controlled by `owner`. Returns its UID.
fn create(space: &Space, api_version: &str, kind: &str, name: &str, owner: Option<Value>, status: &Value) -> String {
    let owners: Vec<Value> = owner.into_iter().collect();
    let object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "ownerReferences": owners}});
    space.apply(&object.to_string());
    let of = format!("{}.{}/{name}", kind.to_lowercase(), api_version.split('/').next().unwrap());
    let patch = json!({"status": status}).to_string();
    space.kubectl(&["patch", &of, "--subresource=status", "--type=merge", "-p", &patch]);
    space.kubectl(&["get", &of, "-o", "jsonpath={.metadata.uid}"])
}

fn ready(status: &str, since: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": status, "reason": "Denied", "message": "no Secret",
        "lastTransitionTime": since}]})
}

#[test]
fn a_custom_resource_is_diagnosed_by_its_name() {
    together(async {
        let group = "e2e-cert-manager.io";
        let _certificates = Kind::define("certificates", "Certificate", group, &["e2ecert"]);
        let _requests = Kind::define("requests", "Request", &format!("acme.{group}"), &[]);
        let space = Space::new("custom").await;
        let api_version = format!("{group}/v1");
        let (long_ago, never_mind) = ("2026-01-01T09:00:00Z", "2026-01-01T09:00:05Z");
        let uid = create(&space, &api_version, "Certificate", "web", None, &ready("False", long_ago));
        let owner =
            json!({"apiVersion": api_version, "kind": "Certificate", "name": "web", "uid": uid, "controller": true});
        let failed = json!({"phase": "Failed", "message": "the issuer refuses the domain"});
        create(&space, &format!("acme.{group}/v1"), "Request", "web-1", Some(owner), &failed);
        create(&space, &api_version, "Certificate", "ok", None, &ready("True", never_mind));

        let full = format!("certificate.{group}/web");
        for words in
            [&[&*full][..], &["e2ecert/web"], &["e2ecert", "web"], &[&*format!("certificates.v1.{group}"), "web"]]
        {
            let words = [&["-n", &space.name, "--exit-code"], words].concat();
            eventually(SERVED, "the lowest object has the cause", async || {
                let (code, text) = answer(&words);
                let is_it = text.contains("Certificate/web") && text.contains("the issuer refuses the domain");
                ensure(code == Some(2) && is_it, || format!("{words:?}: {code:?} {text}"))
            })
            .await;
        }
        let (code, text) = answer(&["-n", &space.name, "--exit-code", "e2ecert/ok"]);
        assert!(code == Some(0) && text.contains("Nothing is wrong with Certificate ok"), "{code:?} {text}");
        let (code, text) = answer(&["-n", &space.name, "e2ecert"]);
        assert!(code == Some(0) && text.contains("Certificate/web") && !text.contains("/ok"), "{code:?} {text}");
        for (words, reason) in [
            (&["e2ecert/none"][..], "there is no Certificate none in namespace"),
            (&["e2ewidget/x"], "the server doesn't have a resource type \"e2ewidget\"; the kinds are pod,"),
            (
                &["--as", "e2e-reader", "e2ecert/web"],
                "cannot diagnose Certificate web: not allowed to list certificates.",
            ),
        ] {
            let (code, text) = answer(&[&["-n", &space.name], words].concat());
            assert!(code == Some(1) && text.contains(reason), "{words:?}: {code:?} {text}");
        }

        let page = Page::open_with(&space.name, &["--kinds", &format!("certificates.{group},none.{group}")]);
        let shown = page.get("/");
        for part in ["Other kinds", "Certificate in ", &format!("none.{group} is not installed")] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let path = format!("/workload?group={group}&namespace={}&kind=Certificate&name=web", space.name);
        let shown = page.get(&path);
        assert!(shown.starts_with("HTTP/1.1 200") && shown.contains("no Secret"), "{shown}");
    });
}

#[test]
fn the_page_shows_an_ingress_that_leads_to_no_service() {
    together(async {
        let space = Space::new("networking").await;
        space.apply(
            r"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: edge}, spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: wbe, port: {number: 80}}}}]}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
",
        );
        let page = Page::open(&space.name);
        let path = format!("/workload?namespace={}&kind=Ingress&name=edge", space.name);
        eventually(Duration::from_secs(150), "the page shows the Ingress", async || {
            let overview = page.get("/");
            let is_listed = overview.contains("Networking") && overview.contains("Ingress in ");
            ensure(is_listed && page.get(&path).contains("IngressBackendMissing"), || overview)
        })
        .await;
    });
}
