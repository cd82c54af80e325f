//! The ValidatingAdmissionPolicy of deploy/components/annotate, with its expressions evaluated on objects as a write of the
//! operator would change them. tests/e2e/annotations.rs asks the API server the same.

use std::collections::BTreeSet;

use cel::{Context, Program, Value as Cel};
use serde_json::{Value, json};

use super::{documents, find, granted, rendered, verbs};
use shindan::cluster::access::ANNOTATE;

const NAME: &str = "shindan-annotate";
const OPERATOR: &str = "system:serviceaccount:shindan-system:shindan";

fn policy() -> Value {
    let all = documents(&rendered("deploy/overlays/annotate"));
    find(&all, "ValidatingAdmissionPolicy", NAME)["spec"].clone()
}

fn evaluate(expression: &Value, context: &Context<'_, '_>) -> Option<Cel> {
    let source = expression.as_str().unwrap();
    let program = Program::compile(source).unwrap_or_else(|e| panic!("{source}: {e}"));
    program.execute(context).ok()
}

/// The message of the first validation that rejects a request. An error rejects, as with `failurePolicy: Fail`.
fn rejected(policy: &Value, request: &Value, old: &Value, new: &Value) -> Option<String> {
    let mut context = Context::default();
    for (name, value) in [("request", request), ("oldObject", old), ("object", new)] {
        context.add_variable(name, value).unwrap();
    }
    let mut variables = serde_json::Map::new();
    for variable in policy["variables"].as_array().unwrap() {
        context.add_variable("variables", &variables).unwrap();
        // The API server evaluates a variable when it is used: one of an object that is absent has no value.
        if let Some(value) = evaluate(&variable["expression"], &context) {
            variables.insert(variable["name"].as_str().unwrap().to_owned(), of_cel(&value));
        }
    }
    context.add_variable("variables", &variables).unwrap();
    let validations = policy["validations"].as_array().unwrap().iter();
    let mut failed = validations.filter(|one| evaluate(&one["expression"], &context) != Some(Cel::Bool(true)));
    failed.next().map(|one| one["message"].as_str().unwrap().to_owned())
}

/// The values of the variables: flags, lists and maps of texts.
fn of_cel(value: &Cel) -> Value {
    match value {
        Cel::Bool(flag) => json!(flag),
        Cel::String(text) => json!(text.as_str()),
        Cel::List(items) => items.iter().map(of_cel).collect(),
        Cel::Map(map) => {
            let fields = map.map.iter().map(|(key, value)| (key.to_string(), of_cel(value)));
            Value::Object(fields.collect())
        }
        other => panic!("{other:?}"),
    }
}

/// A Deployment with labels, an owner and annotations of its user.
fn deployment() -> Value {
    json!({
        "metadata": {
            "name": "web",
            "resourceVersion": "7",
            "generation": 1,
            "labels": {"app": "web"},
            "annotations": {"team": "a", "shindan.dev/ignore": "OOMKilled"},
            "ownerReferences": [{"kind": "App", "name": "web", "uid": "u"}],
        },
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "app", "image": "web:1"}]}}},
        "status": {"readyReplicas": 1},
    })
}

fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, field) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value;
    object
}

fn without(mut object: Value, parent: &str, field: &str) -> Value {
    object.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field).unwrap();
    object
}

fn update(resource: &str) -> Value {
    json!({"operation": "UPDATE", "resource": {"resource": resource}, "userInfo": {"username": OPERATOR}})
}

#[test]
fn the_operator_may_set_and_remove_its_annotation() {
    let policy = policy();
    let bare = without(deployment(), "/metadata", "annotations");
    let annotated = |object: Value, text: &str| {
        let has = object.pointer("/metadata/annotations").is_some();
        let object = if has { object } else { with(object, "/metadata/annotations", json!({})) };
        with(object, "/metadata/annotations/shindan.dev~1diagnosis", json!(text))
    };
    for object in [deployment(), bare] {
        let (first, second) = (annotated(object.clone(), "OOMKilled: a"), annotated(object.clone(), "AppError: b"));
        // A Deployment has a new generation with each annotation.
        let raised = with(first.clone(), "/metadata/generation", json!(2));
        for (old, new) in
            [(&object, &first), (&first, &second), (&first, &object), (&object, &raised), (&first, &first)]
        {
            for resource in ["pods", "deployments", "statefulsets", "daemonsets", "jobs", "cronjobs"] {
                assert_eq!(rejected(&policy, &update(resource), old, new), None, "{resource}: {old} to {new}");
            }
        }
    }
}

#[test]
fn any_other_change_of_the_operator_is_rejected() {
    let policy = policy();
    let annotation = "the operator may change no annotation but shindan.dev/diagnosis";
    let field = "the operator may change no spec, label, finalizer or owner";
    let object = deployment;
    for (what, new, message) in [
        ("an image", with(object(), "/spec/template/spec/containers/0/image", json!("web:2")), field),
        ("replicas", with(object(), "/spec/replicas", json!(0)), field),
        (
            "a pod template",
            with(object(), "/spec/template/metadata", json!({"annotations": {"shindan.dev/diagnosis": "x"}})),
            field,
        ),
        ("a label", with(object(), "/metadata/labels/app", json!("other")), field),
        ("no labels", without(object(), "/metadata", "labels"), field),
        ("a finalizer", with(object(), "/metadata/finalizers", json!(["shindan.dev/keep"])), field),
        ("an owner", with(object(), "/metadata/ownerReferences/0/uid", json!("v")), field),
        ("no owner", without(object(), "/metadata", "ownerReferences"), field),
        ("an annotation", with(object(), "/metadata/annotations/team", json!("b")), annotation),
        ("a new annotation", with(object(), "/metadata/annotations/owner", json!("b")), annotation),
        ("no annotations", without(object(), "/metadata", "annotations"), annotation),
        ("an annotation of the user", without(object(), "/metadata/annotations", "shindan.dev/ignore"), annotation),
        (
            "a similar annotation",
            with(object(), "/metadata/annotations/shindan.dev~1diagnosis2", json!("x")),
            annotation,
        ),
    ] {
        assert_eq!(rejected(&policy, &update("deployments"), &object(), &new).as_deref(), Some(message), "{what}");
        let both = with(new, "/metadata/labels", json!({"app": "x"}));
        assert!(rejected(&policy, &update("deployments"), &object(), &both).is_some(), "{what}, and a label");
    }
    let text =
        |length: usize| with(object(), "/metadata/annotations/shindan.dev~1diagnosis", json!("診".repeat(length)));
    let long = "the annotation shindan.dev/diagnosis may have at most 256 characters";
    assert_eq!(rejected(&policy, &update("pods"), &object(), &text(257)).as_deref(), Some(long));
    assert_eq!(rejected(&policy, &update("pods"), &object(), &text(256)), None);
    let request = |operation: &str| json!({"operation": operation, "resource": {"resource": "pods"}});
    let only = "the operator may only update objects that --annotate includes";
    assert_eq!(rejected(&policy, &request("CREATE"), &Value::Null, &object()).as_deref(), Some(only));
    assert_eq!(rejected(&policy, &request("DELETE"), &object(), &Value::Null).as_deref(), Some(only));
    assert_eq!(rejected(&policy, &update("replicasets"), &object(), &object()).as_deref(), Some(only));
}

/// It covers what the role grants, denies on errors, and holds for no other account.
#[test]
fn the_policy_confines_the_permission_of_the_component() {
    let all = documents(&rendered("deploy/overlays/annotate"));
    let policy = policy();
    assert_eq!(policy["failurePolicy"], "Fail");
    let rules = policy["matchConstraints"]["resourceRules"].as_array().unwrap();
    let covered: BTreeSet<_> = rules
        .iter()
        .flat_map(|rule| {
            assert_eq!(rule["operations"], json!(["CREATE", "UPDATE", "DELETE"]));
            assert_eq!(rule["apiVersions"], json!(["*"]));
            let group = rule["apiGroups"][0].as_str().unwrap().to_owned();
            let resources = rule["resources"].as_array().unwrap().iter();
            resources.map(move |resource| (group.clone(), resource.as_str().unwrap().to_owned())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(covered, verbs(&ANNOTATE).into_keys().collect());
    assert_eq!(granted(find(&all, "ClusterRole", NAME)), verbs(&ANNOTATE));

    let conditions = policy["matchConditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 1);
    for (user, is_confined) in [(OPERATOR, true), ("system:serviceaccount:shop:shindan", false), ("kube-admin", false)]
    {
        let mut context = Context::default();
        context.add_variable("request", json!({"userInfo": {"username": user}})).unwrap();
        assert_eq!(evaluate(&conditions[0]["expression"], &context), Some(Cel::Bool(is_confined)), "{user}");
    }
    let binding = &find(&all, "ValidatingAdmissionPolicyBinding", NAME)["spec"];
    assert_eq!(*binding, json!({"policyName": NAME, "validationActions": ["Deny"]}), "for all namespaces");
}
