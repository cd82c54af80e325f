//! Actions: each builds one remedy (a patch or a command) if its precondition holds. Pure.
//!
//! An action never sets a value that is already set, never patches an immutable field, and quotes each value for the
//! shell. Values that only the user knows are placeholders `<LIKE-THIS>`, which a shell rejects.

mod add_capability;
mod add_configmap_key;
mod add_secret_key;
mod add_startup_probe;
mod add_toleration;
mod cordon;
mod create_configmap;
mod create_pull_secret;
mod create_secret;
mod create_service_account;
mod default_mode;
mod define_variable;
mod delete_node;
mod delete_object;
mod delete_pod;
mod drain;
mod edit_object;
mod edit_template;
mod fit_limit_range;
mod fix_probe_port;
mod force_delete_pod;
mod grant_role;
mod ignore_cause;
mod label_node;
mod make_reference_optional;
mod make_volume_optional;
pub(crate) mod manual_rollout;
mod map_key_to_file;
mod mount_empty_dir;
mod mount_service_account_token;
mod move_mount;
mod native_sidecar;
mod prefer_anti_affinity;
mod prefer_pod_affinity;
mod prune_images;
mod raise_active_deadline;
mod raise_ephemeral_storage_limit;
mod raise_failure_threshold;
mod raise_memory_limit;
mod raise_probe_timeout;
mod raise_progress_deadline;
mod raise_quota;
mod raise_size_limit;
mod read_log;
pub(crate) mod recreate_job;
mod remove_app_armor_profile;
mod remove_finalizers;
mod remove_host_ports;
mod remove_node_selector;
mod remove_post_start_hook;
mod remove_priority_class;
mod remove_probe_host;
mod remove_runtime_class;
mod remove_sysctl;
mod remove_taint;
mod replace_claim;
mod resize_pod;
mod restart_rollout;
mod restart_service;
mod retry_pod_creation;
mod rollback_if_new;
mod run_as_user;
pub(crate) mod run_cron_job;
mod scale;
mod scale_to_zero;
mod set_backend_port;
mod set_backend_service;
mod set_claim_volume;
mod set_class;
mod set_command;
mod set_default_storage_class;
mod set_env;
mod set_fs_group;
mod set_fs_group_change_policy;
mod set_host_path_type;
mod set_image;
mod set_image_pull_policy;
mod set_max_surge;
mod set_node_affinity;
mod set_node_selector;
mod set_probe_scheme;
mod set_recreate_strategy;
mod set_requests;
mod set_scheduler;
mod set_seccomp_profile;
mod set_security_context;
mod set_service_selector;
mod set_storage_class;
mod set_sub_path;
mod set_target_port;
mod set_working_dir;
mod specify_resources;
mod stop_container;
mod taint_out_of_service;
mod uncordon;
pub(crate) mod undo;
mod use_existing_name;
mod use_host_users;
mod use_pull_secret;

use serde_json::Value as Json;

use crate::api::RemedyKind;
use crate::case::target::{Target, list_entry, shell_word};
use crate::case::{Remedy, remedy};
use crate::facts::{Container, Names, NamesOf, Probe, ProbeKind};
use crate::signals::{Subject, Value};

/// One kind of remedy.
#[derive(Debug)]
pub struct Action {
    pub name: &'static str,
    /// The effect of the action, and when it is offered.
    pub doc: &'static str,
    /// Names of the parameters.
    pub params: &'static [&'static str],
    /// Whether the action has a default text for causes without one.
    pub(crate) has_text: bool,
    pub undo: Undo,
    /// The names of other objects that it compares with.
    pub(crate) needed_names: Option<fn(&Ask<'_>) -> Option<NamesOf>>,
    /// Builds the remedy; `None` if the precondition does not hold.
    pub(crate) build: fn(&Ask<'_>) -> Option<Remedy>,
}

/// How to reverse what an action changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// Restore the old values of the changed fields, and remove fields that were not set. `kubectl rollout undo` does
    /// this for a template with revisions.
    OldValues,
    /// Run a command. Words in capitals are placeholders.
    Command(&'static str),
    /// Follow a manual step that is not a single command.
    ByHand(&'static str),
    /// The action changes nothing, or nothing that has to be reversed.
    NotNeeded,
    /// The action cannot be reversed.
    Impossible,
}

/// The input of an action.
pub(crate) struct Ask<'a> {
    pub(crate) subject: Subject<'a>,
    /// The container of the finding.
    pub(crate) container: Option<&'a Container>,
    /// The object that the remedy changes: the workload, or the object with the pod template. Nodes have none.
    pub(crate) target: Option<Target>,
    /// The text of the cause for this remedy; empty if it has none.
    pub(crate) text: String,
    pub(crate) kind: RemedyKind,
    pub(crate) with: Vec<(&'static str, Value)>,
}

impl Ask<'_> {
    /// The remedy with its text, without a command.
    pub(crate) fn remedy(&self) -> Remedy {
        Remedy { kind: self.kind, ..remedy::fix(self.text.clone()) }
    }

    /// The container's probe of the kind in the parameter `probe`.
    fn probe(&self) -> Option<(&Container, ProbeKind, &Probe)> {
        let kinds = [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness];
        let kind = kinds.into_iter().find(|kind| self.with("probe") == Some(kind.lower()))?;
        let container = self.container?;
        Some((container, kind, container.probe(kind)?))
    }

    /// Fields of the pod spec with these fields of its containers. `None` if there are none, or if the template of the
    /// workload does not have one of them (a webhook adds it).
    fn of_containers<'n>(&self, all: impl Iterator<Item = (&'n str, Json)>) -> Option<Json> {
        let template = self.subject.workload()?.workload.template.as_ref()?;
        let mut spec = serde_json::Map::new();
        for (name, fields) in all {
            let container = template.containers.iter().find(|container| *container.name == *name)?;
            let list = if container.init { "initContainers" } else { "containers" };
            if let Json::Array(entries) = spec.entry(list).or_insert_with(|| Json::Array(Vec::new())) {
                entries.push(list_entry(name, fields));
            }
        }
        (!spec.is_empty()).then(|| spec.into())
    }

    /// The remedy with a kubectl command on the object in the parameters `kind` and `name`.
    fn on_named_object(&self, verb: &str) -> Option<Remedy> {
        self.on_object(verb, self.with("kind")?, self.with("name")?)
    }

    /// The remedy with a kubectl command on an object in the namespace of the target.
    fn on_object(&self, verb: &str, kind: &str, name: &str) -> Option<Remedy> {
        let prefix = self.target.as_ref()?.command_prefix();
        Some(remedy::command(self.remedy(), format!("{prefix} {verb} {} {}", shell_word(kind), shell_word(name))))
    }

    /// The remedy with a JSON patch of the target, as a command. Its manager is named.
    fn with_json_patch(&self, patch: &Json) -> Option<Remedy> {
        let target = self.target.as_ref()?;
        let (prefix, argument) = (target.command_prefix(), target.argument());
        let command = format!("{prefix} patch {argument} --type=json -p {}", shell_word(&patch.to_string()));
        Some(remedy::command(target.with_source(self.remedy()), command))
    }

    /// Names of other objects, as far as they were looked up. Nodes have none.
    fn names(&self) -> Option<&Names> {
        match self.subject {
            Subject::Pod(case) => Some(&case.surroundings.names),
            Subject::Workload(case) => Some(case.names),
            Subject::Node { .. } => None,
        }
    }

    /// The value of a parameter, unless it is empty.
    pub(crate) fn with(&self, name: &str) -> Option<&str> {
        match self.with.iter().find(|(known, _)| *known == name) {
            Some((_, Value::Text(text))) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The items of a parameter that is a list.
    fn list(&self, name: &str) -> &[String] {
        match self.with.iter().find(|(known, _)| *known == name) {
            Some((_, Value::List(items))) => items,
            _ => &[],
        }
    }
}

/// All actions, by name.
pub const ACTIONS: &[Action] = &[
    add_capability::ACTION,
    add_configmap_key::ACTION,
    add_secret_key::ACTION,
    add_startup_probe::ACTION,
    add_toleration::ACTION,
    cordon::ACTION,
    create_configmap::ACTION,
    create_pull_secret::ACTION,
    create_secret::ACTION,
    create_service_account::ACTION,
    default_mode::ACTION,
    define_variable::ACTION,
    delete_node::ACTION,
    delete_object::ACTION,
    delete_pod::ACTION,
    drain::ACTION,
    edit_object::ACTION,
    edit_template::ACTION,
    fit_limit_range::ACTION,
    fix_probe_port::ACTION,
    force_delete_pod::ACTION,
    grant_role::ACTION,
    ignore_cause::ACTION,
    label_node::ACTION,
    make_reference_optional::ACTION,
    make_volume_optional::ACTION,
    map_key_to_file::ACTION,
    mount_empty_dir::ACTION,
    mount_service_account_token::ACTION,
    move_mount::ACTION,
    native_sidecar::ACTION,
    prefer_anti_affinity::ACTION,
    prefer_pod_affinity::ACTION,
    prune_images::ACTION,
    raise_active_deadline::ACTION,
    raise_ephemeral_storage_limit::ACTION,
    raise_failure_threshold::ACTION,
    raise_memory_limit::ACTION,
    raise_probe_timeout::ACTION,
    raise_progress_deadline::ACTION,
    raise_quota::ACTION,
    raise_size_limit::ACTION,
    read_log::ACTION,
    recreate_job::ACTION,
    remove_app_armor_profile::ACTION,
    remove_finalizers::ACTION,
    remove_host_ports::ACTION,
    remove_node_selector::ACTION,
    remove_post_start_hook::ACTION,
    remove_priority_class::ACTION,
    remove_probe_host::ACTION,
    remove_runtime_class::ACTION,
    remove_sysctl::ACTION,
    remove_taint::ACTION,
    resize_pod::ACTION,
    restart_rollout::ACTION,
    restart_service::ACTION,
    retry_pod_creation::ACTION,
    rollback_if_new::ACTION,
    run_as_user::ACTION,
    run_cron_job::ACTION,
    scale::ACTION,
    scale_to_zero::ACTION,
    set_backend_port::ACTION,
    set_backend_service::ACTION,
    set_claim_volume::ACTION,
    set_class::ACTION,
    set_command::ACTION,
    set_default_storage_class::ACTION,
    set_env::ACTION,
    set_fs_group::ACTION,
    set_fs_group_change_policy::ACTION,
    set_host_path_type::ACTION,
    set_image::ACTION,
    set_image_pull_policy::ACTION,
    set_max_surge::ACTION,
    set_node_affinity::ACTION,
    set_node_selector::ACTION,
    set_probe_scheme::ACTION,
    set_recreate_strategy::ACTION,
    set_requests::ACTION,
    set_scheduler::ACTION,
    set_seccomp_profile::ACTION,
    set_security_context::ACTION,
    set_service_selector::ACTION,
    set_storage_class::ACTION,
    set_sub_path::ACTION,
    set_target_port::ACTION,
    set_working_dir::ACTION,
    specify_resources::ACTION,
    stop_container::ACTION,
    taint_out_of_service::ACTION,
    uncordon::ACTION,
    use_existing_name::ACTION,
    use_host_users::ACTION,
    use_pull_secret::ACTION,
];

pub(crate) fn named(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}
