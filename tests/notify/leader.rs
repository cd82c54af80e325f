//! Restarts and changes of the leader: the marks on our objects are all that outlives a process.

use std::sync::Arc;

use crate::receivers::{Diagnosis, Folder, Mood, Receivers, Running, pass};

#[tokio::test(start_paused = true)]
async fn a_restart_repeats_nothing_and_resolves_what_ended_meanwhile() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let mut first = Running::start(&folder, &receivers, "");
    for name in ["lasting", "ending"] {
        Diagnosis::alone(name).write(&first);
    }
    pass(60).await;
    assert_eq!(receivers.titles(0).len(), 2);
    let marks = first.marks();
    assert_eq!(marks.len(), 2, "one for each incident");
    drop(first);

    let mut second = Running::start(&folder, &receivers, "");
    for diagnosis in [Diagnosis::alone("lasting"), Diagnosis::alone("ending").recovered()] {
        let mark = marks[&diagnosis.key()].as_deref();
        second.handle.restored(&diagnosis.key(), &diagnosis.object(), mark);
    }
    pass(3600).await;
    let titles = receivers.titles(0);
    assert_eq!(titles[2..], ["Resolved: RegistryConnectionRefused: shop/Deployment/ending"], "{titles:?}");
    assert_eq!(second.marks().get(&Diagnosis::alone("ending").key()), Some(&None), "its mark is removed");
}

#[tokio::test(start_paused = true)]
async fn what_one_receiver_missed_is_sent_to_it_alone_after_a_restart() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    receivers.set(0, Mood::Down);
    let mut first = Running::start(&folder, &receivers, "");
    let web = Diagnosis::alone("web");
    web.write(&first);
    pass(60).await;
    let marks = first.marks();
    drop(first);
    receivers.set(0, Mood::Fine);
    let second = Running::start(&folder, &receivers, "");
    second.handle.restored(&web.key(), &web.object(), marks[&web.key()].as_deref());
    pass(60).await;
    assert_eq!((receivers.titles(0).len(), receivers.titles(1).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_mark_moves_to_another_diagnosis_when_its_own_ends() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let mut running = Running::start(&folder, &receivers, "");
    for name in ["web1", "web2"] {
        Diagnosis::of_registry("shop", name).write(&running);
    }
    pass(60).await;
    let marks = running.marks();
    let (bearer, text) = marks.into_iter().next().unwrap();
    let all = [Diagnosis::of_registry("shop", "web1"), Diagnosis::of_registry("shop", "web2")];
    let (own, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|diagnosis| diagnosis.key() == bearer);
    for diagnosis in own {
        diagnosis.recovered().write(&running);
    }
    pass(60).await;
    let moved = running.marks();
    assert_eq!(moved.get(&bearer), Some(&None));
    assert_eq!(moved.get(&other[0].key()), Some(&text));
}

#[tokio::test(start_paused = true)]
async fn a_standby_sends_nothing() {
    let (folder, receivers) = (Arc::new(Folder::new()), Receivers::default());
    let running = Running::start(&folder, &receivers, "");
    let web = Diagnosis::alone("web");
    web.write(&running);
    pass(5).await;
    running.handle.reset();
    pass(60).await;
    assert_eq!(receivers.tries(0), 0);
    // It leads again: all diagnoses are read before.
    running.handle.restored(&web.key(), &web.object(), None);
    pass(60).await;
    assert_eq!(receivers.tries(0), 0);
    running.handle.leads(true);
    pass(60).await;
    assert_eq!(receivers.titles(0).len(), 1);
}
