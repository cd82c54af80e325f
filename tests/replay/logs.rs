//! The log tail of a terminated container, where reading logs is permitted.

use super::operator::{Operator, crashed, ended, pod, running_again};

const IN_USE: &str = "starting\nlisten tcp :8080: bind: address already in use\n";

fn reading(log: Option<&'static str>) -> Operator {
    let mut operator = Operator::idle();
    operator.engine.world.settings.read_logs();
    operator.surroundings_mut().log = log;
    operator
}

#[test]
fn the_log_tail_is_read_before_the_first_event() {
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &ended(1, 1, "Error")));
    assert_eq!(operator.emitted(), ["Diagnosed AddressInUse"]);
    let status = operator.status("a");
    assert!(status.head.summary.contains("cannot listen on port 8080"), "{}", status.head.summary);
    let lines: Vec<_> = status.head.evidence.iter().filter(|e| e.source.starts_with("log/")).collect();
    assert_eq!(lines.len(), 1, "one line of the log, not the log: {lines:?}");
    assert_eq!(lines[0].value, "listen tcp :8080: bind: address already in use");
}

#[test]
fn the_log_is_not_read_again_after_each_equal_termination() {
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    for n in 2..8 {
        operator.advance(20);
        operator.pod(&pod("a", "u1", true, &running_again(n - 1, 1, "Error")));
        operator.advance(2);
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
    }
    operator.advance(2);
    assert_eq!(operator.surroundings().logs_read, 1);
    assert_eq!(operator.emitted(), ["Diagnosed AddressInUse"]);
    operator.advance(300);
    assert_eq!(operator.surroundings().logs_read, 2, "after five minutes the log may differ");
}

#[test]
fn a_log_that_cannot_be_read_delays_nothing() {
    let mut operator = reading(None);
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    operator.advance(1);
    assert_eq!(operator.emitted(), ["Diagnosed AppError"]);
    operator.advance(3600);
    assert!(operator.surroundings().logs_read < 20, "requests back off: {}", operator.surroundings().logs_read);
}

#[test]
fn no_log_is_read_unless_enabled_or_when_the_status_has_the_cause() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().log = Some(IN_USE);
    operator.pod(&pod("a", "u1", false, &crashed(1, 1, "Error")));
    operator.advance(30);
    assert_eq!(operator.surroundings().logs_read, 0);
    let mut operator = reading(Some(IN_USE));
    operator.pod(&pod("a", "u1", false, &crashed(1, 137, "OOMKilled")));
    operator.advance(30);
    assert_eq!(operator.surroundings().logs_read, 0, "OOMKilled needs no log");
}
