//! Errors: each states what to do, and the server goes on.

use serde_json::json;

use crate::agent::Agent;
use crate::cluster::{Cluster, NO_TAG, failing, kubeconfig, path};

#[tokio::test]
async fn an_unreachable_api_server_is_an_error_of_the_tool() {
    // A port that nothing listens on.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = kubeconfig(&format!("http://{}", taken.local_addr().unwrap()));
    drop(taken);
    let agent = Agent::start(&["--kubeconfig", &path(&folder)]).await;
    for tool in ["list_failures", "explain_failure", "check_fix"] {
        let arguments = if tool == "list_failures" { json!({}) } else { json!({"object": "pod/web"}) };
        let [kind, advice, message] = agent.call(tool, arguments).await.error();
        assert_eq!(kind, "API server unreachable", "{tool}");
        assert!(advice.contains("call again") && message.contains("cannot reach the API server"), "{advice} {message}");
    }
    // Tools that need no cluster work, and the server is still there.
    agent.call("explain_cause", json!({"cause": "OOMKilled"})).await.good();
}

#[tokio::test]
async fn a_kubeconfig_is_read_again_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::start(&["--kubeconfig", &path(&folder)]).await;
    let [kind, ..] = agent.call("list_failures", json!({})).await.error();
    assert_eq!(kind, "no usable kubeconfig");
    let cluster = Cluster::serve(vec![failing("shop", "web", NO_TAG)], &[]).await;
    std::fs::copy(cluster.kubeconfig(), path(&folder)).unwrap();
    assert_eq!(agent.call("list_failures", json!({})).await.good()["failures"], 1);
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let cluster = Cluster::serve(vec![], &["pods"]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    let [kind, advice, message] = agent.call("list_failures", json!({})).await.error();
    assert_eq!(kind, "missing permission");
    assert!(advice.contains("Pass a namespace"), "{advice}");
    assert!(message.contains("cannot list resource \"pods\""), "{message}");
    // What only some diagnoses need is a note.
    let cluster = Cluster::serve(vec![failing("shop", "web", NO_TAG)], &["events"]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    let list = agent.call("list_failures", json!({})).await.good();
    let notes = list["untrusted"]["notes"].to_string();
    assert!(notes.contains("not allowed to list events"), "{list}");
}

#[tokio::test]
async fn an_unknown_object_is_not_healthy() {
    let cluster = Cluster::serve(vec![failing("shop", "web", NO_TAG)], &[]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    for tool in ["explain_failure", "check_fix"] {
        let [kind, advice, message] = agent.call(tool, json!({"object": "deploy/web"})).await.error();
        assert_eq!(kind, "unknown object", "{tool}: {message}");
        assert!(
            advice.contains("list_failures") && message.contains("there is no Deployment web"),
            "{advice} {message}"
        );
    }
    agent.call("explain_failure", json!({"object": "pod/web"})).await.good();
    let arguments = json!({"object": "pod/web", "values": {"TAGG": "1.27"}});
    let [kind, _, message] = agent.call("check_fix", arguments).await.error();
    assert_eq!(
        (&*kind, message.contains("no remedy has a placeholder <TAGG>")),
        ("wrong arguments", true),
        "{message}"
    );
}

#[tokio::test]
async fn wrong_arguments_state_what_is_allowed() {
    let cluster = Cluster::serve(vec![], &[]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    for (tool, arguments, words) in [
        ("list_failures", json!({"namespce": "shop"}), "unknown field `namespce`"),
        ("list_failures", json!({"severity": "high"}), "the values are Critical, Warning, Info"),
        ("list_failures", json!({"category": "Disk"}), "Volume"),
        ("list_failures", json!({"cause": "OOMKiled"}), "Did you mean OOMKilled"),
        ("list_failures", json!({"kind": "deploy/web"}), "explain_failure explains one"),
        ("list_failures", json!({"kind": "widget"}), "doesn't have a resource type"),
        ("list_failures", json!({"namespace": "../kube-system"}), "no namespace can have the name"),
        ("explain_failure", json!({}), "missing field `object`"),
        ("explain_failure", json!({"object": "web"}), "is not KIND/NAME"),
        ("explain_failure", json!({"object": "pod/../../secrets"}), "is not KIND/NAME"),
        ("explain_cause", json!({"cause": "CrashLoopBackOff"}), "is a state, not a cause"),
        ("diagnose_manifest_dump", json!({}), "pass either path or text"),
        ("diagnose_manifest_dump", json!({"path": "/no/such/file"}), "no such file"),
        ("diagnose_manifest_dump", json!({"path": "/"}), "not a regular file"),
        ("diagnose_manifest_dump", json!({"path": "-"}), "standard input"),
        ("diagnose_manifest_dump", json!({"text": "a: 1"}), "no Kubernetes objects"),
        ("check_fix", json!({"object": "node/n1"}), "no remedy of a node"),
    ] {
        let [kind, advice, message] = agent.call(tool, arguments.clone()).await.error();
        assert_eq!(kind, "wrong arguments", "{tool} {arguments}: {message}");
        assert!(message.contains(words), "{tool} {arguments}: {message}");
        assert!(advice.contains("call again"), "{advice}");
    }
    assert!(agent.is_refused("delete_pod").await);
}

#[tokio::test]
async fn a_file_that_is_no_dump_is_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shadow");
    std::fs::write(&file, "root:$6$saltsalt$notquoted:19000:0:99999:7:::\n{ - }: [").unwrap();
    let agent = Agent::start(&[]).await;
    let [kind, _, message] = agent.call("diagnose_manifest_dump", json!({"path": file})).await.error();
    assert_eq!(kind, "wrong arguments");
    assert!(!message.contains("notquoted") && !message.contains("root:"), "{message}");
}

#[tokio::test]
async fn a_file_is_read_up_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.yaml");
    std::fs::write(&file, format!("{}\n#{}", failing("shop", "web", NO_TAG), " ".repeat(5000))).unwrap();
    let agent = Agent::start(&["--max-input", "4Ki"]).await;
    let [_, _, message] = agent.call("diagnose_manifest_dump", json!({"path": file})).await.error();
    assert!(message.contains("--max-input (4Ki"), "{message}");
}
