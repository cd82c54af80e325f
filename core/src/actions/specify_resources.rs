//! Specifies the requests and limits that a ResourceQuota requires.

use super::fit_limit_range::{amount_of, size};
use super::{Action, Ask, Undo, edit_template};
use crate::case::target::shell_word;
use crate::case::{Operation, Remedy, remedy};
use crate::facts::{ContainerTemplate, TemplateFacts};
use crate::signals::pod_creation::bounds::{self, Required};

pub(super) const ACTION: Action = Action {
    name: "specify-resources",
    doc: "Sets the requests and limits that a ResourceQuota requires, with the amounts of another container of the \
          template if one has them; otherwise you fill them in. If the quota names no containers, it opens the \
          template in an editor.",
    params: &["required"],
    has_text: false,
    undo: Undo::OldValues,
    needed_names: None,
    build,
};

fn build(ask: &Ask<'_>) -> Option<Remedy> {
    let target = ask.target.as_ref()?;
    let required = bounds::required(ask.with("required")?);
    let template = ask.subject.workload().and_then(|case| case.workload.template.as_deref());
    let Some(template) = template.filter(|_| target.is_patchable() && !required.is_empty()) else {
        return edit_template::build(ask);
    };
    let mut commands: Vec<(&str, String)> = Vec::new();
    for one in &required {
        if !template.containers.iter().any(|container| *container.name == *one.container) {
            return edit_template::build(ask);
        }
        let flag = format!(" --{}={}={}", one.field, one.resource, amount(template, one));
        match commands.iter_mut().find(|(name, _)| *name == one.container) {
            Some((_, flags)) => merge(flags, &flag),
            None => commands.push((one.container, flag)),
        }
    }
    let (prefix, argument) = (target.command_prefix(), target.argument());
    let commands: Vec<String> = commands
        .iter()
        .map(|(name, flags)| format!("{prefix} set resources {argument} -c {}{flags}", shell_word(name)))
        .collect();
    Some(remedy::command_for(target.with_source(ask.remedy()), Operation::ChangeTemplate, commands.join(" && ")))
}

/// Adds a flag. Two amounts of one field are one flag: `--limits=cpu=1,memory=1Gi`.
fn merge(flags: &mut String, flag: &str) {
    let (field, amount) = flag.split_at(flag.find('=').map_or(flag.len(), |at| at + 1));
    match flags.find(field) {
        Some(at) => {
            let after = &flags[at + field.len()..];
            let end = at + field.len() + after.find(" --").unwrap_or(after.len());
            flags.insert_str(end, &format!(",{amount}"));
        }
        None => flags.push_str(flag),
    }
}

/// The amount that another container of the template has, if it suits the requests of this one; else a placeholder:
/// `<MEMORY>`.
fn amount(template: &TemplateFacts, one: &Required<'_>) -> String {
    let field = |container: &ContainerTemplate| {
        let text = if one.field == "limits" { &container.limits } else { &container.requests };
        amount_of(text, one.resource).map(str::to_owned)
    };
    let own = template.containers.iter().find(|container| *container.name == *one.container);
    let requested = own.and_then(|own| size(one.resource, amount_of(&own.requests, one.resource)?));
    let suits =
        |amount: &String| requested.is_none_or(|least| size(one.resource, amount).is_some_and(|of| of >= least));
    template
        .containers
        .iter()
        .find_map(|container| field(container).filter(suits))
        .unwrap_or_else(|| format!("<{}>", one.resource.to_ascii_uppercase().replace(['.', '/'], "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_another_container_that_suit() {
        let container = |name: &str, requests: &str, limits: &str| ContainerTemplate {
            name: name.into(),
            requests: requests.into(),
            limits: limits.into(),
            ..ContainerTemplate::default()
        };
        let template = TemplateFacts {
            containers: vec![container("db", "memory 8Mi", "memory 64Mi"), container("exporter", "memory 16Mi", "")],
            ..TemplateFacts::default()
        };
        let amount = |field: &'static str, resource: &'static str| {
            amount(&template, &Required { field, resource, container: "exporter" })
        };
        assert_eq!((amount("limits", "memory"), amount("requests", "cpu")), ("64Mi".to_owned(), "<CPU>".to_owned()));
    }

    #[test]
    fn amounts_of_one_field_are_one_flag() {
        let mut flags = " --limits=memory=64Mi".to_owned();
        merge(&mut flags, " --requests=cpu=1");
        merge(&mut flags, " --limits=cpu=2");
        assert_eq!(flags, " --limits=memory=64Mi,cpu=2 --requests=cpu=1");
    }
}
