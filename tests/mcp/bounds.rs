//! Answers are bounded: 2,000 tokens for a list, 1,000 for all others, counted by the tokenizer `o200k_base`.

use serde_json::json;
use shindan_core::rules;

use crate::agent::Agent;
use crate::cluster::{Cluster, NO_TAG, crashed, failing};

const LIST: usize = 2000;
const ONE: usize = 1000;

#[tokio::test]
async fn a_list_of_500_failing_pods_has_at_most_2000_tokens() {
    let pods = (0..500).map(|n| {
        let namespace = format!("team-{}", n % 23);
        // Names as controllers generate them, which take many tokens.
        let name = format!("checkout-{:x}-{:x}", 0x7d9f_8b6c + n * 7919, 0x4b2d_9c1f_u64 * (n + 3));
        match n % 3 {
            0 => crashed(&namespace, &name, &format!("panic: 0x{n:016x} {}", "Zq3+/x9K".repeat(60))),
            _ => failing(&namespace, &name, NO_TAG),
        }
    });
    let cluster = Cluster::serve(pods.collect(), &[]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    let answer = agent.call("list_failures", json!({})).await;
    let list = answer.good();
    assert!(answer.tokens() <= LIST, "{} tokens: {}", answer.tokens(), answer.text);
    assert_eq!((&list["failures"], &list["failingPods"]), (&json!(500), &json!(500)));
    assert_eq!(list["byCategory"], json!({"Image": 333, "Crash": 167}));
    assert_eq!(list["untrusted"]["byNamespace"].as_object().unwrap().len(), 11, "ten, and the others");
    let listed = list["listed"].as_array().unwrap().len();
    assert!(listed >= 8, "only {listed} failures are listed");
    assert_eq!(list["leftOut"], 500 - listed);
    assert!(list["next"].as_str().unwrap().contains("namespace, severity, category, cause or kind"), "{list}");
    let of_one = agent.call("list_failures", json!({"namespace": "team-3", "category": "Crash"})).await.good();
    assert!((1..=22).contains(&of_one["failures"].as_u64().unwrap()), "{of_one}");
}

#[tokio::test]
async fn an_explanation_has_at_most_1000_tokens() {
    let log = (0..200).map(|n| format!("goroutine {n} [running]: main.handler(0xc0{n:014x}) /srv/app/main.go:{n}\n"));
    let pods = vec![
        crashed("shop", "words", &log.collect::<String>()),
        crashed("shop", "bytes", &"Zq3+/x9KvB7_".repeat(300)),
        crashed("shop", "other-script", &"接続できません: データベースが見つかりません。".repeat(80)),
    ];
    // The longest name of a pod.
    let long = format!("{}z", "x7kq2-".repeat(42));
    let pods: Vec<_> = pods.into_iter().chain([crashed("shop", &long, &"Zq3+/x9KvB7_".repeat(300))]).collect();
    let cluster = Cluster::serve(pods, &[]).await;
    let agent = Agent::start(&["--kubeconfig", &cluster.kubeconfig()]).await;
    for name in ["words", "bytes", "other-script", &long] {
        for tool in ["explain_failure", "check_fix"] {
            let answer = agent.call(tool, json!({"object": format!("pod/{name}"), "namespace": "shop"})).await;
            let explained = answer.good();
            assert!(answer.tokens() <= ONE, "{} tokens: {}", answer.tokens(), answer.text);
            assert!(explained["untrusted"]["summary"].as_str().unwrap().len() > 20, "{explained}");
        }
    }
}

#[tokio::test]
async fn the_explanation_of_each_cause_has_at_most_1000_tokens() {
    let agent = Agent::start(&[]).await;
    for known in rules::known() {
        let answer = agent.call("explain_cause", json!({"cause": known.cause})).await;
        let explained = answer.good();
        assert!(answer.tokens() <= ONE, "{}: {} tokens", known.cause, answer.tokens());
        assert_eq!(explained["category"], known.category.as_str());
        assert!(!explained["action"].as_str().unwrap().is_empty(), "{explained}");
    }
}
