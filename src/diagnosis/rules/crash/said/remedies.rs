//! What to do about what a program said of its own end.

use super::handles::{self, Handles};
use super::space::{self, Full};
use super::words;
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::signals::termination::blamed;
use crate::diagnosis::signals::termination::exit_code::{go_back, log_remedy};
use crate::diagnosis::{Case, Finding, remedy, target};
use crate::facts::{Container, Terminated, VolumeSource, format_bytes};

/// The container that is blamed, and the line that it wrote.
pub(super) fn told<'c>(case: &Case<'c>, finding: &Finding) -> Option<(&'c Container, String)> {
    let container = blamed(case, finding)?;
    let line = super::line(case, container, container.last_end()?)?;
    Some((container, line.text))
}

pub(super) fn address_in_use(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let port = words::port(&said);
    let shown = port.map_or_else(|| phrase!(case, "the port").to_owned(), |port| say!(case, "port {port}", port));
    let mut out = Vec::new();
    out.push(match words::rival(case, container, port) {
        Some(rival) => remedy::fix(say!(case, "All containers of a pod share one network: let {container} or {rival} listen elsewhere than on {shown}.", container = container.name, rival, shown)),
        None if case.pod.host_network => remedy::fix(say!(case, "The pod uses the node's network (hostNetwork): something on {node} has {shown}. Choose another port, or do without hostNetwork.", node = case.its_node(), shown)),
        None => remedy::fix(say!(case, "All containers of a pod share one network: look for another one that listens on {shown}, also a sidecar, or for a second server in {container}.", shown, container = container.name)),
    });
    out.push(log_remedy(case, container));
    out
}

pub(super) fn bind_permission(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let is_low = words::port(&said).is_none_or(|port| port < 1024);
    let mut out = Vec::new();
    if is_low {
        out.push(remedy::fix(say!(case, "Let {container} listen on a port from 1024 on (and point containerPort, probes and the Service's targetPort there): a process that is not root may not use those below.", container = container.name)));
        let fields = "securityContext:\n  capabilities:\n    add: [NET_BIND_SERVICE]\n";
        let text = phrase!(
            case,
            "Or give it the capability, where its user may have one (root, or a file capability on the program)."
        );
        out.push(target::of(case).with_container_patch(remedy::fix(text), Some(container), fields));
    } else {
        out.push(remedy::fix(say!(
            case,
            "See which user {container} runs as, and whether a seccomp or SELinux policy forbids it.",
            container = container.name
        )));
    }
    out.push(log_remedy(case, container));
    out
}

pub(super) fn read_only(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let path = words::path(&said);
    let mount = path.and_then(|path| container.mount_over(path));
    if let Some(mount) = mount.filter(|mount| is_always_read_only(case, &mount.volume)) {
        return vec![
            remedy::fix(say!(
                case,
                "{path} comes from volume {volume} (a ConfigMap, a Secret or the like), which nobody can write to: let an init container copy what is there into an emptyDir, and mount that; or let the program write elsewhere.",
                path = mount.path,
                volume = mount.volume
            )),
            log_remedy(case, container),
        ];
    }
    let folder = path.and_then(words::folder);
    let at = folder.map_or_else(|| phrase!(case, "the folder that it writes to").to_owned(), str::to_owned);
    let mount = remedy::fix(say!(
        case,
        "Mount an emptyDir (or another writable volume) at {at} in {container}. If a volume is there already, see that its mount is not readOnly.",
        at,
        container = container.name
    ));
    vec![
        match folder {
            Some(folder) => with_empty_dir(case, container, folder, mount),
            None => mount,
        },
        remedy::fix(say!(
            case,
            "Or let {container} write to its own files: securityContext.readOnlyRootFilesystem: false.",
            container = container.name
        )),
        log_remedy(case, container),
    ]
}

/// The patch that mounts an emptyDir there, where no volume is yet.
pub(super) fn with_empty_dir(case: &Case<'_>, container: &Container, at: &str, remedy: Remedy) -> Remedy {
    if container.mount_at(at).is_some() {
        return remedy;
    }
    let name = at.trim_matches('/').replace(|c: char| !c.is_ascii_alphanumeric(), "-").to_ascii_lowercase();
    let name = name.get(..name.len().min(50)).unwrap_or_default().trim_matches('-');
    let (list, container) = (container.spec_list(), target::yaml_string(&container.name));
    let (name, at) = (target::yaml_string(&format!("writable-{name}")), target::yaml_string(at));
    let fields = format!(
        "volumes:\n- name: {name}\n  emptyDir: {{}}\n{list}:\n- name: {container}\n  volumeMounts:\n  - name: {name}\n    mountPath: {at}\n"
    );
    target::of(case).with_pod_patch(remedy, &fields)
}

pub(super) fn space(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let target = target::of(case);
    let (prefix, owner) = (target.command_prefix(), target.display());
    let mut out = match space::full(case, container, &said) {
        Full::Claim { name } => vec![
            remedy::command(
                remedy::fix(say!(
                    case,
                    "Enlarge claim {name} (spec.resources.requests.storage), if its StorageClass has allowVolumeExpansion.",
                    name
                )),
                format!("{prefix} edit pvc {}", target::shell_word(name)),
            ),
            remedy::fix(say!(case, "Or mount claim {name} in another pod, and remove there what is not needed.", name)),
        ],
        Full::Memory { volume, limit: None } => vec![remedy::fix(say!(
            case,
            "Volume {volume} is as large as the memory that {container} may use: raise its memory limit in {owner}, or drop medium: Memory.",
            volume,
            owner,
            container = container.name
        ))],
        Full::Memory { volume, limit: Some(limit) } => vec![target.with_pod_patch(
            remedy::fix(say!(
                case,
                "Raise sizeLimit of volume {volume} in {owner} (it counts as memory of {container}: its memory limit too), or drop medium: Memory.",
                volume,
                owner,
                container = container.name
            )),
            &format!(
                "volumes:\n- name: {}\n  emptyDir: {{sizeLimit: {}}}\n",
                target::yaml_string(volume),
                format_bytes(limit.saturating_mul(2))
            ),
        )],
        Full::SharedMemory => vec![target.with_pod_patch(
            remedy::fix(say!(
                case,
                "Mount an emptyDir with medium: Memory at /dev/shm in {container} (it counts as memory of the container).",
                container = container.name
            )),
            &format!(
                "volumes:\n- name: dshm\n  emptyDir: {{medium: Memory, sizeLimit: 256Mi}}\ncontainers:\n- name: {}\n  volumeMounts:\n  - {{name: dshm, mountPath: /dev/shm}}\n",
                target::yaml_string(&container.name)
            ),
        )],
        // Its node's disk may be empty: what is used up is set elsewhere, and often for a user.
        Full::Quota { claim, volumes } => {
            let of = match claim {
                Some(name) => say!(case, "claim {name}", name),
                None if volumes.is_empty() => phrase!(case, "the file system that it writes to").to_owned(),
                None => volumes.join(", "),
            };
            vec![
                remedy::fix(say!(
                    case,
                    "Raise the quota of {of} where it is set (the file server, CephFS, or project and user quotas of the disk): it may be that of the user whom {container} runs as or of a directory, and the disk itself may have room.",
                    of,
                    container = container.name
                )),
                remedy::fix(phrase!(case, "Or remove what is not needed there.")),
            ]
        }
        full => {
            let volumes = if let Full::Unknown { volumes } = full { Some(volumes.join(", ")) } else { None };
            let volumes = volumes.map(|volumes| {
                remedy::fix(say!(
                    case,
                    "See in its log to which of its volumes {container} writes ({volumes}), and make that one larger; those in memory and /dev/shm are small.",
                    container = container.name,
                    volumes
                ))
            });
            let node = case.pod.node_name.as_deref().unwrap_or("NODE");
            let disk = [
                remedy::command(
                    remedy::fix(say!(
                        case,
                        "See how full the disk of {node} is (df -h there, the DiskPressure condition), and free some: unused images, old logs.",
                        node
                    )),
                    format!("kubectl describe node {}", target::shell_word(node)),
                ),
                remedy::fix(say!(
                    case,
                    "Or give {container} a volume of its own where it writes much.",
                    container = container.name
                )),
            ];
            volumes.into_iter().chain(disk).collect()
        }
    };
    out.push(log_remedy(case, container));
    out
}

/// Whether the kubelet mounts this volume so that no container can write to it, whatever its mount says.
fn is_always_read_only(case: &Case<'_>, volume: &str) -> bool {
    match case.pod.volume_source(volume) {
        Some(
            VolumeSource::ConfigMap { .. }
            | VolumeSource::Secret { .. }
            | VolumeSource::Projected { .. }
            | VolumeSource::Image { .. },
        ) => true,
        Some(VolumeSource::Other { kind }) => kind == "downwardAPI",
        _ => false,
    }
}

/// What the node allows is raised on the node; a pod may not set it.
pub(super) fn inotify(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let Some((limit, sysctl)) = handles::met(&said).and_then(|met| Some((met, met.sysctl()?))) else {
        return Vec::new();
    };
    let node = case.its_node();
    vec![
        remedy::fix(say!(
            case,
            "On {node}, and each node that may run it, raise the limit: sysctl -w {sysctl}={value} (and a file in /etc/sysctl.d, so that it stays). A pod may not set it: it is the node's, for all containers of one user together.",
            node,
            sysctl,
            value = limit.generous()
        )),
        remedy::fix(say!(
            case,
            "Or let {container} poll, or not watch at all: DOTNET_USE_POLLING_FILE_WATCHER=1, CHOKIDAR_USEPOLLING=1, or its own setting.",
            container = container.name
        )),
        remedy::command(
            remedy::fix(say!(
                case,
                "Many pods that watch files on {node} use the limit up together: see which are there.",
                node
            )),
            target::pods_on_node(case.pod.node_name.as_deref().unwrap_or("NODE")),
        ),
        log_remedy(case, container),
    ]
}

/// As many as Elasticsearch asks for.
const MAP_COUNT: u32 = 262_144;

pub(super) fn map_count(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let node = case.its_node();
    vec![
        remedy::fix(say!(
            case,
            "On {node}, and each node that may run it: sysctl -w vm.max_map_count={value} (and a file in /etc/sysctl.d, so that it stays). It is no sysctl that a pod may set; a privileged init container may.",
            node,
            value = MAP_COUNT
        )),
        remedy::fix(say!(
            case,
            "Or let {container} map no files: node.store.allow_mmap=false in Elasticsearch and OpenSearch (slower).",
            container = container.name
        )),
        log_remedy(case, container),
    ]
}

pub(super) fn files(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    // A leak takes its time.
    const SOON: i64 = 60;
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let leak = remedy::fix(say!(
        case,
        "If {container} ran well for a while, look for what it opens and never closes: connections without a pool, responses that are not closed, a log opened again and again.",
        container = container.name
    ));
    let raise = remedy::fix(say!(
        case,
        "If it needs as many, raise the limit: `ulimit -n {value}` in its entry point where the hard limit allows it, else LimitNOFILE of the container runtime's service on the node. No field of a pod sets it.",
        value = Handles::Files.generous()
    ));
    let ended_soon = container.last_end().and_then(Terminated::ran_for).is_some_and(|ran| ran < SOON);
    let [first, second] = if ended_soon { [raise, leak] } else { [leak, raise] };
    vec![first, second, log_remedy(case, container)]
}

pub(super) fn heap(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let said = said.to_ascii_lowercase();
    let knob = if said.contains("javascript heap") {
        "--max-old-space-size (NODE_OPTIONS)"
    } else if said.contains("metaspace") {
        "-XX:MaxMetaspaceSize (JAVA_TOOL_OPTIONS)"
    } else if ["java runtime", "native memory", "commit_memory"].iter().any(|words| said.contains(words)) {
        return native_memory(case, container);
    } else if said.contains("java") {
        "-XX:MaxRAMPercentage or -Xmx (JAVA_TOOL_OPTIONS)"
    } else if said.contains("allowed memory size") {
        "memory_limit in php.ini"
    } else {
        phrase!(case, "its own limit, where its language has one")
    };
    let raise = match container.limits.memory {
        Some(limit) => say!(
            case,
            "{container} has a memory limit of {limit}. Raise {knob} up to about three quarters of the limit, and the limit with it if that is what is short.",
            container = container.name,
            limit = format_bytes(limit),
            knob
        ),
        None => say!(
            case,
            "{container} has no memory limit: what is short is set by itself. Raise {knob}.",
            container = container.name,
            knob
        ),
    };
    vec![
        remedy::fix(raise),
        remedy::fix(phrase!(case, "If it ran well for a while, look for a leak: take a heap dump before it ends.")),
        log_remedy(case, container),
    ]
}

/// What the JVM needs beside its heap is short, not the heap.
fn native_memory(case: &Case<'_>, container: &Container) -> Vec<Remedy> {
    let name = &container.name;
    let lower = match container.limits.memory {
        Some(limit) => say!(
            case,
            "The heap of {name} leaves too little of its memory limit of {limit} to the JVM itself (threads, classes, buffers): lower -Xmx or -XX:MaxRAMPercentage (JAVA_TOOL_OPTIONS), or raise the limit.",
            name,
            limit = format_bytes(limit)
        ),
        None => say!(
            case,
            "The node gives {name} no more memory: lower -Xmx or -XX:MaxRAMPercentage (JAVA_TOOL_OPTIONS), and give it a memory request, so that it runs where there is enough.",
            name
        ),
    };
    vec![remedy::fix(lower), log_remedy(case, container)]
}

/// How many may run is set by the kubelet (podPidsLimit), for a pod as a whole, or by whoever started it (`ulimit -u`).
pub(super) fn processes(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let (name, pod) = (&container.name, &case.pod.key);
    let node = case.its_node();
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "While it runs, compare what {name} has with what it may have (threads count as well); what grows without an end is a leak.",
                name
            )),
            format!(
                "kubectl -n {} exec {} -c {} -- sh -c 'cat /sys/fs/cgroup/pids.current /sys/fs/cgroup/pids.max; ulimit -u'",
                pod.namespace,
                pod.name,
                target::shell_word(name)
            ),
        ),
        remedy::fix(say!(
            case,
            "Let it start fewer: many pools have a thread for each CPU of the node, whatever {name} may use (GOMAXPROCS, OPENBLAS_NUM_THREADS, -XX:ActiveProcessorCount).",
            name
        )),
        remedy::fix(say!(
            case,
            "If it needs as many, raise podPidsLimit in the kubelet's configuration of {node}, or `ulimit -u` in its entry point. No field of a pod sets it.",
            node
        )),
        log_remedy(case, container),
    ]
}

pub(super) fn module(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let mut out = vec![
        remedy::fix(say!(
            case,
            "Install it in the image {image} (is it in requirements.txt, package.json, the jar?), or see that no volume is mounted over where it lies, and that the working directory and command of {container} are right.",
            image = container.image,
            container = container.name
        )),
        log_remedy(case, container),
    ];
    out.extend(go_back(case));
    out
}

pub(super) fn dependency(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let endpoint = words::endpoint(&said).unwrap_or_default();
    let host = words::host(&endpoint);
    let mut out = Vec::new();
    if endpoint.is_empty() {
        out.push(remedy::fix(say!(case, "See in {container}'s configuration which server it connects to at its start, and that its name and port are right and it has ready endpoints.", container = container.name)));
    } else if matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]" | "0.0.0.0") {
        out.push(remedy::fix(say!(case, "{host} is the pod itself: nothing in it listens there. Give {container} the name of the Service that it needs.", host, container = container.name)));
    } else {
        let service = host.split('.').next().unwrap_or(host);
        let is_name = host.chars().any(|c| c.is_ascii_alphabetic()) && !service.is_empty();
        let text = say!(
            case,
            "See that {endpoint} exists and has ready endpoints, and that the name and port that {container} uses are right.",
            endpoint,
            container = container.name
        );
        let check = remedy::fix(text);
        // A name of more than one part may be in another namespace, which the second part says.
        let namespace = host.split('.').nth(1).unwrap_or(&case.pod.key.namespace);
        let command = format!("kubectl -n {namespace} describe service {service}");
        let command = if host.contains('.') && !host.contains(".svc") { None } else { Some(command) };
        out.push(match command.filter(|_| is_name) {
            Some(command) => remedy::command(check, command),
            None => check,
        });
        out.push(remedy::fix(phrase!(case, "A NetworkPolicy or a wrong port refuses or drops connections as well; a name that is not found is often in another namespace.")));
    }
    out.push(remedy::fix(say!(
        case,
        "Let {container} wait and try again, so that a dependency that starts later does not end it.",
        container = container.name
    )));
    out.push(log_remedy(case, container));
    out
}

pub(super) fn variable(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, said)) = told(case, finding) else { return Vec::new() };
    let name = container.last_end().and_then(|run| super::variable(case, container, run, &said));
    let mut out = Vec::new();
    match name {
        Some(name) => {
            let fields = format!("env:\n- name: {name}\n  value: CHANGE-ME\n");
            let text = say!(
                case,
                "Set {variable} in {container} (env, or envFrom a ConfigMap or Secret that holds it).",
                variable = name,
                container = container.name
            );
            out.push(target::of(case).with_container_patch(remedy::fix(text), Some(container), &fields));
        }
        None => out.push(remedy::fix(say!(
            case,
            "Set the variable that {container} asks for (env or envFrom); its log names it.",
            container = container.name
        ))),
    }
    out.push(log_remedy(case, container));
    out
}

pub(super) fn panic(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let Some((container, _)) = told(case, finding) else { return Vec::new() };
    let mut out = vec![
        log_remedy(case, container),
        remedy::fix(phrase!(
            case,
            "The stack in the log names the line of code: it is a bug, or a missing check of its configuration."
        )),
    ];
    out.extend(go_back(case));
    out
}
