//! An agent asks about a real cluster.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::support::{KUBELET, Space, ensure, eventually, together};

#[test]
fn an_agent_lists_explains_and_tries_to_fix_a_failure() {
    together(async {
        let space = Space::new("agent").await;
        space.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelector: {kubernetes.io/os: lnux}, containers: [{name: web, image: '127.0.0.1:5000/nginx:1.27'}]}}",
        );
        space.diagnosed("web", "NodeSelectorMismatch", KUBELET).await;
        let version = || space.kubectl(&["get", "pod", "web", "-o", "jsonpath={.metadata.uid}"]);
        let before = version();

        let agent = Agent::start(&["-n", &space.name]).await;
        assert_eq!(agent.tools().await.len(), 5);
        let call = async |tool: &'static str, arguments: Value| agent.call(tool, arguments).await.good();

        eventually(KUBELET, "the failure is listed", async || {
            let list = call("list_failures", json!({})).await;
            let row = &list["listed"][0];
            let is_cited = row["untrusted"]["source"].as_str().is_some_and(|of| of.starts_with("PodDiagnosis/web@"));
            ensure(row["cause"] == "NodeSelectorMismatch" && is_cited, || list.to_string())
        })
        .await;
        let object = json!({"object": "pod/web"});
        let explained = call("explain_failure", object.clone()).await;
        assert_eq!(explained["cause"], "NodeSelectorMismatch", "{explained}");
        assert_eq!(explained["reportedBy"], "the operator", "{explained}");
        let tried = call("check_fix", object).await;
        assert_eq!(tried["remedies"][0]["result"], "accepted", "{tried}");
        assert_eq!(version(), before, "a dry run stores nothing");
    });
}
