//! Tests of the check of rules.

use serde_json::{Value, json};

use super::{Checked, check};

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
