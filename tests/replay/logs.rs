//! What a run wrote last, where it may be read.

use super::operator::{Operator, crashed, ended, pod, running_again};

const IN_USE: &str = "starting\nlisten tcp :8080: bind: address already in use\n";

fn reading(log: Option<&'static str>) -> Operator {
    let mut operator = Operator::idle();
    operator.world.read_logs();
    operator.log = log;
    operator
}

#[test]
fn the_last_words_are_known_before_anything_is_told() {
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &ended(1, 1, "Error")));
    assert_eq!(operator.told(), ["Diagnosed AddressInUse"]);
    let status = operator.status("a");
    assert!(status.summary.contains("cannot listen on port 8080"), "{}", status.summary);
    let told: Vec<_> = status.evidence.iter().filter(|e| e.source.starts_with("log/")).collect();
    assert_eq!(told.len(), 1, "one line of the log, not the log: {told:?}");
    assert_eq!(told[0].value, "listen tcp :8080: bind: address already in use");
}

#[test]
fn what_ends_alike_is_not_read_at_each_restart() {
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    for n in 2..8 {
        operator.advance(20);
        operator.pod(&pod("a", "u1", true, &running_again(n - 1, 1, "Error")));
        operator.advance(2);
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
    }
    operator.advance(2);
    assert_eq!(operator.logs_read, 1);
    assert_eq!(operator.told(), ["Diagnosed AddressInUse"]);
    operator.advance(300);
    assert_eq!(operator.logs_read, 2, "after five minutes it may say something else");
}

#[test]
fn a_log_that_cannot_be_read_delays_nothing() {
    let mut operator = reading(None);
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    operator.advance(1);
    assert_eq!(operator.told(), ["Diagnosed AppError"]);
    operator.advance(3600);
    assert!(operator.logs_read < 20, "asked later and later: {}", operator.logs_read);
}

#[test]
fn no_log_is_read_unless_somebody_allowed_it_or_where_the_status_tells() {
    let mut operator = Operator::idle();
    operator.log = Some(IN_USE);
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    operator.advance(30);
    assert_eq!(operator.logs_read, 0);
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &crashed(1, 137, "OOMKilled")));
    operator.advance(30);
    assert_eq!(operator.logs_read, 0, "OOMKilled needs no words");
}
