//! The ServiceMonitor, the alerts and the dashboard are those of deploy/components/monitoring.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::{CHART, Objects, helm, objects, refused, rendered, root, succeeded};

/// A chart cannot read files outside of its folder, so it has copies.
#[test]
fn the_files_of_the_chart_are_those_of_the_component() {
    for (copy, original) in [("alerts.yaml", "rules.yaml"), ("dashboard.json", "dashboard.json")] {
        let original = fs::read_to_string(root().join("deploy/components/monitoring").join(original)).unwrap();
        let path = root().join(CHART).join("files").join(copy);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &original).unwrap();
        }
        let is_same = fs::read_to_string(&path).is_ok_and(|kept| kept == original);
        assert!(is_same, "files/{copy} is not up to date: UPDATE=1 cargo test --features helm --test chart");
    }
}

fn every() -> Objects {
    let command = ["template", "r", CHART, "--namespace", "ops", "-f", "tests/chart/every-value.yaml"];
    objects(&succeeded(helm(&command, &[])))
}

#[test]
fn nothing_needs_the_crds_of_prometheus_by_default() {
    let all = rendered(&[]);
    for kind in ["ServiceMonitor", "PrometheusRule", "ConfigMap", "DiagnosisRule"] {
        assert!(!all.keys().any(|name| name.starts_with(kind)), "{kind}");
    }
}

#[test]
fn values_of_the_service_monitor_reach_it() {
    let all = every();
    let monitor = &all["ServiceMonitor monitoring/diagnoses-of-shop"];
    assert_eq!(monitor["metadata"]["labels"]["release"], "kube-prometheus-stack");
    assert_eq!(monitor["metadata"]["annotations"], json!({"team": "a"}));
    // It is in another namespace than the Service.
    assert_eq!(monitor["spec"]["namespaceSelector"], json!({"matchNames": ["ops"]}));
    let endpoint = json!({
        "port": "http", "path": "/metrics", "interval": "15s", "scrapeTimeout": "10s", "honorLabels": true,
        "relabelings": [{"targetLabel": "cluster", "replacement": "east"}],
        "metricRelabelings": [{"sourceLabels": ["__name__"], "regex": "shindan_kept_.*", "action": "drop"}],
    });
    assert_eq!(monitor["spec"]["endpoints"], json!([endpoint]));
    let service = &all["Service ops/diagnoses-of-shop-metrics"];
    let selected = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(selected.iter().all(|(label, value)| service["metadata"]["labels"][label] == *value), "{service}");
    assert_eq!(service["spec"]["ports"][0]["name"], "http");
}

fn alerts(rule: &Value) -> Vec<&Value> {
    let groups = rule["spec"]["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap()).collect()
}

#[test]
fn values_of_the_alerts_reach_them() {
    let all = every();
    let rule = &all["PrometheusRule monitoring/diagnoses-of-shop"];
    assert_eq!(rule["metadata"]["labels"]["release"], "kube-prometheus-stack");
    assert_eq!(rule["metadata"]["annotations"], json!({"team": "a"}));
    let default = rendered(&["prometheusRule.enabled=true"]);
    let default = alerts(&default["PrometheusRule shindan-system/shindan"]);
    let names = |alerts: &[&Value]| -> BTreeSet<String> {
        alerts.iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect()
    };
    let ours = alerts(rule);
    let left_out = &names(&default) - &names(&ours);
    assert_eq!(left_out, BTreeSet::from(["ShindanWarningDiagnosis".to_owned()]));
    assert_eq!(ours.len() + 1, default.len());
    for alert in &ours {
        let labels = &alert["labels"];
        assert!(labels["severity"].is_string() && labels["team"] == "platform", "{labels}");
    }
    assert!(default.iter().all(|alert| alert["labels"].get("team").is_none()));
    // The commands name this release.
    let text = rule.to_string();
    for command in
        ["kubectl -n ops get lease shindan", "-l app.kubernetes.io/name=diagnoses", "deployment/diagnoses-of-shop"]
    {
        assert!(text.contains(command), "{command}");
    }
    assert!(!text.contains("shindan-system"));

    let error = refused(&[r#"prometheusRule.disabled=["ShindanWarning"]"#]);
    let words = ["prometheusRule.disabled: ShindanWarning is no alert", "ShindanWarningDiagnosis", "ShindanAbsent"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn values_of_the_dashboard_reach_it() {
    let all = every();
    let dashboard = &all["ConfigMap monitoring/diagnoses-of-shop-dashboard"];
    assert_eq!(dashboard["metadata"]["labels"]["grafana_dashboard"], "yes");
    assert_eq!(dashboard["metadata"]["annotations"], json!({"grafana_folder": "Kubernetes"}));
    let text = dashboard["data"]["dashboard.json"].as_str().unwrap();
    let loaded: Value = serde_json::from_str(text).unwrap();
    assert!(loaded["panels"].as_array().unwrap().len() > 10);
    assert!(text.contains(r#"namespace=\"ops\""#) && !text.contains("shindan-system"), "panels of the pod itself");
}
