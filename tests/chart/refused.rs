//! Invalid values are rejected, with their names and what is allowed.

use shindan::notify::Settings;

use crate::{refused, rendered};

#[test]
fn invalid_values_are_rejected_with_name_and_range() {
    let cases: [(&str, &[&str]); 55] = [
        (
            r#"config.thresholds={"RegistryTimeuot":"5m"}"#,
            &["config.thresholds", "RegistryTimeuot is no cause with a threshold; similar: RegistryTimeout;"],
        ),
        (
            r#"config.ignoreCauses=["OOMKiled"]"#,
            &["config.ignoreCauses: OOMKiled is no cause; similar: OOMKilled, OOMKilledByNode;"],
        ),
        (r#"resources={"limits":{"memory":"abc"}}"#, &["/resources/limits/memory", "abc"]),
        (r#"config.ignoreCauses=["OOM Killed"]"#, &["/config/ignoreCauses/0", "OOM Killed"]),
        (
            r#"config.thresholds={"OOMKilled":"5m"}"#,
            &["config.thresholds: OOMKilled is no cause with a threshold; docs/configuration.md lists them"],
        ),
        (r#"config.selector="a in b""#, &["/config/selector", "a in b"]),
        (
            r#"config.thresholds={"RegistryTimeout":"2d"}"#,
            &["config.thresholds.RegistryTimeout", "2d must be from 0s to 1d"],
        ),
        (r#"config.retention="1s""#, &["config.retention", "1s must be from 1m to 90d"]),
        ("config.eventGrace=301", &["config.eventGrace", "301 must be from 0s to 5m"]),
        (r#"config.neverReady="soon""#, &["/config/neverReady", "soon"]),
        ("config.neverReady=1.5", &["/config/neverReady", "got number"]),
        (
            r#"config.leaderElectRenewDeadline="10s""#,
            &["leaderElectLeaseDuration (10s) must be longer than", "leaderElectRenewDeadline"],
        ),
        ("config.writeConcurrency=0", &["/config/writeConcurrency", "got 0, want 1"]),
        ("config.writeConcurrency=257", &["/config/writeConcurrency", "got 257, want 256"]),
        (r#"config.logFormat="yaml""#, &["/config/logFormat", "'text', 'json'"]),
        (r#"config.retantion="1h""#, &["/config", "retantion"]),
        (r#"namespaces=["Not_One"]"#, &["/namespaces/0", "Not_One"]),
        (r#"nodes="yes""#, &["/nodes", "got string, want"]),
        ("replicas=-1", &["/replicas", "got -1, want 0"]),
        (r#"image.digest="sha256:1""#, &["/image/digest", "sha256:1"]),
        (r#"image.pullPolicy="Sometimes""#, &["/image/pullPolicy", "'IfNotPresent'"]),
        (
            r#"podLabels={"app.kubernetes.io/name":"other"}"#,
            &["podLabels: the chart sets the label app.kubernetes.io/name"],
        ),
        (r#"podLabels={"team":"a b"}"#, &["/podLabels/team", "a b"]),
        (r#"dashboards.labels={"helm.sh/chart":"a"}"#, &["dashboards.labels: the chart sets the label helm.sh/chart"]),
        (r#"fullnameOverride="Not_One""#, &["/fullnameOverride", "Not_One"]),
        (r#"nameOverride="-a""#, &["/nameOverride", "-a"]),
        (r#"image.tag="a b""#, &["/image/tag", "a b"]),
        (r#"imagePullSecrets=["registry"]"#, &["/imagePullSecrets/0", "got string, want object"]),
        // Names of version 0.1.
        (r#"image.pullSecrets=[{"name":"registry"}]"#, &["/image", "pullSecrets"]),
        (r#"priorityClass={"create":false}"#, &["priorityClass"]),
        (r#"serviceAccount.nmae="a""#, &["/serviceAccount", "nmae"]),
        (r#"podSecurityContext={"runAsNonRot":true}"#, &["/podSecurityContext", "runAsNonRot"]),
        (
            r#"securityContext={"seccompProfile":{"type":"None"}}"#,
            &["/securityContext/seccompProfile/type", "RuntimeDefault"],
        ),
        (r#"tolerations=[{"effect":"Never"}]"#, &["/tolerations/0/effect", "NoSchedule"]),
        (r#"affinity={"nodeAfinity":{}}"#, &["/affinity", "nodeAfinity"]),
        (r#"topologySpreadConstraints=[{"maxSkew":1}]"#, &["/topologySpreadConstraints/0", "whenUnsatisfiable"]),
        (r#"priorityClassName="High!""#, &["/priorityClassName", "High!"]),
        (r#"extraArgs=["retention=1h"]"#, &["/extraArgs/0", "retention=1h"]),
        (r#"extraEnv=[{"name":"A","valeu":"1"}]"#, &["/extraEnv/0", "valeu"]),
        (
            r#"extraEnv=[{"name":"A","value":"1","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]"#,
            &["/extraEnv/0"],
        ),
        (r#"extraVolumes=[{"name":"settings"}]"#, &["/extraVolumes/0", "minProperties"]),
        (
            r#"extraVolumeMounts=[{"name":"settings","mountPath":"/etc/shindan"}]"#,
            &["extraVolumeMounts: extraVolumes has no volume settings"],
        ),
        (r#"rules.definitions={"a":{"cases":[]}}"#, &["/rules/definitions/a", "cases"]),
        (
            r#"rules.definitions={"a":{"causes":[{"cause":"a.example/B"}]}}"#,
            &["/rules/definitions/a/causes/0", "summary"],
        ),
        (r#"rules.definitions={"A_b":{"exceptions":[]}}"#, &["/rules/definitions", "A_b"]),
        (r#"prometheusRule.alertLabels={"a-b":"c"}"#, &["/prometheusRule/alertLabels", "a-b"]),
        (r#"config.thresholds={"a b":"1m"}"#, &["/config/thresholds", "a b"]),
        (r#"rules.kinds=["widgets"]"#, &["/rules/kinds/0", "widgets"]),
        (r#"metrics.serviceMonitor.interval="30""#, &["/metrics/serviceMonitor/interval", "30"]),
        (
            r#"prometheusRule.alertLabels={"severity":"page"}"#,
            &["prometheusRule.alertLabels: each alert has its own severity"],
        ),
        (r#"networkPolicy.metricsFrom=[{"podSelectr":{}}]"#, &["/networkPolicy/metricsFrom/0", "podSelectr"]),
        (r#"networkPolicy.extraEgress=[{"ports":[{"port":70000}]}]"#, &["/networkPolicy/extraEgress/0/ports/0/port"]),
        ("networkPolicy.apiServer.cidrs=[]", &["/networkPolicy/apiServer/cidrs", "minItems"]),
        ("previousLog=true", &["previousLog"]),
        (r#"annotate=["nodes"]"#, &["/annotate/0", "'pods', 'workloads'"]),
    ];
    for (value, texts) in cases {
        let error = refused(&[value]);
        assert!(texts.iter().all(|word| error.contains(word)), "{value}: {error}");
    }
    let both = refused(&[r#"config.retention="91d""#, r#"config.flappingWindow="59s""#]);
    assert!(both.contains("config.retention: 91d") && both.contains("config.flappingWindow: 59s"), "{both}");
}

/// A flag has one value, so `extraArgs` and `extraEnv` cannot set it again.
#[test]
fn flags_with_a_value_are_rejected_elsewhere() {
    for (value, text) in [
        (r#"extraArgs=["--retention=1h"]"#, "extraArgs: --retention is set by config.retention"),
        (r#"extraArgs=["--namespace=a"]"#, "extraArgs: --namespace is set by namespaces"),
        (r#"extraArgs=["--previous-logs"]"#, "extraArgs: --previous-logs is set by previousLogs"),
        (r#"extraArgs=["--leader-elect"]"#, "extraArgs: --leader-elect is set by the chart"),
        (
            r#"extraEnv=[{"name":"SHINDAN_NEVER_READY","value":"1h"}]"#,
            "extraEnv: SHINDAN_NEVER_READY is set by config.neverReady",
        ),
        (
            r#"extraEnv=[{"name":"RUST_LOG","value":"a"},{"name":"RUST_LOG","value":"b"}]"#,
            "extraEnv: RUST_LOG is set twice",
        ),
    ] {
        let error = refused(&[value]);
        assert!(error.contains(text), "{value}: {error}");
    }
}

/// An operator without Nodes has no permission in the cluster, and reads no DiagnosisRules.
#[test]
fn rules_need_an_operator_that_reads_them() {
    const RULE: &str = r#"rules.definitions={"quiet":{"exceptions":[{"cause":"AppError","ignore":true}]}}"#;
    for without in ["nodes=false", r#"namespaces=["a"]"#] {
        let error = refused(&[RULE, without]);
        assert!(error.contains("rules.definitions: DiagnosisRules are cluster-scoped"), "{error}");
    }
}

/// The chart rejects what the program would reject after the installation, and accepts what it accepts.
#[test]
fn notifications_are_checked_as_by_the_program() {
    const CHAT: &str = r#"{"name":"chat","slack":{"urlFile":"/run/url"}}"#;
    let with = |more: &str| format!(r#"{{"receivers":[{CHAT}]{more}}}"#);
    let one = |receiver: &str| format!(r#"{{"receivers":[{receiver}]}}"#);
    let cases = [
        (with(""), None),
        (with(r#","groupWait":"5m","updateInterval":"1d""#), None),
        (with(r#","groupWait":"0s","updateInterval":"90""#), None),
        (with(r#","groupWait":"10m""#), Some("notify.config.groupWait: 10m must be from 0s to 5m")),
        (with(r#","updateInterval":"25h""#), Some("notify.config.updateInterval: 25h must be from 0s to 1d")),
        (with(r#","groupWait":"soon""#), Some("/notify/config/groupWait")),
        (with(r#","gruopWait":"1m""#), Some("'gruopWait' not allowed")),
        (with(r#","routes":[{"receivers":["chat"],"categories":["Image"]}]"#), None),
        (with(r#","routes":[{"receivers":["caht"]}]"#), Some("notify.config.routes[0]: there is no receiver caht")),
        (with(r#","routes":[{"receivers":["chat"],"categories":["Images"]}]"#), Some("/routes/0/categories/0")),
        (one(&format!("{CHAT},{CHAT}")), Some("notify.config.receivers[1] (chat): the name is there twice")),
        (r#"{"cluster":"prod"}"#.to_owned(), Some("notify.config.receivers: name at least one receiver")),
        (one(r#"{"name":"none"}"#), Some("receivers[0] (none): must have exactly one of: slack, teams")),
        (
            one(r#"{"name":"two","slack":{"urlFile":"/run/a"},"teams":{"urlFile":"/run/b"}}"#),
            Some("receivers[0] (two): must have exactly one of"),
        ),
        (one(r#"{"name":"hook","webhook":{}}"#), Some("(hook): webhook: must have either url or urlFile")),
        (one(r#"{"name":"hook","webhook":{"url":"https://a.example/","urlFile":"/run/url"}}"#), Some("either url or")),
        (
            one(r#"{"name":"hook","webhook":{"url":"http://a.example/"}}"#),
            Some("(hook): url: must begin with https://"),
        ),
        (one(r#"{"name":"hook","webhook":{"url":"http://10.0.0.1:80/"}}"#), Some("url: must begin with https://")),
        (one(r#"{"name":"hook","webhook":{"url":"http://receiver:8080/in"}}"#), None),
        (one(r#"{"name":"hook","webhook":{"url":"http://Receiver.team-a.svc:80/in"}}"#), None),
        (one(r#"{"name":"hook","webhook":{"url":"http://receiver.team-a.svc.cluster.local"}}"#), None),
        (one(r#"{"name":"hook","webhook":{"url":"http://127.0.0.1:8080/"}}"#), None),
        (one(r#"{"name":"hook","webhook":{"url":"http://[::1]:8080/"}}"#), None),
        (one(r#"{"name":"hook","webhook":{"url":"http://[2001:db8::1]:8080/"}}"#), Some("url: must begin with")),
        (one(r#"{"name":"am","alertmanager":{}}"#), Some("/notify/config/receivers/0/alertmanager")),
    ];
    for (config, error) in cases {
        let by_program = Settings::parse(&config);
        assert_eq!(by_program.is_err(), error.is_some(), "the program: {config}: {by_program:?}");
        let value = format!("notify.config={config}");
        match error {
            Some(text) => assert!(refused(&[&value]).contains(text), "{value}: {}", refused(&[&value])),
            None => assert!(!rendered(&[&value]).is_empty()),
        }
    }
}

/// A secret that is named but not mounted, and one that is mounted for nothing.
#[test]
fn files_of_secrets_need_the_secret() {
    const CONFIG: &str =
        r#"notify.config={"receivers":[{"name":"chat","slack":{"urlFile":"/etc/shindan/notify-secrets/url"}}]}"#;
    let error = refused(&[CONFIG]);
    assert!(
        error.contains("receivers[0] (chat): urlFile: name the Secret with this file in notify.secretName"),
        "{error}"
    );
    assert!(!rendered(&[CONFIG, r#"notify.secretName="shindan-notify""#]).is_empty());
    let own = r#"notify.config={"receivers":[{"name":"hook","caFile":"/etc/shindan/notify-secrets/ca.crt","webhook":{"url":"https://a.example/"}}]}"#;
    let error = refused(&[own]);
    assert!(
        error.contains("receivers[0] (hook): caFile: name the Secret with this file in notify.secretName"),
        "{error}"
    );
    let error = refused(&[r#"notify.secretName="shindan-notify""#]);
    assert!(error.contains("notify.secretName: nothing uses this Secret"), "{error}");
}
