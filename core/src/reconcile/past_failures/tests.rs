use serde_json::json;

use super::*;
use crate::api::WorkloadRef;

const DAY: i64 = 86_400;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn spec(api_version: &str, kind: &str) -> WorkloadDiagnosisSpec {
    let workload = WorkloadRef { api_version: api_version.to_owned(), kind: kind.to_owned(), ..WorkloadRef::default() };
    WorkloadDiagnosisSpec { workload, workload_uid: "uid".to_owned() }
}

fn rollback(revision: i64) -> Ending {
    Ending { by: EndedBy::Rollback, revision: Some(revision), object: None }
}

fn ending_by(by: EndedBy) -> Ending {
    Ending { by, ..Ending::default() }
}

/// The status of a Deployment.
struct Web(WorkloadDiagnosisStatus);

impl Web {
    fn new() -> Self {
        let status = json!({"state": "Recovered", "severity": "Warning", "confidence": "Certain"});
        Self(serde_json::from_value(status).unwrap())
    }

    fn fails(&mut self, cause: &str, from: i64) {
        cause.clone_into(&mut self.0.head.cause);
        self.0.head.state = DiagnosisState::Active;
        self.0.head.first_seen = Some(at(from));
    }

    fn ends(&mut self, ending: Ending, to: i64) {
        add(&spec("apps/v1", "Deployment"), &mut self.0, ending, at(to));
        self.0.head.state = DiagnosisState::Recovered;
    }

    fn text(&self) -> Option<String> {
        recurrence(&self.0, Language::English)
    }

    /// Causes, numbers of repeats, and the seconds between start and end.
    fn kept(&self) -> Vec<(&str, u32, i64)> {
        let lasted = |of: &PastFailure| seconds_between(of.started_at.unwrap(), of.ended_at.unwrap());
        self.0.past_failures.iter().map(|of| (of.cause.as_str(), of.repeats, lasted(of))).collect()
    }
}

#[test]
fn third_failure_in_a_week_is_counted_and_has_the_last_end() {
    let mut web = Web::new();
    web.fails("OOMKilled", 0);
    assert_eq!(web.text(), None, "the first one");
    web.ends(rollback(2), 300);
    assert_eq!(web.text().as_deref(), Some("ended by a rollback to revision 2, after 5 min"));
    web.fails("AppError", DAY);
    assert_eq!(web.text(), None, "another cause");
    web.ends(ending_by(EndedBy::PodsRecovered), DAY + 60);
    web.fails("OOMKilled", 2 * DAY);
    assert_eq!(
        web.text().as_deref(),
        Some("2nd time in 7 days; last time ended by a rollback to revision 2, after 5 min")
    );
    web.ends(rollback(4), 2 * DAY + 720);
    assert_eq!(web.text().as_deref(), Some("2nd time in 7 days; ended by a rollback to revision 4, after 12 min"));
    web.fails("OOMKilled", 3 * DAY);
    let third = "3rd time in 7 days; last time ended by a rollback to revision 4, after 12 min";
    assert_eq!(web.text().as_deref(), Some(third));
    assert_eq!(repeated(&web.0, Language::English).as_deref(), Some(third));
    assert_eq!(
        recurrence(&web.0, Language::Japanese).as_deref(),
        Some("7 日間で 3 回目。前回は revision 4 へのロールバックで終了 (継続時間 12 min)")
    );
    web.fails("OOMKilled", 8 * DAY);
    assert!(web.text().unwrap().starts_with("2nd time in 7 days; "), "the first one is older: {:?}", web.text());
    web.fails("OOMKilled", 10 * DAY);
    assert_eq!(web.text(), None, "both are older");
}

#[test]
fn failure_that_returns_within_an_hour_without_a_change_is_one_failure() {
    let mut web = Web::new();
    for n in 0..10 {
        web.fails("OOMKilled", n * 1800);
        web.ends(ending_by(EndedBy::PodsRecovered), n * 1800 + 600);
    }
    assert_eq!(web.kept(), [("OOMKilled", 9, 9 * 1800 + 600)]);
    assert_eq!(repeated(&web.0, Language::English), None);
    web.fails("OOMKilled", 10 * 1800);
    assert_eq!(
        web.text().as_deref(),
        Some("returned within an hour; last time its pods recovered without being replaced, after 4 h")
    );
    assert_eq!(repeated(&web.0, Language::English), None, "no news for an Event");
    web.ends(ending_by(EndedBy::PodsReplaced), 11 * 1800);
    web.fails("OOMKilled", 11 * 1800 + 3600);
    assert!(web.text().unwrap().starts_with("2nd time in 7 days; "), "an hour later: {:?}", web.text());
}

#[test]
fn failure_that_returns_after_a_change_is_another_one() {
    for (by, number) in [
        (EndedBy::Rollback, 2),
        (EndedBy::Rollout, 2),
        (EndedBy::ScaledToZero, 2),
        (EndedBy::Suspended, 2),
        (EndedBy::ObjectChanged, 2),
        (EndedBy::WorkloadDeleted, 2),
        (EndedBy::RunSucceeded, 1),
        (EndedBy::NodeRecovered, 1),
        (EndedBy::PodsReplaced, 1),
        (EndedBy::Unknown, 1),
    ] {
        let mut web = Web::new();
        web.fails("OOMKilled", 0);
        web.ends(ending_by(by), 60);
        web.fails("OOMKilled", 120);
        web.ends(ending_by(EndedBy::Unknown), 180);
        assert_eq!(web.0.past_failures.len(), number, "{by}");
    }
}

#[test]
fn ten_failures_are_kept_and_a_frequent_cause_does_not_displace_a_rare_one() {
    let mut web = Web::new();
    web.fails("OOMKilled", 0);
    web.ends(rollback(2), 60);
    for n in 1..=30 {
        web.fails("ImageTagNotFound", n * 7200);
        web.ends(ending_by(EndedBy::Rollout), n * 7200 + n);
    }
    let expected: Vec<(&str, u32, i64)> =
        (22..=30).rev().map(|n| ("ImageTagNotFound", 0, n)).chain([("OOMKilled", 0, 60)]).collect();
    assert_eq!(web.kept(), expected);
    web.fails("ImageTagNotFound", 31 * 7200);
    assert!(web.text().unwrap().starts_with("10 times or more in 7 days; last time "), "{:?}", web.text());
    web.fails("OOMKilled", 31 * 7200);
    assert!(web.text().unwrap().starts_with("2nd time in 7 days; "), "{:?}", web.text());
}

#[test]
fn jobs_are_not_remembered_and_other_workloads_are() {
    for (api_version, kind, number) in
        [("batch/v1", "Job", 0), ("batch/v1", "CronJob", 1), ("example.com/v1", "Job", 1)]
    {
        let mut web = Web::new();
        web.fails("AppError", 0);
        add(&spec(api_version, kind), &mut web.0, Ending::default(), at(60));
        assert_eq!(web.0.past_failures.len(), number, "{api_version} {kind}");
    }
}

#[test]
fn each_end_has_a_text_in_both_languages() {
    let object = |kind: &str, name: &str| Some(Root { kind: kind.to_owned(), name: name.to_owned() });
    for (ended_by, revision, object, english, japanese) in [
        (
            EndedBy::Rollback,
            None,
            None,
            "ended by a rollback to an earlier template",
            "以前のテンプレートへのロールバックで終了",
        ),
        (EndedBy::Rollout, Some(6), None, "ended by the rollout of revision 6", "revision 6 のロールアウトで終了"),
        (
            EndedBy::Rollout,
            None,
            None,
            "ended by the rollout of another template",
            "別のテンプレートのロールアウトで終了",
        ),
        (EndedBy::ScaledToZero, None, None, "ended when it was scaled to zero", "レプリカ数を 0 にして終了"),
        (EndedBy::Suspended, None, None, "ended when it was suspended", "一時停止で終了"),
        (EndedBy::RunSucceeded, None, None, "ended with a successful run", "実行の成功で終了"),
        (EndedBy::NodeRecovered, None, object("Node", "n1"), "ended when node n1 recovered", "ノード n1 の回復で終了"),
        (
            EndedBy::ObjectChanged,
            None,
            object("ConfigMap", "app-config"),
            "ended when ConfigMap app-config was created or changed",
            "ConfigMap app-config の作成または変更で終了",
        ),
        (
            EndedBy::PodsReplaced,
            None,
            object("Node", "n1"),
            "ended when its pods on node n1 were replaced",
            "ノード n1 上の Pod の置き換えで終了",
        ),
        (
            EndedBy::PodsReplaced,
            None,
            None,
            "ended when its failing pods were deleted or replaced",
            "失敗した Pod の削除または置き換えで終了",
        ),
        (EndedBy::WorkloadDeleted, None, None, "ended when it was deleted", "削除で終了"),
        (EndedBy::Unknown, None, None, "ended with no change seen", "変更は見られず終了"),
    ] {
        let of = PastFailure { ended_by, revision, object, ..PastFailure::default() };
        assert_eq!(
            (ending(&of, Language::English).as_str(), ending(&of, Language::Japanese).as_str()),
            (english, japanese)
        );
    }
}

#[test]
fn entries_are_stored_with_their_fields_and_a_status_without_them_is_read() {
    let mut web = Web::new();
    web.fails("ConfigMapNotFound", 0);
    let object = Some(Root { kind: "ConfigMap".to_owned(), name: "settings".to_owned() });
    web.ends(Ending { by: EndedBy::ObjectChanged, revision: None, object }, 90);
    let stored = serde_json::to_value(&web.0).unwrap();
    assert_eq!(
        stored["pastFailures"],
        json!([{
            "cause": "ConfigMapNotFound", "startedAt": at(0), "endedAt": at(90), "endedBy": "ObjectChanged",
            "object": {"kind": "ConfigMap", "name": "settings"},
        }])
    );
    assert_eq!(serde_json::from_value::<WorkloadDiagnosisStatus>(stored).unwrap(), web.0);
    assert_eq!(serde_json::to_value(Web::new().0).unwrap().get("pastFailures"), None);
}
