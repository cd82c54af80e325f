//! Tests of the remedies for failed probes.

#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]

use crate::case::Health;
use crate::rules::diagnose;
use crate::testing::Scenario;

#[test]
fn wrong_path_gets_no_remedy_to_wait_longer() {
    let scenario = Scenario::from_yaml(include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml"));
    let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
    let text = format!("{:?}", found.remedies);
    assert!(text.contains("does not serve") && !text.contains("startupProbe"), "{text}");
}

#[test]
fn container_that_was_ready_for_long_has_passed_its_probe() {
    for (case, never, once) in
        [("http-404", "does not serve", "Find what removes"), ("tcp-refused", "listen on", "no longer listens on")]
    {
        let path = format!("../tests/causes/ReadinessProbeFailed/{case}.yaml");
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
fn path_that_was_served_for_long_has_been_removed() {
    let text = include_str!("../../../../tests/causes/LivenessProbeFailed/http-404.yaml");
    let started = "startedAt: \"2026-11-21T16:16:21Z\"";
    assert!(text.contains(started), "the fixture was recorded again");
    let later = text.replace(started, "startedAt: \"2026-11-21T15:16:21Z\"");
    let Health::Failing(found) = diagnose(&Scenario::from_yaml(&later).case()).health else { panic!("it fails") };
    let first = &found.remedies[0].text;
    assert!(first.contains("Find what removes") && !first.contains("does not serve"), "{first}");
}
