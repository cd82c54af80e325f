//! Remedies of failed probes.

use crate::diagnosis::testing::Scenario;
use crate::diagnosis::{Health, diagnose};

#[test]
fn who_asks_for_a_wrong_path_is_not_told_to_wait_for_it() {
    let scenario = Scenario::from_yaml(include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml"));
    let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
    let text = format!("{:?}", found.remedies);
    assert!(text.contains("does not serve") && !text.contains("startupProbe"), "{text}");
}

#[test]
fn what_was_ready_for_a_while_did_serve_what_its_probe_asks_for() {
    for (case, never, once) in
        [("http-404", "does not serve", "Find what removes"), ("tcp-refused", "listen on", "no longer listens on")]
    {
        let path = format!("tests/causes/ReadinessProbeFailed/{case}.yaml");
        let text = std::fs::read_to_string(path).unwrap();
        let first = |text: &str| {
            let scenario = Scenario::from_yaml(text).later(600);
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            found.remedies[0].text.clone()
        };
        assert!(first(&text).contains(never), "{}", first(&text));
        let scenario = Scenario::from_yaml(&text);
        let lost = scenario.pods[0].condition("Ready").unwrap().last_transition.unwrap();
        let mut long_ready = Scenario::from_yaml(&text).later(600);
        for condition in &mut long_ready.pods[0].conditions {
            condition.last_transition = Some(crate::facts::after(lost, 300));
        }
        let Health::Failing(found) = diagnose(&long_ready.case()).health else { panic!("it fails") };
        assert!(found.remedies[0].text.contains(once), "{}", found.remedies[0].text);
    }
}

#[test]
fn a_path_that_was_served_for_long_was_taken_away() {
    let text = include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml");
    let started = "startedAt: \"2026-11-21T16:16:21Z\"";
    assert!(text.contains(started), "the fixture was recorded anew");
    let later = text.replace(started, "startedAt: \"2026-11-21T15:16:21Z\"");
    let Health::Failing(found) = diagnose(&Scenario::from_yaml(&later).case()).health else { panic!("it fails") };
    let first = &found.remedies[0].text;
    assert!(first.contains("Find what removes") && !first.contains("does not serve"), "{first}");
}
