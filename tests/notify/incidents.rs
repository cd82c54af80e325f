//! How many messages an incident takes, and who gets them.

use std::sync::Arc;

use crate::receivers::{Diagnosis, Folder, Receivers, Running, pass};

#[tokio::test(start_paused = true)]
async fn twenty_workloads_on_one_dead_registry_are_one_incident_with_at_most_two_messages() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    for at in 0..20 {
        Diagnosis::of_registry(["a", "b", "c"][at % 3], &format!("web{at}")).write(&running);
        pass(2).await;
    }
    pass(600).await;
    for receiver in [0, 1] {
        let titles = receivers.titles(receiver);
        assert!(titles.len() <= 2, "{titles:?}");
        let last = titles.last().unwrap();
        assert!(last.contains("RegistryConnectionRefused: Registry registry.example.com"), "{last}");
        assert!(last.contains("20 objects affected in 3 namespaces"), "{last}");
    }
    for at in 0..20 {
        Diagnosis::of_registry(["a", "b", "c"][at % 3], &format!("web{at}")).recovered().write(&running);
    }
    pass(600).await;
    let titles = receivers.titles(0);
    assert!(titles.len() <= 3 && titles.last().unwrap().starts_with("Resolved: "), "{titles:?}");
}

#[tokio::test(start_paused = true)]
async fn twenty_workloads_that_fail_together_are_one_message() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    for at in 0..20 {
        Diagnosis::of_registry("shop", &format!("web{at}")).write(&running);
    }
    pass(3600).await;
    assert_eq!(
        receivers.titles(0),
        ["Warning: RegistryConnectionRefused: Registry registry.example.com (20 objects affected)"]
    );
    assert_eq!(receivers.titles(1).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_gets_only_its_namespaces_also_of_a_shared_incident() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let routes =
        "routes:\n- {namespaces: [team-a], receivers: [first]}\n- {namespaces: [team-b], receivers: [second]}\n";
    let running = Running::start(&folder, &receivers, routes);
    Diagnosis::of_registry("team-a", "web").write(&running);
    Diagnosis::of_registry("team-b", "api").write(&running);
    Diagnosis::of_registry("team-c", "db").write(&running);
    pass(60).await;
    for (receiver, own, others) in [(0, "team-a", ["team-b", "team-c"]), (1, "team-b", ["team-a", "team-c"])] {
        let got = receivers.got(receiver);
        assert_eq!(got.len(), 1);
        let text = got[0].to_string();
        assert!(text.contains(own) && others.iter().all(|other| !text.contains(other)), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_storm_is_a_digest() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "messagesPerMinute: 5\n");
    for at in 0..200 {
        Diagnosis::alone(&format!("web{at}")).write(&running);
    }
    pass(60).await;
    assert_eq!(receivers.titles(0), ["200 incidents in one message: 200 active, 0 resolved"]);
    for at in 0..200 {
        Diagnosis::alone(&format!("web{at}")).recovered().write(&running);
    }
    pass(60).await;
    assert_eq!(receivers.titles(0).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_higher_severity_is_reported_and_an_end_once() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    Diagnosis::alone("web").write(&running);
    pass(30).await;
    Diagnosis { severity: "Critical", ..Diagnosis::alone("web") }.write(&running);
    pass(30).await;
    Diagnosis::alone("web").recovered().write(&running);
    pass(60).await;
    Diagnosis::alone("web").recovered().write(&running);
    running.handle.removed(&Diagnosis::alone("web").key());
    pass(3600).await;
    let expected = ["Warning", "Critical (update)", "Resolved"]
        .map(|word| format!("{word}: RegistryConnectionRefused: shop/Deployment/web"));
    assert_eq!(receivers.titles(0), expected);
}
