//! Tests of the check of rules.

use serde_json::{Value, json};

use super::{Checked, check};
use crate::wire::WireRule;

/// A cause of a container that ends with this message.
fn cause(name: &str, message: &str) -> Value {
    json!({
        "cause": name, "category": "Start", "signal": "programError", "before": ["*"],
        "match": {"message": {"any": [message]}},
        "summary": "{container.display} has no license: {programError.message}",
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [{"text": "Renew the license."}],
    })
}

/// A pod whose container ends again and again with this message.
fn pod(namespace: &str, message: &str) -> Value {
    json!({
        "kind": "Pod", "metadata": {"name": "web", "namespace": namespace, "uid": "u1", "labels": {"team": "a"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": "Running", "containerStatuses": [{
            "name": "web", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {
                "exitCode": 1, "reason": "Error", "message": message,
                "startedAt": "2026-11-21T09:08:58Z", "finishedAt": "2026-11-21T09:09:00Z",
            }},
        }]},
    })
}

fn test(name: &str, object: &Value, expect: Option<&str>, must_name: &[&str]) -> Value {
    let mut test = json!({"name": name, "at": "2026-11-21T09:10:00Z", "objects": [object], "mustName": must_name});
    if let Some(expect) = expect {
        test["expect"] = json!(expect);
    }
    test
}

fn license(tests: &[Value]) -> Checked {
    check(&json!({"causes": [cause("acme.example/NoLicense", "license * expired")], "tests": tests}))
}

#[test]
fn rule_is_active_if_its_tests_pass() {
    let expired = pod("shop", "license acme-42 expired on 2026-10-01");
    let passed = license(&[
        test("expired", &expired, Some("acme.example/NoLicense"), &["ACME-42"]),
        test("another error", &pod("shop", "license file not readable"), None, &[]),
    ]);
    assert!(passed.is_active() && passed.tests == 2, "{passed:?}");
    assert_eq!(passed.additions.causes.len(), 1);

    let failed = license(&[
        test("a detail", &expired, Some("acme.example/NoLicense"), &["renewed"]),
        test("healthy", &expired, None, &[]),
        test("other", &pod("shop", "quux"), Some("acme.example/NoLicense"), &[]),
    ]);
    assert!(!failed.is_active() && failed.additions.causes.is_empty());
    assert_eq!(
        failed.failed,
        [
            "a detail: the summary does not name \"renewed\": web has no license: license acme-42 expired on 2026-10-01",
            "healthy: found acme.example/NoLicense, which is not expected",
            "other: acme.example/NoLicense is expected; found AppError",
        ]
    );
}

#[test]
fn exceptions_ignore_or_narrow_a_cause() {
    let refused = |namespace: &str| pod(namespace, "Error: connect ECONNREFUSED 10.0.0.1:5432");
    let found = |exception: Value, namespace: &str| {
        let tests = [test("t", &refused(namespace), Some("acme.example/Nothing"), &[])];
        let causes = [cause("acme.example/Nothing", "never to be found")];
        let checked = check(&json!({"causes": causes, "exceptions": [exception], "tests": tests}));
        assert!(checked.errors.is_empty(), "{checked:?}");
        checked.failed.concat().replace("t: acme.example/Nothing is expected; ", "")
    };
    let ignored = json!({"cause": "DependencyUnreachable", "namespaces": ["ci"], "ignore": true});
    assert_eq!(found(ignored.clone(), "shop"), "found DependencyUnreachable");
    assert_eq!(found(ignored, "ci"), "nothing fails");
    let labelled =
        |value: &str| json!({"cause": "DependencyUnreachable", "matchLabels": {"team": value}, "ignore": true});
    assert_eq!(found(labelled("a"), "ci"), "nothing fails");
    assert_eq!(found(labelled("b"), "ci"), "found DependencyUnreachable");
    let narrowed = |when: &str| json!({"cause": "DependencyUnreachable", "when": when});
    assert_eq!(found(narrowed("programError.exitCode == 1"), "ci"), "found DependencyUnreachable");
    assert_eq!(found(narrowed("programError.exitCode == 2"), "ci"), "found AppError");
}

#[test]
fn errors_have_their_place_in_the_spec() {
    let with = |key: &str, value: Value| {
        let mut of = cause("acme.example/NoLicense", "license * expired");
        of[key] = value;
        json!({"causes": [of]})
    };
    let many: Vec<Value> = (0..101).map(|n| test(&n.to_string(), &json!({}), None, &[])).collect();
    let valid = cause("acme.example/NoLicense", "license * expired");
    for (spec, error) in [
        (json!({}), "spec: the rule has neither causes nor exceptions"),
        (json!("x"), "spec: invalid type: string"),
        (json!({"cause": []}), "spec: unknown field `cause`"),
        (with("cause", json!("NoLicense")), "causes.0.cause: `NoLicense` has no prefix; write a domain of yours"),
        (with("cause", json!("acme.example/no license")), "causes.0.cause: `acme.example/no license` is no name"),
        (with("cause", json!("-acme.example/License")), "causes.0.cause: `-acme.example/License` is no name"),
        (
            with("signal", json!("programEror")),
            "causes.0.signal: unknown signal `programEror`; did you mean `programError`?",
        ),
        (with("threshold", json!(5)), "causes.0: "),
        (with("summary", json!("{pod.nam}")), "causes.0.summary.0.text: unknown field of pod `nam`"),
        (
            with("match", json!({"when": "[1,2].exists(x, x == programError.exitCode)".repeat(40)})),
            "causes.0.match.0.when: it has 1720 characters, and 1000 are allowed",
        ),
        (
            with("match", json!({"message": {"any": ["x".repeat(501)]}})),
            "causes.0.match.0.message.any.0: the pattern has 501 bytes, and 500 are allowed",
        ),
        (
            with("remedies", json!([{"text": "y", "command": "rm -rf /"}])),
            "causes.0.remedies.0.command: `rm -rf /` is not",
        ),
        (
            with("match", json!({})),
            "causes.0.match: without a condition it applies to each programError; give `reasons`",
        ),
        (
            json!({"causes": [valid], "tests": [test("t", &json!({}), Some("acme.example/NoLicence"), &[])]}),
            "tests.0.expect: unknown cause `acme.example/NoLicence`; did you mean `acme.example/NoLicense`?",
        ),
        (json!({"causes": [valid, valid]}), "causes.1.cause: acme.example/NoLicense is there twice"),
        (json!({"causes": [valid], "tests": many}), "spec: the rule has 101 tests, and 100 are allowed"),
        (json!({"causes": [valid], "tests": [{"name": "t"}]}), "tests.0: missing field `objects`"),
        (
            json!({"exceptions": [{"cause": "OOMKilled"}]}),
            "exceptions.0: `ignore: true` or a condition `when` is missing",
        ),
        (
            json!({"exceptions": [{"cause": "OOMKilled", "ignore": true, "when": "true"}]}),
            "exceptions.0.when: `ignore: true` needs",
        ),
        (json!({"exceptions": [{"cause": "Nope", "ignore": true}]}), "exceptions.0.cause: unknown cause `Nope`"),
        (with("summary", json!("x".repeat(600_000))), "spec: it has "),
    ] {
        let checked = check(&spec);
        assert!(!checked.is_active() && checked.additions.causes.is_empty(), "{error}");
        assert!(checked.errors.first().is_some_and(|found| found.starts_with(error)), "{error}: {:?}", checked.errors);
    }
}

/// A cause of widgets, whose status has no conditions.
fn of_widgets(condition: &Value) -> Value {
    json!({
        "cause": "acme.example/WidgetNotScaled", "category": "Lifecycle", "signal": "object", "match": condition,
        "threshold": "5m",
        "summary": "{object.display} has {resource.status.ready|0} of {resource.spec.replicas} replicas[: {resource.status.error}]",
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [
            {"text": "Raise the quota of {resource.spec.zones}.", "when": "has(resource.spec.zones) && 'b' in resource.spec.zones"},
            {"text": "Read the log of the controller."},
        ],
    })
}

fn widget(fields: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "acme.example/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "uid": "w1", "creationTimestamp": "2026-11-20T09:00:00Z"},
    });
    for (key, value) in fields.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

#[test]
fn cause_of_a_kind_compares_fields_of_an_object_without_conditions() {
    const CAUSE: Option<&str> = Some("acme.example/WidgetNotScaled");
    let cause = of_widgets(&json!({
        "kinds": ["widgets.acme.example"],
        "when": "!has(resource.status.ready) || resource.spec.replicas > resource.status.ready",
    }));
    let of = |spec: &Value, status: &Value| widget(&json!({"spec": spec, "status": status}));
    let other = json!({
        "apiVersion": "other.example/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop", "uid": "w2"},
        "spec": {"replicas": 3}, "status": {"ready": 1},
    });
    let ready = json!({"ready": 1, "error": "no quota", "conditions": [{"type": "Ready", "status": "True"}]});
    let checked = check(&json!({"causes": [cause], "tests": [
        test("too few", &of(&json!({"replicas": 3}), &ready), CAUSE, &["Widget w has 1 of 3 replicas: no quota"]),
        test("no status", &widget(&json!({"spec": {"replicas": 3}})), CAUSE, &["0 of 3"]),
        test("enough", &of(&json!({"replicas": 3}), &json!({"ready": 3})), None, &[]),
        test("another kind of this name", &other, None, &[]),
    ]}));
    assert_eq!(checked.failed, [""; 0]);
    assert_eq!(checked.errors, [""; 0]);
    let fields: Vec<(String, Vec<String>)> = checked
        .fields
        .iter()
        .map(|(kind, paths)| (kind.to_string(), paths.iter().map(str::to_owned).collect()))
        .collect();
    let read = ["spec.replicas", "spec.zones", "status.error", "status.ready"].map(str::to_owned);
    assert_eq!(fields, [("widgets.acme.example".to_owned(), read.to_vec())]);
}

#[test]
fn wrong_kinds_and_fields_are_errors() {
    for (condition, error) in [
        (
            json!({"when": "resource.spec.replicas > 1"}),
            "causes.0.match.0.when: the fields of a resource are read only for the kinds in `match.kinds`; add `kinds: [widgets.acme.example]` to each alternative of `match`",
        ),
        (
            json!({"kinds": ["widgets"], "when": "object.phase == 'x'"}),
            "causes.0.match.0.kinds.0: write the plural and the group, such as certificates.cert-manager.io",
        ),
        (
            json!({"kinds": ["widgets.acme.example"], "when": "resource.spec.text.matches('a.*')"}),
            "causes.0.match.0.when: unknown function `matches`; known are all, bool, bytes, contains, double, dyn, endsWith, exists, exists_one, filter, has, int, map, size, startsWith, string, type, uint",
        ),
        (
            json!({"kinds": ["widgets.acme.example"]}),
            "causes.0.match: without a condition it applies to each object; give `reasons`, words of the `message`, or `when`",
        ),
    ] {
        let errors = check(&json!({"causes": [of_widgets(&condition)]})).errors;
        assert!(errors.iter().any(|line| line == error), "{errors:#?}");
    }
    let mut of_pods = cause("acme.example/NoLicense", "license");
    of_pods["match"]["kinds"] = json!(["widgets.acme.example"]);
    let errors = check(&json!({"causes": [of_pods]})).errors;
    assert_eq!(
        errors,
        ["causes.0.match.0.kinds: only the signal of custom resources has kinds; write `signal: object`"]
    );
}

#[test]
fn rule_that_is_nested_too_deep_is_invalid_and_fails_no_list() {
    let nested = |levels: usize| {
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        format!(r#"{{"metadata": {{"name": "deep"}}, "spec": {{"causes": [], "tests": [{open}1{close}]}}}}"#)
    };
    for levels in [70, 130, 5000] {
        let list: Vec<WireRule> = serde_json::from_str(&format!("[{}]", nested(levels))).expect("it is read");
        let errors = check(&list[0].spec).errors;
        assert_eq!(errors, ["spec: lists and maps are nested more than 64 levels deep"], "{levels}");
    }
    let shallow: WireRule = serde_json::from_str(&nested(60)).unwrap();
    assert!(!check(&shallow.spec).errors.iter().any(|error| error.contains("deep")), "60 levels are read");
}
