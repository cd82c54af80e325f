use super::*;

fn refused(text: &str) -> String {
    Settings::parse(text).unwrap_err()
}

#[test]
fn a_file_with_every_receiver_is_read() {
    let settings = Settings::parse(
        "
cluster: prod
groupWait: 20s
updateInterval: 10m
messagesPerMinute: 5
receivers:
- {name: chat, slack: {urlFile: /secrets/slack}}
- {name: teams, teams: {urlFile: /secrets/teams}, messagesPerMinute: 3}
- {name: discord, discord: {urlFile: /secrets/discord}}
- {name: oncall, pagerDuty: {tokenFile: /secrets/pagerduty}}
- {name: genie, opsgenie: {tokenFile: /secrets/opsgenie, url: \"https://api.eu.opsgenie.com\"}}
- {name: alerts, alertmanager: {url: \"http://alertmanager.monitoring.svc:9093\"}}
- {name: hook, webhook: {url: \"https://hook.example.com\", secretFile: /secrets/hook}, caFile: /ca.crt}
routes:
- {severity: Critical, receivers: [oncall], continue: true}
- {namespaces: [team-a], categories: [Image], workloads: [\"Deployment/*\"], receivers: [chat, hook]}
",
    )
    .unwrap();
    assert_eq!((settings.group_wait, settings.update_interval), (Duration::from_secs(20), Duration::from_secs(600)));
    let kinds: Vec<_> = settings.receivers.iter().map(|receiver| receiver.kind).collect();
    assert_eq!(kinds, Kind::ALL);
    let limits: Vec<_> = settings.receivers.iter().map(|receiver| receiver.messages_per_minute).collect();
    assert_eq!(limits, [5, 3, 5, 5, 5, 5, 5]);
    let bits: Vec<_> = settings.routes.iter().map(|route| (route.receivers, route.goes_on, route.severity)).collect();
    assert_eq!(bits, [(0b1000, true, Severity::Critical), (0b100_0001, false, Severity::Warning)]);
}

#[test]
fn without_routes_every_receiver_gets_everything_from_warning_up() {
    let settings =
        Settings::parse("receivers: [{name: a, slack: {urlFile: /a}}, {name: b, discord: {urlFile: /b}}]").unwrap();
    assert_eq!(settings.routes.len(), 1);
    assert_eq!((settings.routes[0].receivers, settings.routes[0].severity), (0b11, Severity::Warning));
    assert_eq!(settings.group_wait, Duration::from_secs(10));
}

#[test]
fn an_error_names_the_place_and_what_is_wrong() {
    let one = "receivers: [{name: a, slack: {urlFile: /a}}]\n";
    for (text, parts) in [
        ("receivers:\n- name: a\n  slak: {urlFile: /a}\n".to_owned(), &["slak", "line 3"][..]),
        ("receivers:\n- name: a\n  slack: {urlfile: /a}\n".to_owned(), &["urlfile", "line 3"]),
        (format!("{one}routs: []\n"), &["routs", "line 2"]),
        ("receivers: []".to_owned(), &["receivers", "from 1 to 64"]),
        ("receivers: [{name: a}]".to_owned(), &["receivers[0] (a)", "exactly one of: slack, teams"]),
        (
            "receivers: [{name: a, slack: {urlFile: /a}, teams: {urlFile: /a}}]".to_owned(),
            &["receivers[0] (a)", "exactly one"],
        ),
        ("receivers: [{name: a b, slack: {urlFile: /a}}]".to_owned(), &["receivers[0] (a b): name"]),
        ("receivers: [{name: a, slack: {}}]".to_owned(), &["slack: urlFile is missing"]),
        (
            "receivers: [{name: a, slack: {url: \"https://hooks.slack.com/services/T/B/x\"}}]".to_owned(),
            &["slack: url: this URL is a secret", "urlFile"],
        ),
        ("receivers: [{name: a, pagerDuty: {}}]".to_owned(), &["pagerDuty: tokenFile is missing"]),
        (
            "receivers: [{name: a, alertmanager: {url: \"http://alerts.example.com\"}}]".to_owned(),
            &["alertmanager: url: must begin with https://"],
        ),
        ("receivers: [{name: a, webhook: {tokenFile: /t}}]".to_owned(), &["webhook: must have either url or urlFile"]),
        (format!("{one}groupWait: soon\n"), &["groupWait"]),
        (format!("{one}messagesPerMinute: 1\n"), &["messagesPerMinute", "from 2"]),
        (format!("{one}routes: [{{receivers: [b]}}]\n"), &["routes[0]", "there is no receiver b"]),
        (format!("{one}routes: [{{receivers: []}}]\n"), &["routes[0]", "must name a receiver"]),
        (
            format!("{one}routes: [{{categories: [Imag], receivers: [a]}}]\n"),
            &["routes[0]", "there is no category Imag", "Image"],
        ),
        (
            "receivers: [{name: a, slack: {urlFile: /a}}, {name: a, slack: {urlFile: /a}}]".to_owned(),
            &["the name a is there twice"],
        ),
    ] {
        let error = refused(&text);
        for part in parts {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}

#[test]
fn text_goes_out_unencrypted_only_within_the_machine_or_the_cluster() {
    for url in [
        "https://hooks.slack.com/services/T/B/x",
        "http://127.0.0.1:8080/x",
        "http://[::1]:8080",
        "http://localhost",
        "http://alertmanager:9093",
        "http://alertmanager.monitoring.svc:9093",
        "http://alertmanager.monitoring.svc.cluster.local",
    ] {
        assert!(checked(url).is_ok(), "{url}");
    }
    for url in [
        "http://example.com",
        "http://10.0.0.1",
        "http://svc.example.com",
        "ftp://localhost",
        "https://",
        "https://user:pass@example.com",
        "hooks.slack.com",
        "",
    ] {
        let error = checked(url).unwrap_err();
        assert!(!error.contains("pass") && !error.contains("example"), "{error}");
    }
}

#[test]
fn a_secret_is_read_again_and_never_part_of_an_error() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("url");
    let text = format!("receivers: [{{name: a, slack: {{urlFile: {}}}}}]", path.display());
    let receiver = Settings::parse(&text).unwrap().receivers.remove(0);
    assert!(receiver.secrets().err().unwrap().contains("cannot read"));
    for url in ["https://hooks.slack.com/one\n", "https://hooks.slack.com/two"] {
        std::fs::write(&path, url).unwrap();
        assert_eq!(receiver.secrets().ok().unwrap().url.to_string(), url.trim());
    }
    for wrong in ["", "hunter2 hunter2", "http://hunter2.example.com", "https://hunter2\u{1}"] {
        std::fs::write(&path, wrong).unwrap();
        let error = receiver.secrets().err().unwrap();
        assert!(error.contains("url") && !error.contains("hunter2"), "{error}");
    }
}
