//! Each flag of the program is a value, with the same default and the same range.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use shindan::config::RunArgs;

use crate::{CHART, container, read, rendered, root, schema};

/// Flags that are no field of `config`: the chart sets the address, the account and the Lease, and flags that need
/// permissions have their own values.
const NOT_CONFIG: [&str; 11] = [
    "config",
    "kubeconfig",
    "context",
    "namespaces",
    "nodes",
    "network",
    "previous-logs",
    "annotate",
    "notify",
    "leader-elect",
    "leader-elect-resource-namespace",
];

#[derive(Debug, Parser)]
struct Run {
    #[command(flatten)]
    run: RunArgs,
}

fn takes(flag: &str, value: &str) -> Result<(), String> {
    Run::try_parse_from(["run", &format!("--{flag}={value}")]).map(|_| ()).map_err(|e| e.to_string())
}

/// `max-per-namespace` of `maxPerNamespace`.
fn flag_of(field: &str) -> String {
    field.chars().fold(String::new(), |flag, c| match c.to_ascii_lowercase() {
        lower if lower == c => flag + &c.to_string(),
        lower => flag + "-" + &lower.to_string(),
    })
}

/// `maxPerNamespace` of `max-per-namespace`.
fn camel(flag: &str) -> String {
    let mut words = flag.split('-');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// The fields of `config` with their schemas.
fn config_fields() -> BTreeMap<String, Value> {
    serde_json::from_value(schema()["properties"]["config"]["properties"].clone()).unwrap()
}

/// The range of each duration.
fn durations() -> BTreeMap<String, [String; 2]> {
    let helpers = read("templates/_check.tpl");
    let (_, table) = helpers.split_once("{{- define \"shindan.durations\" -}}").unwrap();
    serde_saphyr::from_str(table.split_once("{{- end }}").unwrap().0).unwrap()
}

#[test]
fn each_flag_is_a_field_with_its_default_in_the_values_file() {
    let values = read("values.yaml");
    let mut fields = config_fields();
    for argument in Run::command().get_arguments() {
        let flag = argument.get_long().unwrap();
        if NOT_CONFIG.contains(&flag) {
            continue;
        }
        let field = fields.keys().find(|field| flag_of(field) == flag).cloned();
        let field = field.unwrap_or_else(|| panic!("values.schema.json: config has no field for --{flag}"));
        fields.remove(&field);
        let line = values.lines().find_map(|line| line.strip_prefix(&format!("  # {field}: ")));
        let line = line.unwrap_or_else(|| panic!("values.yaml does not show config.{field}"));
        let value = line.split("  ").next().unwrap().trim_matches('"');
        let default = match (flag, argument.get_default_values()) {
            // The value of deploy/base.
            ("log-format", _) => "json",
            (_, [default]) => default.to_str().unwrap(),
            ("selector", _) => "",
            ("thresholds", _) => "{}",
            _ => "[]",
        };
        assert_eq!(value, default, "values.yaml: config.{field}");
    }
    assert!(fields.is_empty(), "no flags of shindan run: {:?}", fields.keys());
}

/// The program accepts the bounds of each range, and no values beyond.
#[test]
fn ranges_are_those_of_the_program() {
    fn seconds(text: &str) -> i64 {
        shindan::config::Seconds::parse(text).unwrap().0
    }
    let mut timed = durations();
    for (field, schema) in config_fields() {
        let flag = flag_of(&field);
        let range = if schema["$ref"] == "#/definitions/duration" {
            let [least, most] = timed.remove(&field).unwrap_or_else(|| panic!("_check.tpl: no range of {field}"));
            Some((seconds(&least), seconds(&most)))
        } else {
            schema.get("minimum").map(|least| (least.as_i64().unwrap(), schema["maximum"].as_i64().unwrap()))
        };
        if let Some((least, most)) = range {
            for within in [least, most] {
                assert_eq!(takes(&flag, &within.to_string()), Ok(()), "{field}");
            }
            for beyond in [least - 1, most + 1] {
                assert!(takes(&flag, &beyond.to_string()).is_err(), "{field}: the program takes {beyond}");
            }
        }
        let one_of: Vec<_> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for value in one_of {
            assert_eq!(takes(&flag, value), Ok(()), "{field}");
        }
    }
    assert!(timed.is_empty(), "_check.tpl has ranges of what is no duration: {timed:?}");
}

/// Checks that a template has this content; with `UPDATE=1` it is written.
fn holds(template: &str, text: &str) {
    let path = root().join(CHART).join("templates").join(template);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|known| known == text);
    assert!(is_same, "templates/{template} is not up to date: UPDATE=1 cargo test --features helm --test chart");
}

/// The chart rejects a flag in `extraArgs`, and its variable in `extraEnv`, if a value sets it.
#[test]
fn the_chart_knows_what_sets_each_flag() {
    let mut set = BTreeMap::new();
    for argument in Run::command().get_arguments() {
        let flag = argument.get_long().unwrap();
        let own = ["namespaces", "nodes", "network", "previous-logs", "annotate"];
        let by = match flag {
            "config" | "kubeconfig" | "context" | "leader-elect-resource-namespace" => continue,
            "leader-elect" => "the chart".to_owned(),
            "notify" => "notify.config".to_owned(),
            _ if own.contains(&flag) => camel(flag),
            _ => format!("config.{}", camel(flag)),
        };
        let variable = argument.get_env().unwrap().to_str().unwrap();
        assert_eq!(variable, format!("SHINDAN_{}", flag.to_uppercase().replace('-', "_")), "_check.tpl derives it");
        for name in argument.get_visible_aliases().unwrap_or_default().into_iter().chain([flag]) {
            set.insert(name.to_owned(), by.clone());
        }
    }
    let list = set.iter().fold(String::new(), |list, (flag, by)| list + flag + ": " + by + "\n");
    let text = format!(
        "{{{{- /* What sets each flag of `shindan run`. Written by tests/chart/settings.rs. */ -}}}}\n\
         {{{{- define \"shindan.flags\" -}}}}\n{list}{{{{- end }}}}\n"
    );
    holds("_flags.tpl", &text);
}

/// The chart accepts only these causes, and thresholds only for those that have one.
#[test]
fn causes_are_those_of_the_catalogue() {
    use shindan_core::rules;
    let timed: BTreeSet<_> = rules::patient().collect();
    let causes: BTreeSet<_> = rules::known().map(|known| known.cause).chain(timed.iter().copied()).collect();
    let list = causes.iter().fold(String::new(), |list, cause| format!("{list}{cause}: {}\n", timed.contains(cause)));
    let text = format!(
        "{{{{- /* All causes of catalog/, and whether they have a threshold. Written by tests/chart/settings.rs. */ -}}}}\n\
         {{{{- define \"shindan.causes\" -}}}}\n{list}{{{{- end }}}}\n"
    );
    holds("_causes.tpl", &text);
}

#[test]
fn selectors_are_validated_as_by_the_program() {
    let pattern = config_fields()["selector"]["pattern"].as_str().unwrap().to_owned();
    let pattern = regex::Regex::new(&pattern).unwrap();
    let selectors = [
        "",
        " ",
        "env=prod",
        "env==prod",
        "env!=dev,tier in (web,api)",
        "env notin (dev, test) , debug ",
        "!canary",
        "debug=",
        "app.kubernetes.io/part-of=shop",
        "tier in (web,)",
        "a in b",
        "env=dev,",
        ",env",
        "env=de v",
        "env in (dev",
        "env>1",
        "-env",
        "env-",
        "Example.com/a",
        "a/b/c",
        "env=-x",
    ];
    for selector in selectors {
        let taken = takes("selector", selector);
        assert_eq!(pattern.is_match(selector), taken.is_ok(), "{selector:?}: {taken:?}");
    }
}

/// All fields of `config` with their maximum: the program accepts the resulting variables.
#[test]
fn configuration_reaches_the_program() {
    let ranges = durations();
    let mut config = serde_json::Map::new();
    for (field, schema) in config_fields() {
        let value = match (field.as_str(), ranges.get(&field), schema["enum"][0].as_str()) {
            ("ignoreCauses", ..) => json!(["AppError", "oomkilled"]),
            ("excludeNamespaces", ..) => json!(["kube-system", "team-a"]),
            ("kinds", ..) => json!(["certificates.cert-manager.io"]),
            ("selector", ..) => json!("env!=dev,tier in (web,api)"),
            ("thresholds", ..) => {
                json!({"RegistryTimeout": "1d", "PullQPSExceeded": 90, "acme.example/BadLicense": "5m"})
            }
            // Descending values.
            ("leaderElectRenewDeadline", ..) => json!(3599),
            ("leaderElectRetryPeriod", ..) => json!("59m58s"),
            (_, Some([_, most]), _) => json!(most),
            (_, _, Some(one)) => json!(one),
            _ => schema["maximum"].clone(),
        };
        config.insert(field, value);
    }
    let all = rendered(&[&format!("config={}", Value::Object(config.clone()))]);
    let args = container(&all)["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap().to_owned());
    let mut args: Vec<_> = args.collect();
    let command = Run::command();
    for variable in container(&all)["env"].as_array().unwrap() {
        let (name, value) = (variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
        let flag = command.get_arguments().find(|argument| argument.get_env().is_some_and(|env| env == name));
        let flag = flag.unwrap_or_else(|| panic!("no flag has the variable {name}"));
        args.push(format!("--{}={value}", flag.get_long().unwrap()));
    }
    assert_eq!(args.len(), 3 + config.len() - 1, "{args:?}");
    let run = Run::try_parse_from(args).unwrap().run;
    assert_eq!(run.check(), Ok(()));
    assert_eq!(run.exclude_namespaces, ["kube-system", "team-a"]);
    assert!(run.selector.is_some_and(|selector| !selector.is_empty()));
    assert_eq!(
        run.thresholds.thresholds().chosen,
        [("PullQPSExceeded", 90), ("RegistryTimeout", 86_400), ("acme.example/BadLicense", 300)]
    );
    assert_eq!((run.retention.0, run.write_qps, run.listen.port()), (90 * 86_400, 100_000, 8080));
    assert_eq!(
        (run.ignore_causes.join(" "), run.log_format),
        ("AppError OOMKilled".into(), shindan::config::LogForm::Text)
    );
    assert_eq!(run.election.leader_elect_retry_period.0, 3598);
}
