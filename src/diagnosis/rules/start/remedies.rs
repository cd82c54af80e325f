//! What to do about a container that cannot be started.

mod mount;

pub(super) use self::mount::mount;
use super::{executable, key, missing_in_hook, object, refs, see, working_dir as named_dir};
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::target::{self, Target, shell_word, yaml_string};
use crate::diagnosis::{Case, Finding, remedy, undo};
use crate::facts::{Container, RefKind, VolumeSource, format_bytes};

/// The container, and the words about it.
struct About<'a> {
    container: Option<&'a Container>,
    text: String,
    target: Target,
}

fn about<'a>(case: &Case<'a>, finding: &Finding) -> About<'a> {
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let text = container.and_then(|c| see(case, c)).map(|seen| seen.text.to_owned()).unwrap_or_default();
    About { container, text, target: target::of(case) }
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.pod.node_name.as_deref().unwrap_or(phrase!(case, "the node"))
}

pub(super) fn create_config_map(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    missing_object(case, finding, RefKind::ConfigMap)
}

pub(super) fn create_secret(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    missing_object(case, finding, RefKind::Secret)
}

fn missing_object(case: &Case<'_>, finding: &Finding, kind: RefKind) -> Vec<Remedy> {
    let about = about(case, finding);
    let namespace = &case.pod.key.namespace;
    let name = object(&about.text).unwrap_or("NAME");
    let (word, create) = match kind {
        RefKind::ConfigMap => ("ConfigMap", "configmap"),
        RefKind::Secret => ("Secret", "secret generic"),
    };
    let mut keys: Vec<&str> =
        about.container.iter().flat_map(|c| refs(c, &about.text)).filter_map(|r| r.key.as_deref()).collect();
    keys.dedup();
    keys.truncate(5);
    if keys.is_empty() {
        keys.push("KEY");
    }
    let literals: Vec<_> = keys.iter().map(|k| format!(" --from-literal={}=VALUE", shell_word(k))).collect();
    let literals = literals.concat();
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(remedy::command(
        remedy::fix(say!(
            case,
            "Create {word} {name} in namespace {namespace}; the kubelet then starts the container by itself.",
            word,
            name,
            namespace
        )),
        format!("kubectl -n {namespace} create {create} {}{literals}", shell_word(name)),
    ));
    out.extend(make_optional(&about, kind, name));
    out
}

pub(super) fn add_key(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let kind = if about.text.contains(" in ConfigMap ") { RefKind::ConfigMap } else { RefKind::Secret };
    let (name, key) = (object(&about.text).unwrap_or("NAME"), key(&about.text).unwrap_or("KEY"));
    let (word, arg, field) = match kind {
        RefKind::ConfigMap => ("ConfigMap", "configmap", "data"),
        RefKind::Secret => ("Secret", "secret", "stringData"),
    };
    let body = serde_json::json!({ field: { key: "VALUE" } }).to_string();
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(remedy::command(
        remedy::fix(say!(
            case,
            "Add key {key} to {word} {name}, or correct the key's name in {target}.",
            key,
            word,
            name,
            target = about.target.display()
        )),
        format!(
            "kubectl -n {} patch {arg} {} --type=merge -p {}",
            case.pod.key.namespace,
            shell_word(name),
            shell_word(&body)
        ),
    ));
    out.extend(make_optional(&about, kind, name));
    out
}

/// Marks the references optional. `env` merges by name; `envFrom` cannot be merged, so it gets no patch.
fn make_optional(about: &About<'_>, kind: RefKind, name: &str) -> Option<Remedy> {
    let field = match kind {
        RefKind::ConfigMap => "configMapKeyRef",
        RefKind::Secret => "secretKeyRef",
    };
    let lines: Vec<_> = about
        .container?
        .env_refs
        .iter()
        .filter(|r| r.kind == kind && r.name == name && !r.optional)
        .filter_map(|r| Some((r.variable.as_deref()?, r.key.as_deref()?)))
        .map(|(variable, key)| {
            format!(
                "- name: {}\n  valueFrom:\n    {field}:\n      name: {}\n      key: {}\n      optional: true\n",
                yaml_string(variable),
                yaml_string(name),
                yaml_string(key)
            )
        })
        .collect();
    let lines = lines.concat();
    let fix = remedy::fix(phrase!(about.target, "Or mark it optional, if the program can do without."));
    Some(if lines.is_empty() {
        fix
    } else {
        about.target.with_container_patch(fix, about.container, &format!("env:\n{lines}"))
    })
}

pub(super) fn env_file(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let display = about(case, finding).target.display();
    vec![remedy::fix(say!(
        case,
        "Write the variable into the file, or correct fileKeyRef (key, path, optional) in {target}.",
        target = display
    ))]
}

pub(super) fn run_as_user(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    out.push(about.target.with_container_patch(
        remedy::fix(phrase!(
            case,
            "Run the container as a numeric user that the image can work with (1000 is an example)."
        )),
        about.container,
        "securityContext:\n  runAsUser: 1000\n",
    ));
    let image = about.container.map_or(phrase!(case, "the image"), |c| &c.image);
    out.push(remedy::fix(say!(case, "Or give {image} a numeric USER in its Dockerfile.", image)));
    out
}

pub(super) fn sub_path(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let display = about(case, finding).target.display();
    vec![
        remedy::fix(say!(
            case,
            "Correct the subPath of the volumeMount in {target}, or create that path in the volume.",
            target = display
        )),
        remedy::fix(say!(
            case,
            "The kubelet's log on node {node} has the details (`journalctl -u kubelet`).",
            node = node(case)
        )),
    ]
}

pub(super) fn wait_for_kubelet(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(say!(
        case,
        "Wait; if it lasts, check that the kubelet on {node} can list Services.",
        node = node(case)
    ))]
}

pub(super) fn runtime_hangs(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    let node = node(case);
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, look at disk and CPU load and the container runtime's log; restart the runtime if it hangs.",
            node
        )),
        remedy::command(
            remedy::mitigate(phrase!(
                case,
                "Keep new pods away from the node meanwhile, and delete this pod so that it starts elsewhere."
            )),
            format!("kubectl cordon {node}"),
        ),
    ]
}

pub(super) fn set_command(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let display = about.target.display();
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    let Some(container) = about.container else { return out };
    if let Some(fix) = miswritten(case, &about, container) {
        out.push(fix);
        return out;
    }
    let what = executable(container, &about.text);
    if let Some((what, mount)) = what.and_then(|what| Some((what, container.mount_over(what)?))) {
        out.push(remedy::fix(say!(case, "Mount volume {volume} in {target} elsewhere than over {path}, if {what} is in the image; or put it into the volume.", volume = mount.volume, target = display, path = mount.path, what)));
        out.push(remedy::fix(say!(case, "Or correct `command` of {target}.", target = display)));
        return out;
    }
    let text = match (what, container.command.is_empty()) {
        (Some(what), false) => say!(
            case,
            "Correct `command` of {target}: {what} is not in {image}.",
            target = display,
            what,
            image = container.image
        ),
        (Some(what), true) if container.args.iter().any(|a| a == what) => {
            say!(
                case,
                "The image has no entry point, so `args` of {target} is run as the command. Set `command`.",
                target = display
            )
        }
        _ => say!(
            case,
            "Set `command` in {target} to a program that is in {image}.",
            target = display,
            image = container.image
        ),
    };
    out.push(about.target.with_container_patch(remedy::fix(text), Some(container), "command: [\"COMMAND\"]\n"));
    let fix = remedy::fix(phrase!(case, "Or use the image that has the program."));
    out.push(match about.target.set_image_command(container, "IMAGE") {
        Some(command) => remedy::command(fix, command),
        None => fix,
    });
    out
}

/// A program that no image has by that name: its line was not split, or was written on Windows.
fn miswritten(case: &Case<'_>, about: &About<'_>, container: &Container) -> Option<Remedy> {
    let target = about.target.display();
    let program = container.command.first()?;
    if program.ends_with('\r') {
        return Some(remedy::fix(say!(
            case,
            "The command of {target} ends with a carriage return, as in a file with Windows line ends: save the manifest with line feeds only.",
            target
        )));
    }
    if !program.trim().contains(' ') {
        return None;
    }
    let words: Vec<&str> = program.split_whitespace().collect();
    let list = serde_json::to_string(&words).ok()?;
    let text = say!(
        case,
        "The command of {target} is one word with blanks in it, and is looked for by that name: write it as a list, {list}.",
        target,
        list
    );
    Some(about.target.with_container_patch(remedy::fix(text), Some(container), &format!("command: {list}\n")))
}

pub(super) fn permission(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    let Some(container) = about.container else { return out };
    let named = executable(container, &about.text);
    let what = named.unwrap_or(phrase!(case, "the file"));
    let how = named.map_or_else(|| "`RUN chmod +x`".to_owned(), |path| format!("`RUN chmod +x {path}`"));
    out.push(executable_in_volume(case, &about, container, named).unwrap_or_else(|| {
        remedy::fix(say!(
            case,
            "Make {what} executable in the image: {how}; in a volume, set defaultMode: 0755.",
            what,
            how
        ))
    }));
    let through = remedy::fix(phrase!(
        case,
        "Or run a script through its interpreter, or correct a command that names a directory."
    ));
    out.push(match named {
        Some(path) => {
            let command = format!("command: [\"sh\", {}]\n", yaml_string(path));
            about.target.with_container_patch(through, Some(container), &command)
        }
        None => through,
    });
    out
}

/// For a file that a ConfigMap or Secret brings: their files have no execute bit unless the volume gives it.
fn executable_in_volume(
    case: &Case<'_>,
    about: &About<'_>,
    container: &Container,
    path: Option<&str>,
) -> Option<Remedy> {
    let mount = container.mount_over(path?)?;
    let volume = case.pod.volumes.iter().find(|v| v.name == mount.volume)?;
    let (field, naming, name) = match &volume.source {
        VolumeSource::ConfigMap { name, .. } => ("configMap", "name", name),
        VolumeSource::Secret { name, .. } => ("secret", "secretName", name),
        _ => return None,
    };
    let fix = remedy::fix(say!(
        case,
        "Give the files of volume {volume} the execute bit: defaultMode: 0755 (493).",
        volume = volume.name
    ));
    let patch = format!(
        "volumes:\n- name: {}\n  {field}:\n    {naming}: {}\n    defaultMode: 493\n",
        yaml_string(&volume.name),
        yaml_string(name)
    );
    Some(about.target.with_pod_patch(fix, &patch))
}

pub(super) fn profile(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    vec![
        remedy::fix(say!(
            case,
            "Install the profile on node {node} and every other that can run the pod.",
            node = node(case)
        )),
        remedy::fix(say!(
            case,
            "Or use the profile of type RuntimeDefault in {target}.",
            target = about.target.display()
        )),
    ]
}

pub(super) fn host_path(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let display = about(case, finding).target.display();
    vec![
        remedy::fix(say!(
            case,
            "Check that path on node {node}: it must exist, and a mount there must answer.",
            node = node(case)
        )),
        remedy::fix(say!(case, "Or correct the volume in {target}.", target = display)),
    ]
}

pub(super) fn image_volume(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let display = about(case, finding).target.display();
    vec![remedy::fix(say!(
        case,
        "Correct the subPath of the image volume's mount in {target}, or the image's content.",
        target = display
    ))]
}

pub(super) fn working_dir(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    let dir = about.container.and_then(|c| named_dir(c, &about.text)).unwrap_or("it");
    out.push(about.target.with_container_patch(
        remedy::fix(say!(
            case,
            "Set workingDir in {target} to a directory of the image ({dir} cannot be entered).",
            target = about.target.display(),
            dir
        )),
        about.container,
        "workingDir: /\n",
    ));
    out.push(remedy::fix(say!(case, "Or create {dir} in the image, open to the container's user.", dir)));
    out
}

pub(super) fn raise_memory(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let now =
        about.container.and_then(|c| c.limits.memory).map(|m| say!(case, " (now {limit})", limit = format_bytes(m)));
    let of = about.container.map(|c| say!(case, " of {container}", container = c.name)).unwrap_or_default();
    let now = now.unwrap_or_default();
    let text = say!(
        case,
        "Raise the memory limit{of}{now} to 128Mi or what it needs: a process needs some 16Mi to start at all.",
        of,
        now
    );
    vec![about.target.with_container_patch(
        remedy::fix(text),
        about.container,
        "resources:\n  limits:\n    memory: 128Mi\n",
    )]
}

pub(super) fn cgroup(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, compare the cgroup driver of kubelet and container runtime; both must be systemd or both cgroupfs.",
            node = node(case)
        )),
        remedy::fix(phrase!(
            case,
            "If only this pod fails there, check its limits for values that the kernel refuses."
        )),
    ]
}

pub(super) fn user_namespace(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    vec![
        about.target.with_pod_patch(remedy::fix(phrase!(case, "Do without a user namespace.")), "hostUsers: true\n"),
        remedy::fix(phrase!(case, "Or keep the pod on nodes whose kernel and file systems support id-mapped mounts.")),
    ]
}

pub(super) fn manager(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On node {node}, read the kubelet's log; its CPU or memory manager state may have to be reset.",
            node = node(case)
        )),
        remedy::mitigate(phrase!(case, "Delete the pod, so that it is placed anew.")),
    ]
}

pub(super) fn post_start(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    if about.container.is_some_and(|container| container.post_start_is_request) {
        out.push(remedy::fix(say!(case, "The request of lifecycle.postStart in {target} is sent once, as soon as the container is started, which most servers are too late for: leave it to a startupProbe, or make it a command (exec) that tries again.", target = about.target.display())));
    } else if let (Some(container), Some(command)) = (about.container, missing_in_hook(&about.text)) {
        out.push(remedy::fix(say!(
            case,
            "Correct the command of lifecycle.postStart in {target}: {command} is not in {image}. It runs in the container, and without a shell unless it names one.",
            target = about.target.display(),
            command,
            image = container.image
        )));
    } else {
        out.push(remedy::fix(say!(case, "Run the command of lifecycle.postStart in {target} by hand in the image, and make it end with 0; it may run before the main process is ready.", target = about.target.display())));
    }
    out.push(about.target.with_container_patch(
        remedy::fix(phrase!(case, "Or drop the hook and do its work in the entry point.")),
        about.container,
        "lifecycle:\n  postStart: null\n",
    ));
    out
}

/// `subPathExpr` names a variable that the container has not.
fn expanded(about: &About<'_>, variable: &str) -> Vec<Remedy> {
    // What the kubelet adds behind the name, if anything.
    let variable = variable.split([' ', ',']).next().unwrap_or(variable);
    const FIELDS: [(&str, &str); 4] = [
        ("POD_NAME", "metadata.name"),
        ("POD_NAMESPACE", "metadata.namespace"),
        ("NODE_NAME", "spec.nodeName"),
        ("POD_IP", "status.podIP"),
    ];
    let fix = remedy::fix(say!(
        about.target,
        "Define {variable} under env of the container in {target}: a subPathExpr uses it, and sees only env.",
        variable,
        target = about.target.display()
    ));
    let field = FIELDS.iter().find(|(name, _)| *name == variable);
    let fix = match field {
        Some((_, field)) => about.target.with_container_patch(
            fix,
            about.container,
            &format!("env:\n- name: {variable}\n  valueFrom:\n    fieldRef:\n      fieldPath: {field}\n"),
        ),
        None => fix,
    };
    vec![fix, remedy::fix(phrase!(about.target, "Or use subPath, where no variable is needed."))]
}

pub(super) fn unclear(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let display = about.target.display();
    if let Some((_, variable)) = about.text.split_once("missing value for ") {
        return expanded(&about, variable.trim());
    }
    undo::of_stuck_rollout(case)
        .into_iter()
        .chain([remedy::fix(say!(case, "Correct in {target} what the message names; the logs of kubelet and container runtime on node {node} say more.", target = display, node = node(case)))])
        .collect()
}
