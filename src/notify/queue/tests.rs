use shindan_core::api::DiagnosisState;

use super::*;
use crate::notify::incident::tests::of_registry;
use crate::notify::incident::{Incidents, Member};

const SECOND: Duration = Duration::from_secs(1);

fn limits(style: Style) -> Limits {
    Limits { group_wait: 10 * SECOND, update_interval: 300 * SECOND, per_minute: 10, style }
}

fn queue(style: Style) -> Queue {
    Queue::new(limits(style))
}

/// The notice of an incident of `root` with this many objects.
fn notice(root: &str, objects: usize) -> (IncidentKey, Notice) {
    let (mut incidents, key): (_, IncidentKey) = (Incidents::default(), format!("Registry/{root}").into());
    for at in 0..objects {
        incidents.apply(Member { incident: key.clone(), ..of_registry("shop", &format!("web{at}")) }, 1);
    }
    let notice = incidents.notice(&key, 0).unwrap();
    (key, notice)
}

fn end() -> End {
    End::of(&Member { state: DiagnosisState::Recovered, ..of_registry("shop", "web") })
}

fn change(delivery: Option<Delivery>) -> Change {
    match delivery {
        Some(Delivery::One(change, _)) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn objects_that_fail_together_are_one_message_and_stragglers_are_none() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    for at in 0..15_u32 {
        let (key, notice) = notice("a", at as usize + 1);
        queue.active(&key, notice, start + at * SECOND / 2);
    }
    assert_eq!(queue.next(), Some(start + 10 * SECOND));
    assert_eq!(queue.take(start + 9 * SECOND), None);
    let Some(Delivery::One(Change::Opened, sent)) = queue.take(start + 10 * SECOND) else { panic!() };
    assert_eq!(sent.affected, 15);
    queue.sent(start + 10 * SECOND);
    let (key, more) = notice("a", 20);
    queue.active(&key, more, start + 20 * SECOND);
    assert_eq!(queue.next(), None, "20 objects are not much more than 15");
}

#[test]
fn an_update_waits_for_the_interval_unless_the_severity_rises() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, one) = notice("a", 1);
    queue.active(&key, one.clone(), start);
    let reported = start + 10 * SECOND;
    queue.take(reported).unwrap();
    assert_eq!(queue.sent(reported), std::slice::from_ref(&key));
    let (_, many) = notice("a", 20);
    queue.active(&key, many.clone(), reported + SECOND);
    assert_eq!(queue.next(), Some(reported + 300 * SECOND));
    let critical = Notice { severity: Severity::Critical, ..many };
    queue.active(&key, critical, reported + 2 * SECOND);
    assert_eq!(queue.next(), Some(reported + 12 * SECOND));
    assert_eq!(change(queue.take(reported + 12 * SECOND)), Change::Updated);
    queue.sent(reported + 12 * SECOND);
    assert_eq!(queue.next(), None);
}

#[test]
fn another_order_of_the_same_causes_is_no_update() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, mut first) = notice("a", 2);
    first.causes.insert("RegistryTimeout".to_owned());
    queue.active(&key, first.clone(), start);
    queue.take(start + 10 * SECOND).unwrap();
    queue.sent(start + 10 * SECOND);
    queue.active(&key, Notice { cause: "RegistryTimeout".to_owned(), ..first.clone() }, start + 20 * SECOND);
    assert_eq!(queue.next(), None);
    let other = Notice { cause: "X".to_owned(), causes: ["X".to_owned()].into(), ..first };
    queue.active(&key, other, start + 30 * SECOND);
    assert_eq!(queue.next(), Some(start + 310 * SECOND));
}

#[test]
fn an_incident_is_resolved_once_and_one_that_was_short_is_not_sent() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, one) = notice("a", 1);
    queue.active(&key, one.clone(), start);
    queue.ended(&key, &end(), start + 3 * SECOND);
    assert!(queue.is_empty(), "it ended before it was due");

    queue.active(&key, one.clone(), start);
    queue.take(start + 10 * SECOND).unwrap();
    queue.sent(start + 10 * SECOND);
    queue.ended(&key, &end(), start + 60 * SECOND);
    // Its next pod fails at once: nothing has ended.
    queue.active(&key, one, start + 70 * SECOND);
    assert_eq!(queue.next(), None);
    queue.ended(&key, &end(), start + 100 * SECOND);
    assert_eq!(queue.next(), Some(start + 130 * SECOND));
    assert_eq!(change(queue.take(start + 130 * SECOND)), Change::Resolved);
    assert_eq!(queue.sent(start + 130 * SECOND), [key]);
    assert!(queue.is_empty());
}

#[test]
fn the_end_states_all_objects_and_the_whole_duration() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, all) = notice("a", 20);
    let (_, last) = notice("a", 1);
    queue.active(&key, all, start);
    queue.take(start + 10 * SECOND).unwrap();
    queue.sent(start + 10 * SECOND);
    // One after the other recovers; the last one has failed later than the first.
    let since = last.since.map(|since| since + SECOND);
    queue.active(&key, Notice { since, ..last }, start + 50 * SECOND);
    queue.ended(&key, &end(), start + 60 * SECOND);
    let Some(Delivery::One(change, sent)) = queue.take(start + 90 * SECOND) else { panic!() };
    let title = "Resolved: RegistryConnectionRefused: Registry registry.example.com (20 objects affected)";
    assert_eq!(sent.title(change, None), title);
    let lines = sent.lines(change);
    let has = |name: &str, text: &str| lines.iter().any(|(of, line)| *of == name && line.contains(text));
    assert!(has("Was affected", "shop/Deployment/web17") && has("Was affected", "and 10 more"), "{lines:?}");
    assert!(has("Now", "all have ended; shop/Deployment/web: "), "{lines:?}");
    assert!(has("Duration", "since 2026-11-28T10:00:00Z"), "{lines:?}");
}

#[test]
fn more_incidents_than_allowed_are_one_digest() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    for at in 0..40 {
        let (key, notice) = notice(&format!("r{at}"), 1);
        queue.active(&key, notice, start);
    }
    let now = start + 10 * SECOND;
    let Some(Delivery::Digest(all)) = queue.take(now) else { panic!() };
    assert_eq!(all.len(), 40);
    assert_eq!(queue.sent(now).len(), 40);
    assert_eq!(queue.next(), None, "a digest reports all of them");
    // The limit holds for single messages, too.
    for at in 0..9 {
        let (key, notice) = notice(&format!("s{at}"), 1);
        queue.active(&key, notice, now + at * SECOND);
        assert_eq!(change(queue.take(now + (10 + at) * SECOND)), Change::Opened);
        queue.sent(now + (10 + at) * SECOND);
    }
    let (key, last) = notice("t", 1);
    queue.active(&key, last, now + 20 * SECOND);
    assert_eq!(queue.take(now + 30 * SECOND), None);
    assert_eq!(queue.next(), Some(now + 60 * SECOND));
    assert_eq!(change(queue.take(now + 60 * SECOND)), Change::Opened);
}

#[test]
fn a_pager_gets_an_alert_for_a_digest_and_it_is_resolved_when_all_ended() {
    let (mut queue, start) = (Queue::new(Limits { per_minute: 2, ..limits(Style::Pager) }), Instant::now());
    let all: Vec<_> = (0..3).map(|at| notice(&format!("r{at}"), 1)).collect();
    for (key, notice) in &all {
        queue.active(key, notice.clone(), start);
    }
    let now = start + 10 * SECOND;
    assert!(matches!(queue.take(now), Some(Delivery::Digest(_))));
    queue.sent(now);
    for (at, (key, _)) in (0..).zip(&all) {
        assert_eq!(queue.next(), None, "some of the digest still last");
        queue.ended(key, &end(), now + at * SECOND);
    }
    assert_eq!(queue.take(now + 90 * SECOND), Some(Delivery::DigestOver));
    queue.sent(now + 90 * SECOND);
    assert!(queue.is_empty());
}

#[test]
fn alertmanager_gets_all_in_one_request_and_again_each_minute() {
    let (mut queue, start) = (queue(Style::Batch), Instant::now());
    for at in 0..40 {
        let (key, notice) = notice(&format!("r{at}"), 1);
        queue.active(&key, notice, start);
    }
    let now = start + 10 * SECOND;
    let Some(Delivery::Batch(all)) = queue.take(now) else { panic!() };
    assert_eq!(all.len(), 40);
    queue.sent(now);
    assert_eq!(queue.next(), Some(now + 60 * SECOND));
    queue.take(now + 60 * SECOND).unwrap();
    assert!(queue.sent(now + 60 * SECOND).is_empty(), "a repetition has nothing new");
}

#[test]
fn failures_back_off_and_honour_retry_after() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, one) = notice("a", 1);
    queue.active(&key, one, start);
    let mut now = start + 10 * SECOND;
    let mut pauses = Vec::new();
    for _ in 0..8 {
        queue.take(now).unwrap();
        let pause = queue.failed(now, None, 1.0);
        assert_eq!(queue.take(now), None);
        assert_eq!(queue.next(), Some(now + pause));
        pauses.push(pause.as_secs());
        now += pause;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    queue.take(now).unwrap();
    assert_eq!(queue.failed(now, Some(120 * SECOND), 0.0), 120 * SECOND);
    now += 120 * SECOND;
    queue.take(now).unwrap();
    queue.sent(now);
    assert_eq!(queue.next(), None);
}

#[test]
fn a_receiver_that_was_down_gets_the_last_state_of_each_incident_once() {
    for (style, of_ended) in [(Style::Chat, true), (Style::Pager, false)] {
        let (mut queue, start) = (queue(style), Instant::now());
        let (lasting, first) = notice("lasting", 1);
        let (short, second) = notice("short", 1);
        queue.active(&lasting, first, start);
        queue.active(&short, second, start);
        let mut now = start + 10 * SECOND;
        while now < start + 600 * SECOND {
            queue.take(now).unwrap();
            now += queue.failed(now, None, 0.5);
        }
        queue.ended(&short, &end(), now);
        let (_, more) = notice("lasting", 8);
        queue.active(&lasting, more, now);
        now += 40 * SECOND;
        let mut got = Vec::new();
        while let Some(delivery) = queue.take(now) {
            let Delivery::One(change, notice) = delivery else { panic!() };
            got.push((change, notice.incident.to_string(), notice.affected));
            queue.sent(now);
        }
        got.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
        let mut expected = vec![(Change::Opened, "Registry/lasting".to_owned(), 8)];
        if of_ended {
            // A reader of a chat learns what was missed. A pager has nothing to resolve.
            expected.push((Change::Resolved, "Registry/short".to_owned(), 1));
        }
        assert_eq!(got, expected);
        assert_eq!(queue.next(), None);
    }
}

#[test]
fn a_restarted_process_neither_repeats_nor_forgets() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, one) = notice("a", 1);
    let (ended, other) = notice("b", 1);
    let reported = Reported::of(&one, false);
    queue.restore(&key, reported.clone(), one.clone(), start);
    queue.restore(&ended, reported, other, start);
    queue.active(&key, one, start);
    assert_eq!(queue.next(), Some(start + 30 * SECOND));
    let Some(Delivery::One(Change::Resolved, notice)) = queue.take(start + 30 * SECOND) else { panic!() };
    assert_eq!(&*notice.incident, "Registry/b");
    queue.sent(start + 30 * SECOND);
    assert_eq!((queue.next(), queue.len()), (None, 1));
}

#[test]
fn a_rejected_message_is_not_repeated_and_not_remembered() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (key, one) = notice("a", 1);
    queue.active(&key, one.clone(), start);
    queue.take(start + 10 * SECOND).unwrap();
    queue.rejected(start + 10 * SECOND);
    assert_eq!((queue.next(), queue.reported(&key)), (None, None));
    queue.ended(&key, &end(), start + 20 * SECOND);
    assert!(queue.is_empty());
}

#[test]
fn the_number_of_incidents_is_bounded() {
    let (mut queue, start) = (queue(Style::Chat), Instant::now());
    let (_, one) = notice("a", 1);
    let dropped: usize =
        (0..INCIDENTS_MAX + 7).map(|at| usize::from(queue.active(&format!("r{at}").into(), one.clone(), start))).sum();
    assert_eq!((queue.len(), dropped), (INCIDENTS_MAX, 7));
    assert!(!queue.active(&"r1003".into(), one, start), "each is counted once");
}
