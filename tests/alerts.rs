//! Alerts and dashboard query existing metrics, and their links lead to existing pages. tests/alerts/check tests with promtool
//! when alerts fire.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shindan_core::rules;

const RULES: &str = "deploy/components/monitoring/rules.yaml";
const DASHBOARD: &str = "deploy/components/monitoring/dashboard.json";
/// Metrics of the kubelet about the operator's container.
const OF_THE_KUBELET: [&str; 2] = ["container_cpu_usage_seconds_total", "container_memory_working_set_bytes"];
/// Labels that Prometheus adds to each series, or that replace a label of its own.
const OF_PROMETHEUS: [&str; 5] = ["job", "instance", "pod", "container", "exported_namespace"];

fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn alerts() -> Vec<Value> {
    let rules = yaml(RULES);
    list(&rules["spec"]["groups"]).flat_map(|group| list(&group["rules"]).cloned().collect::<Vec<_>>()).collect()
}

/// All texts under one of these keys, at any depth.
fn texts_of(value: &Value, names: &[&str]) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| texts_of(item, names)).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| match field.as_str() {
                Some(text) if names.contains(&name.as_str()) => vec![text.to_owned()],
                _ => texts_of(field, names),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The labels of each metric in docs/metrics.md; histograms by the names of their series.
fn known_metrics() -> BTreeMap<String, BTreeSet<String>> {
    let mut known = BTreeMap::new();
    for row in read("docs/metrics.md").lines().filter(|line| line.starts_with("| `shindan_")) {
        let cells: Vec<_> = row.split(" | ").collect();
        let name = cells[0].trim_matches(['|', ' ', '`']);
        let labels: BTreeSet<_> = cells[2].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        if cells[1] == "histogram" {
            known.insert(format!("{name}_bucket"), labels);
        } else {
            known.insert(name.to_owned(), labels);
        }
    }
    assert!(known.len() > 15, "docs/metrics.md is understood");
    let node = ["namespace", "container"].map(str::to_owned);
    known.extend(OF_THE_KUBELET.map(|name| (name.to_owned(), BTreeSet::from(node.clone()))));
    known
}

/// The metrics of an expression, each with the labels of its selectors.
fn metrics_in(expr: &str) -> Vec<(String, Vec<String>)> {
    // Quoted text is not parsed.
    let bare: String = expr.split('"').step_by(2).collect::<Vec<_>>().join("''");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut queried = Vec::new();
    let mut rest = bare.as_str();
    while let Some(at) = rest.find(is_name) {
        let (name, after) = rest[at..].split_at(rest[at..].find(|c| !is_name(c)).unwrap_or(rest.len() - at));
        rest = after;
        if !name.contains('_') || name.contains('$') || after.starts_with('(') {
            continue;
        }
        let mut labels = Vec::new();
        if let Some((selector, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            labels.extend(selector.split("''").filter_map(|part| {
                let name = part.trim_matches([',', ' ', '=', '~', '!']);
                (!name.is_empty()).then(|| name.to_owned())
            }));
            rest = after;
        }
        queried.push((name.to_owned(), labels));
    }
    queried
}

#[test]
fn an_expression_is_understood() {
    let expr = r#"sum by (le) (rate(a_b_bucket{kind!="x_y", code=~"a|b"}[$__rate_interval])) and on (job) c_d == 1"#;
    let labels = vec!["kind".to_owned(), "code".to_owned()];
    assert_eq!(metrics_in(expr), [("a_b_bucket".to_owned(), labels), ("c_d".to_owned(), Vec::new())]);
}

#[test]
fn alerts_and_dashboard_query_existing_metrics() {
    let known = known_metrics();
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let exprs = alerts().iter().flat_map(|alert| texts_of(alert, &["expr"])).collect::<Vec<_>>();
    for expr in exprs.into_iter().chain(texts_of(&dashboard, &["expr", "query", "definition"])) {
        // The type of a data source.
        if expr == "prometheus" {
            continue;
        }
        let queried = metrics_in(&expr);
        assert!(!queried.is_empty(), "no metric in {expr}");
        for (metric, labels) in queried {
            let has = known.get(&metric).unwrap_or_else(|| panic!("docs/metrics.md has no {metric}, of {expr}"));
            for label in labels.iter().filter(|label| !OF_PROMETHEUS.contains(&label.as_str())) {
                assert!(has.contains(label), "{metric} has no label {label}: {expr}");
            }
        }
    }
}

/// The anchors of the headings, as GitHub generates them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

#[test]
fn each_alert_has_a_severity_and_a_runbook() {
    const CAUSE: &str = "{{ $labels.cause }}";
    let pages = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    let alerts = alerts();
    let names: BTreeSet<_> = alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect();
    assert_eq!(names.len(), alerts.len(), "each has a name of its own");
    for alert in &alerts {
        let name = alert["alert"].as_str().unwrap();
        let severity = alert["labels"]["severity"].as_str().unwrap_or_default();
        assert!(matches!(severity, "critical" | "warning" | "info"), "{name}: {severity}");
        let text = |annotation: &str| alert["annotations"][annotation].as_str().unwrap_or_default();
        assert!(!text("summary").is_empty(), "{name}");
        assert!(text("description").contains("kubectl "), "{name} has no command");

        let place =
            text("runbook_url").strip_prefix(pages).unwrap_or_else(|| panic!("{name}: {}", text("runbook_url")));
        assert_eq!(place.contains(CAUSE), name.ends_with("Diagnosis"), "{name}");
        if place.contains(CAUSE) {
            for cause in rules::known().map(|known| known.cause).chain(["other"]) {
                read(&place.replace(CAUSE, cause));
            }
        } else {
            let (page, anchor) = place.split_once('#').unwrap_or_else(|| panic!("{name}: {place}"));
            assert!(anchors(&read(page)).contains(anchor), "{name}: {page} has no #{anchor}");
        }
    }
}

/// Each alert fires in one test, and does not fire in another one or at another time.
#[test]
fn each_alert_has_a_test() {
    let (mut fires, mut is_quiet) = (BTreeSet::new(), BTreeSet::new());
    for file in ["diagnoses", "healthy", "operator"] {
        let tests = yaml(&format!("tests/alerts/{file}.yaml"));
        for tried in list(&tests["tests"]).flat_map(|test| list(&test["alert_rule_test"])) {
            let name = tried["alertname"].as_str().unwrap().to_owned();
            let due = tried["exp_alerts"].as_array().unwrap();
            let of = if due.is_empty() { &mut is_quiet } else { &mut fires };
            of.insert(name);
        }
    }
    let names: BTreeSet<_> = alerts().iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect();
    assert_eq!(fires, names);
    assert_eq!(is_quiet, names);
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alerts")).unwrap();
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 4, "three files and what runs them: {files:?}");
}

#[test]
fn the_dashboard_can_be_loaded() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let variables: Vec<_> = list(&dashboard["templating"]["list"]).map(|v| (&v["name"], &v["type"])).collect();
    assert_eq!(variables[0], (&"datasource".into(), &"datasource".into()));
    let mut ids = BTreeSet::new();
    let mut titles = BTreeSet::new();
    for panel in list(&dashboard["panels"]) {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have the id of {title}");
        assert!(titles.insert(title), "two panels are called {title}");
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{title} is too wide");
        if panel["type"] != "row" {
            assert!(list(&panel["targets"]).count() > 0, "{title} has no query");
        }
        // The user selects the data source.
        let sources = list(&panel["targets"]).chain((panel["type"] != "row").then_some(panel));
        for target in sources {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
        }
    }
    assert!(ids.len() > 10, "the dashboard is understood");
}

/// tests/cluster builds the versions that its folders pin.
#[test]
fn each_tool_has_one_version() {
    let settings = read("tests/cluster/lib/settings.sh");
    for (tool, module) in [
        ("promtool", "github.com/prometheus/prometheus"),
        ("amtool", "github.com/prometheus/alertmanager"),
        ("otelcol", "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/k8sobjectsreceiver"),
        ("event-exporter", "github.com/resmoio/kubernetes-event-exporter"),
        ("krew", "sigs.k8s.io/krew"),
    ] {
        let name = tool.to_uppercase().replace('-', "_");
        let (_, version) = settings.split_once(&format!("{name}_VERSION=")).unwrap();
        let version = version.lines().next().unwrap();
        let pinned = read(&format!("tests/cluster/tools/{tool}/go.mod"));
        assert!(pinned.contains(&format!("{module} {version}")), "{tool} {version}");
    }
}
