//! Differences between two templates: names and short texts, never the values of variables.

use std::collections::BTreeSet;

use crate::api::TemplateChange;
use crate::facts::{ContainerTemplate, Labels, TemplateFacts};
use crate::message::text;

/// Maximum number of reported differences.
const MOST: usize = 20;
/// Maximum length of each side in characters.
const VALUE_MAX: usize = 160;

/// The differences, if both templates are known.
pub(super) fn between(before: Option<&TemplateFacts>, after: Option<&TemplateFacts>) -> Vec<TemplateChange> {
    before.zip(after).map(|(before, after)| changes(before, after)).unwrap_or_default()
}

/// Whether a container of both templates has other requests or limits.
pub(super) fn requests_differ(before: &TemplateFacts, after: &TemplateFacts) -> bool {
    before.containers.iter().any(|a| {
        let mut same = after.containers.iter().filter(|b| b.init == a.init && b.name == a.name);
        same.any(|b| (&b.requests, &b.limits) != (&a.requests, &a.limits))
    })
}

/// The differences, in the order of the template.
fn changes(before: &TemplateFacts, after: &TemplateFacts) -> Vec<TemplateChange> {
    let mut out = Changes::default();
    let names = before.containers.iter().chain(&after.containers);
    let mut seen: Vec<(bool, &str)> = Vec::new();
    for container in names {
        let key = (container.init, &*container.name);
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    for (init, name) in seen {
        let find =
            |template: &'_ TemplateFacts| template.containers.iter().position(|c| c.init == init && *c.name == *name);
        let path = format!("{}[{name}]", if init { "initContainers" } else { "containers" });
        match (find(before), find(after)) {
            (Some(a), Some(b)) => out.container(&path, &before.containers[a], &after.containers[b]),
            (a, b) => out.differ(
                &path,
                a.map(|i| before.containers[i].image.to_string()),
                b.map(|i| after.containers[i].image.to_string()),
            ),
        }
    }
    out.sets("configMaps", &before.config_maps, &after.config_maps);
    out.sets("secrets", &before.secrets, &after.secrets);
    out.sets("persistentVolumeClaims", &before.claims, &after.claims);
    out.texts("serviceAccountName", &before.service_account, &after.service_account);
    out.texts("nodeSelector", &pairs(&before.node_selector), &pairs(&after.node_selector));
    out.0.truncate(MOST);
    out.0
}

#[derive(Default)]
struct Changes(Vec<TemplateChange>);

impl Changes {
    fn differ(&mut self, field: &str, before: Option<String>, after: Option<String>) {
        let listed =
            |side: Option<String>| side.map(|side| text::line(&side, VALUE_MAX)).filter(|side| !side.is_empty());
        let change =
            TemplateChange { field: text::line(field, VALUE_MAX), before: listed(before), after: listed(after) };
        self.0.push(change);
    }

    fn texts(&mut self, field: &str, before: &str, after: &str) {
        if before != after {
            self.differ(field, Some(before.to_owned()), Some(after.to_owned()));
        }
    }

    fn lists(&mut self, field: &str, before: &[String], after: &[String]) {
        if before != after {
            self.texts(field, &before.join(" "), &after.join(" "));
        }
    }

    /// Names that exist on only one side.
    fn sets(&mut self, field: &str, before: &BTreeSet<String>, after: &BTreeSet<String>) {
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
            let names: Vec<&str> = a.difference(b).map(String::as_str).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let (gone, new) = (only(before, after), only(after, before));
        if gone.is_some() || new.is_some() {
            self.differ(field, gone, new);
        }
    }

    fn container(&mut self, path: &str, before: &ContainerTemplate, after: &ContainerTemplate) {
        let field = |name: &str| format!("{path}.{name}");
        self.texts(&field("image"), &before.image, &after.image);
        self.lists(&field("command"), &before.command, &after.command);
        self.lists(&field("args"), &before.args, &after.args);
        self.lists(&field("ports"), &before.ports, &after.ports);
        for (name, before, after) in [
            ("livenessProbe", &before.liveness, &after.liveness),
            ("readinessProbe", &before.readiness, &after.readiness),
            ("startupProbe", &before.startup, &after.startup),
        ] {
            if before != after {
                self.differ(&field(name), before.clone(), after.clone());
            }
        }
        self.texts(&field("resources.requests"), &before.requests, &after.requests);
        self.texts(&field("resources.limits"), &before.limits, &after.limits);
        self.sets(&field("env"), &before.env, &after.env);
    }
}

fn pairs(labels: &Labels) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(image: &str, env: &[&str]) -> TemplateFacts {
        let container = ContainerTemplate {
            name: "web".into(),
            image: image.into(),
            env: env.iter().map(ToString::to_string).collect(),
            ..ContainerTemplate::default()
        };
        TemplateFacts { containers: vec![container], ..TemplateFacts::default() }
    }

    #[test]
    fn only_differences_are_listed() {
        let mut after = template("web:2", &["A", "C"]);
        after.containers.push(ContainerTemplate { name: "log".into(), image: "log:1".into(), ..Default::default() });
        after.secrets.insert("db".to_owned());
        after.containers[0].args = vec!["--password=hunter2".to_owned()];
        let listed = changes(&template("web:1", &["A", "B"]), &after);
        let listed: Vec<_> = listed.iter().map(|c| (&*c.field, c.before.as_deref(), c.after.as_deref())).collect();
        assert_eq!(
            listed,
            [
                ("containers[web].image", Some("web:1"), Some("web:2")),
                ("containers[web].args", None, Some("--password=***")),
                ("containers[web].env", Some("B"), Some("C")),
                ("containers[log]", None, Some("log:1")),
                ("secrets", None, Some("db")),
            ]
        );
        assert_eq!(changes(&after, &after), []);
    }
}
