//! `kubectl shindan`: without an operator, with one that does not report, and with few permissions.

use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};
use shindan_core::api::PodDiagnosis;

use crate::control_plane::ControlPlane;
use crate::folder::Folder;
use crate::operator::{self, SOON};
use crate::pods::{self, FAILURES, Space};
use crate::stage::Stage;
use crate::wait::{ensure, eventually};

/// Where kubectl finds the plugin.
struct Plugin<'a> {
    plane: &'a ControlPlane,
    folder: Folder,
}

impl<'a> Plugin<'a> {
    fn new(plane: &'a ControlPlane, name: &str) -> Self {
        let folder = Folder::new(name);
        symlink(operator::program(), folder.path().join("kubectl-shindan")).unwrap();
        Self { plane, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut kubectl = self.plane.kubectl_as_admin();
        kubectl.env("PATH", self.folder.path()).env("LC_ALL", "C.UTF-8").arg("shindan").args(arguments);
        kubectl
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().unwrap().into()
    }
}

struct CommandOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl CommandOutput {
    #[track_caller]
    fn is(&self, code: i32, out: &[&str], err: &[&str]) {
        let output = format!("{:?}\n{}\n--- stderr\n{}", self.code, self.out, self.err);
        assert_eq!(self.code, Some(code), "{output}");
        for word in out {
            assert!(self.out.contains(word), "{word:?} in {output}");
        }
        for word in err {
            assert!(self.err.contains(word), "{word:?} in {output}");
        }
    }
}

/// An API server with a node and a namespace, and no operator.
async fn without_operator(name: &str) -> (ControlPlane, Space) {
    let plane = ControlPlane::bare(name).await;
    let client = plane.client().await;
    pods::node(&client).await;
    (plane, Space::new(client, "shop").await)
}

#[tokio::test]
async fn without_an_operator_the_plugin_diagnoses() {
    let (plane, shop) = without_operator("plugin-alone").await;
    let other = Space::new(shop.client.clone(), "other").await;
    shop.fail("hog", FAILURES[2]).await;
    shop.set_healthy("fine").await;
    other.set_healthy("fine").await;
    let plugin = Plugin::new(&plane, "plugin-alone-bin");

    plugin.run(&["-n", "shop"]).is(0, &["✖ Pod hog   OOMKilled", "→ "], &[]);
    plugin.run(&["-n", "shop", "--exit-code"]).is(2, &["OOMKilled"], &[]);
    plugin.run(&["-n", "other", "--exit-code"]).is(0, &[], &["Nothing fails in namespace other (1 pod)."]);
    plugin.run(&["-n", "othr"]).is(1, &[], &["there is no namespace othr"]);
    plugin.run(&["-A", "-o", "name"]).is(0, &["poddiagnosis.shindan.dev/hog\n"], &[]);
    // The full diagnosis of one pod.
    plugin.run(&["-n", "shop", "pod/hog"]).is(0, &["▲", "restart", ".exitCode = 137"], &[]);
    plugin.run(&["-n", "shop", "po", "fine"]).is(0, &[], &["Nothing is wrong with Pod fine in namespace shop."]);
    plugin.run(&["-n", "shop", "-l", "app=hog"]).is(0, &["OOMKilled"], &[]);
    let node = Api::<Node>::all(shop.client).list(&ListParams::default()).await.unwrap().items.remove(0);
    let name = format!("node/{}", node.metadata.name.unwrap());
    plugin.run(&[&name]).is(0, &["Pod hog   OOMKilled"], &[]);
    let json: Value = serde_json::from_str(&plugin.run(&["-n", "shop", "-o", "json"]).out).unwrap();
    assert_eq!(json["items"][0]["status"]["cause"], "OOMKilled");

    plugin.run(&["-n", "shop", "pod/hug"]).is(1, &[], &["there is no Pod hug in namespace shop"]);
    plugin.run(&["-n", "shop", "-l", "app=hug"]).is(1, &[], &["no pod has the labels app=hug"]);
    plugin.run(&["-n", "shop", "secret/x"]).is(1, &[], &["secrets are not diagnosed"]);
    plugin.run(&["-A", "pod/hog"]).is(1, &[], &["use -n instead of -A"]);
    plugin.run(&["--context", "nowhere"]).is(1, &[], &["cannot use the kubeconfig", "nowhere"]);
    plugin.run(&["-s", "https://127.0.0.1:1"]).is(1, &[], &["cannot reach the API server at https://127.0.0.1:1"]);
}

/// A user who may read the pods of one namespace gets diagnoses there, and the list of missing permissions.
#[tokio::test]
async fn with_few_permissions_the_plugin_lists_what_it_could_not_read() {
    let (plane, shop) = without_operator("plugin-few").await;
    shop.fail("hog", FAILURES[2]).await;
    let role = json!({"metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]});
    let binding = json!({"metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]});
    let post = PostParams::default();
    let role: Role = serde_json::from_value(role).unwrap();
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    Api::namespaced(shop.client.clone(), "shop").create(&post, &role).await.unwrap();
    Api::namespaced(shop.client, "shop").create(&post, &binding).await.unwrap();
    let plugin = Plugin::new(&plane, "plugin-few-bin");

    eventually(SOON, "the role is effective", async || {
        let output = plugin.run(&["--as=jane", "-n", "shop"]);
        ensure(output.code == Some(0), || output.err.clone())
    })
    .await;
    let output = plugin.run(&["--as=jane", "-n", "shop"]);
    output.is(0, &["OOMKilled"], &["warning: not allowed to list events: causes that only Events show"]);
    // A wait needs permission to read its condition.
    let waits = |subject: &str| plugin.run(&["--as=jane", "-n", "shop", subject, "--wait", "--timeout=1m"]);
    waits("pod/hog").is(2, &["OOMKilled"], &["warning: not allowed to list events: "]);
    let right = "User \"jane\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"shop\"";
    waits("deploy/web").is(1, &[], &["cannot wait for Deployment web: not allowed to list deployments: 403", right]);
    // An object that cannot be read is not reported as healthy.
    let sees = |subject: &str| plugin.run(&["--as=jane", "-n", "shop", subject]);
    sees("deploy/web").is(1, &[], &["cannot diagnose Deployment web: not allowed to list deployments: 403", right]);
    sees("pod/hog").is(0, &["OOMKilled"], &["warning: not allowed to list deployments: "]);
    plugin.run(&["--as=jane", "-A"]).is(1, &[], &["cannot read the cluster", "pods is forbidden"]);
    plugin.run(&["--as-group=x", "-A"]).is(1, &[], &["--as-group: --as is required too"]);
    plugin.run(&["--as-uid=7", "-A"]).is(1, &[], &["--as-uid: --as is required too"]);
    let as_master = ["--as=nobody", "--as-group=system:masters", "--as-uid=7", "--as-user-extra=team=a"];
    plugin.run(&[&as_master[..], &["-A=true"]].concat()).is(0, &["OOMKilled"], &[]);
    plugin.run(&["--client-certificate=/absent"]).is(1, &[], &["--client-key <FILE>"]);
}

/// The plugin shows the operator's diagnoses; missing diagnoses do not prove that a pod is healthy.
#[tokio::test]
async fn with_an_operator_its_diagnoses_are_shown_and_missing_ones_are_detected() {
    let stage = Stage::among_others("plugin-operator").await;
    let plugin = Plugin::new(&stage.plane, "plugin-operator-bin");
    let diagnoses = Api::<PodDiagnosis>::namespaced(stage.space.client.clone(), "plugin-operator");
    let written = diagnoses.get("before-2").await.unwrap().status.unwrap().head.summary;
    let output = plugin.run(&["-n", "plugin-operator", "pod/before-2", "-o", "json"]);
    let json: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(json["items"][0]["status"]["summary"], written.as_str());
    plugin.run(&["-n", "plugin-operator"]).is(0, &["before-0", "before-7"], &[]);

    stage.operator.signal(Signal::STOP);
    diagnoses.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let output = plugin.run(&["-n", "plugin-operator"]);
    output.is(0, &["before-0", "before-7"], &["the operator is installed but has not reported"]);
    stage.operator.signal(Signal::CONT);
    stage.settle().await;
    stage.change_and_verify().await;
}

/// `--wait` ends with success when the object is healthy, and with its cause when it is not.
#[tokio::test]
async fn a_pipeline_waits_for_a_result() {
    let (plane, shop) = without_operator("plugin-waits").await;
    let plugin = Plugin::new(&plane, "plugin-waits-bin");
    let waits = |pod: &str| {
        let mut command = plugin.command(&["-n", "shop", pod, "--wait", "--exit-code", "--timeout=2m"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    shop.pending("first").await;
    shop.pending("second").await;
    let (first, second) = (waits("pod/first"), waits("pod/second"));
    shop.set_healthy("first").await;
    shop.fail_again("second", FAILURES[1]).await;
    let ended = |child: std::process::Child| CommandOutput::from(child.wait_with_output().unwrap());
    ended(first).is(0, &[], &["Nothing is wrong with Pod first"]);
    ended(second).is(2, &["Pod second   InvalidImageName"], &[]);
    shop.pending("third").await;
    let output = plugin.run(&["-n", "shop", "pod/third", "--wait", "--timeout=1s"]);
    output.is(1, &[], &["not healthy after 1 s: Pod third: not ready (Pending)"]);
    plugin.run(&["-n", "shop", "--wait"]).is(1, &[], &["KIND/NAME"]);
}
