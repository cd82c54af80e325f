//! People who ask with `kubectl shindan`: without an operator, with one that is silent, and with few rights.

use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};
use shindan::api::PodDiagnosis;

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

    fn asks(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).output().unwrap().into()
    }
}

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Answer {
    #[track_caller]
    fn is(&self, code: i32, out: &[&str], err: &[&str]) {
        let said = format!("{:?}\n{}\n--- stderr\n{}", self.code, self.out, self.err);
        assert_eq!(self.code, Some(code), "{said}");
        for word in out {
            assert!(self.out.contains(word), "{word:?} in {said}");
        }
        for word in err {
            assert!(self.err.contains(word), "{word:?} in {said}");
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
async fn without_an_operator_it_is_diagnosed_by_whoever_asks() {
    let (plane, shop) = without_operator("asked-alone").await;
    let other = Space::new(shop.client.clone(), "other").await;
    shop.fail("hog", FAILURES[2]).await;
    shop.well("fine").await;
    other.well("fine").await;
    let plugin = Plugin::new(&plane, "asked-alone-plugin");

    plugin.asks(&["-n", "shop"]).is(0, &["✖ Pod hog   OOMKilled", "→ "], &[]);
    plugin.asks(&["-n", "shop", "--exit-code"]).is(2, &["OOMKilled"], &[]);
    plugin.asks(&["-n", "other", "--exit-code"]).is(0, &[], &["Nothing fails in namespace other (1 pod)."]);
    plugin.asks(&["-n", "othr"]).is(1, &[], &["there is no namespace othr"]);
    plugin.asks(&["-A", "-o", "name"]).is(0, &["poddiagnosis.shindan.dev/hog\n"], &[]);
    // The whole story of one.
    plugin.asks(&["-n", "shop", "pod/hog"]).is(0, &["▲", "restart", ".exitCode = 137"], &[]);
    plugin.asks(&["-n", "shop", "po", "fine"]).is(0, &[], &["Nothing is wrong with Pod fine in namespace shop."]);
    plugin.asks(&["-n", "shop", "-l", "app=hog"]).is(0, &["OOMKilled"], &[]);
    let node = Api::<Node>::all(shop.client).list(&ListParams::default()).await.unwrap().items.remove(0);
    let name = format!("node/{}", node.metadata.name.unwrap());
    plugin.asks(&[&name]).is(0, &["Pod hog   OOMKilled"], &[]);
    let json: Value = serde_json::from_str(&plugin.asks(&["-n", "shop", "-o", "json"]).out).unwrap();
    assert_eq!(json["items"][0]["status"]["cause"], "OOMKilled");

    plugin.asks(&["-n", "shop", "pod/hug"]).is(1, &[], &["there is no Pod hug in namespace shop"]);
    plugin.asks(&["-n", "shop", "-l", "app=hug"]).is(1, &[], &["no pod has the labels app=hug"]);
    plugin.asks(&["-n", "shop", "secret/x"]).is(1, &[], &["nothing is diagnosed of the kind \"secret\""]);
    plugin.asks(&["-A", "pod/hog"]).is(1, &[], &["give -n and not -A"]);
    plugin.asks(&["--context", "nowhere"]).is(1, &[], &["cannot use the kubeconfig", "nowhere"]);
    plugin.asks(&["-s", "https://127.0.0.1:1"]).is(1, &[], &["cannot reach the API server at https://127.0.0.1:1"]);
}

/// Who may read the pods of one namespace gets an answer there, and is told what it lacks.
#[tokio::test]
async fn with_few_rights_it_says_what_it_could_not_read() {
    let (plane, shop) = without_operator("asked-few").await;
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
    let plugin = Plugin::new(&plane, "asked-few-plugin");

    eventually(SOON, "the role holds", async || {
        let answer = plugin.asks(&["--as=jane", "-n", "shop"]);
        ensure(answer.code == Some(0), || answer.err.clone())
    })
    .await;
    let answer = plugin.asks(&["--as=jane", "-n", "shop"]);
    answer.is(0, &["OOMKilled"], &["warning: not allowed to list events: causes that only an Event tells"]);
    // A wait ends only where its end can be seen.
    let waits = |subject: &str| plugin.asks(&["--as=jane", "-n", "shop", subject, "--wait", "--timeout=1m"]);
    waits("pod/hog").is(2, &["OOMKilled"], &["warning: not allowed to list events: "]);
    let right = "User \"jane\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"shop\"";
    waits("deploy/web").is(1, &[], &["cannot wait for Deployment web: not allowed to list deployments: 403", right]);
    // No more is one well that nobody has seen.
    let sees = |subject: &str| plugin.asks(&["--as=jane", "-n", "shop", subject]);
    sees("deploy/web").is(1, &[], &["cannot tell of Deployment web: not allowed to list deployments: 403", right]);
    sees("pod/hog").is(0, &["OOMKilled"], &["warning: not allowed to list deployments: "]);
    plugin.asks(&["--as=jane", "-A"]).is(1, &[], &["cannot look at the cluster", "pods is forbidden"]);
    plugin.asks(&["--as-group=x", "-A"]).is(1, &[], &["--as-group: give the user as well, with --as"]);
    plugin.asks(&["--as-uid=7", "-A"]).is(1, &[], &["--as-uid: give the user as well, with --as"]);
    let as_master = ["--as=nobody", "--as-group=system:masters", "--as-uid=7", "--as-user-extra=team=a"];
    plugin.asks(&[&as_master[..], &["-A=true"]].concat()).is(0, &["OOMKilled"], &[]);
    plugin.asks(&["--client-certificate=/absent"]).is(1, &[], &["--client-key <FILE>"]);
}

/// What the operator says is told; where it says nothing, that is no proof.
#[tokio::test]
async fn with_an_operator_its_word_is_told_and_its_silence_is_checked() {
    let stage = Stage::among_others("asked-told").await;
    let plugin = Plugin::new(&stage.plane, "asked-told-plugin");
    let diagnoses = Api::<PodDiagnosis>::namespaced(stage.space.client.clone(), "asked-told");
    let written = diagnoses.get("before-2").await.unwrap().status.unwrap().summary;
    let answer = plugin.asks(&["-n", "asked-told", "pod/before-2", "-o", "json"]);
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(told["items"][0]["status"]["summary"], written.as_str());
    plugin.asks(&["-n", "asked-told"]).is(0, &["before-0", "before-7"], &[]);

    stage.operator.signal(Signal::STOP);
    diagnoses.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let answer = plugin.asks(&["-n", "asked-told"]);
    answer.is(0, &["before-0", "before-7"], &["the operator is installed and has told nothing of it"]);
    stage.operator.signal(Signal::CONT);
    stage.settles().await;
    stage.goes_on().await;
}

/// A pipeline goes on when it is well, and stops with the cause when it is not.
#[tokio::test]
async fn a_pipeline_waits_for_an_end() {
    let (plane, shop) = without_operator("asked-waits").await;
    let plugin = Plugin::new(&plane, "asked-waits-plugin");
    let waits = |pod: &str| {
        let mut command = plugin.command(&["-n", "shop", pod, "--wait", "--exit-code", "--timeout=2m"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    shop.pending("first").await;
    shop.pending("second").await;
    let (first, second) = (waits("pod/first"), waits("pod/second"));
    shop.well("first").await;
    shop.fail_again("second", FAILURES[1]).await;
    let ended = |child: std::process::Child| Answer::from(child.wait_with_output().unwrap());
    ended(first).is(0, &[], &["Nothing is wrong with Pod first"]);
    ended(second).is(2, &["Pod second   InvalidImageName"], &[]);
    shop.pending("third").await;
    let answer = plugin.asks(&["-n", "shop", "pod/third", "--wait", "--timeout=1s"]);
    answer.is(1, &[], &["not well after 1 s: Pod third: not ready (Pending)"]);
    plugin.asks(&["-n", "shop", "--wait"]).is(1, &[], &["KIND/NAME"]);
}
