//! What to do about a pod without a node, most likely first.

use std::fmt::Write as _;

use super::analysis::Analysis;
use super::explain::{NodeView, Resource, Shortfall, Unmet, View, is_control_plane_taint, is_state_taint, lowered};
use super::not_scheduled;
use super::summary::{claims, host_ports};
use super::words::Kind;
use crate::api::Remedy;
use crate::diagnosis::language::{Language, phrase, say};
use crate::diagnosis::target::{self, Target, shell_word, yaml_string};
use crate::diagnosis::{Case, remedy};
use crate::facts::{Container, Operator, PodFacts, PodTerm, Taint, Toleration};

pub(super) fn of(case: &Case<'_>, kind: Kind) -> Vec<Remedy> {
    if kind == Kind::DraClaim {
        return dra(case);
    }
    let Some(condition) = not_scheduled(case, "Unschedulable") else { return Vec::new() };
    let Some(analysis) = Analysis::new(case, &condition) else { return Vec::new() };
    let target = target::of(case);
    let namespace = &case.pod.key.namespace;
    match kind {
        Kind::Extended => extended(case, &analysis, &target),
        Kind::Pods => pods(case, &target),
        kind if kind.is_capacity() => capacity(case, &analysis, &target, kind),
        Kind::Taint => taint(case, &analysis, &target),
        Kind::Cordoned => cordoned(&analysis),
        Kind::Selector => selector(&analysis, &target),
        Kind::HostPort => host_port(case, &target),
        Kind::DiskConflict | Kind::EphemeralPvc => claim(case, &analysis, &target, kind),
        kind if kind.is_about_a_claim() => claim(case, &analysis, &target, kind),
        Kind::NodeFeatures => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "Compare the features that nodes declare with what the pod needs; upgrade the nodes or change the pod."
            )),
            "kubectl get nodes -o custom-columns='NODE:.metadata.name,VERSION:.status.nodeInfo.kubeletVersion,FEATURES:.status.declaredFeatures'",
        )],
        Kind::Gang => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "See which pods of its group are missing or waiting, and why; make room for all of them at once."
            )),
            format!("kubectl -n {namespace} get pods -o wide"),
        )],
        Kind::VolumeCount => vec![
            remedy::fix(phrase!(case, "Add a node, or move pods with volumes to nodes with attachments left.")),
            remedy::command(
                remedy::fix(phrase!(case, "See the limit of attachments of each node's driver.")),
                "kubectl get csinode -o custom-columns='NODE:.metadata.name,LIMITS:.spec.drivers[*].allocatable.count'",
            ),
        ],
        Kind::PodAffinity => other_pods(case, &target, kind),
        Kind::PodAntiAffinity | Kind::ExistingAntiAffinity => {
            old_pods_first(case, &target).into_iter().chain(other_pods(case, &target, kind)).collect()
        }
        Kind::Disjoint => vec![remedy::command(
            remedy::fix(say!(
                case,
                "Compare the node affinity of {target} with the nodes that its volumes can be used on, and drop the constraint that is wrong.",
                target = target.display()
            )),
            "kubectl get pv -o custom-columns='PV:.metadata.name,CLAIM:.spec.claimRef.name,NODES:.spec.nodeAffinity.required.nodeSelectorTerms[*].matchExpressions[*].values'",
        )],
        Kind::NodeName => vec![remedy::command(
            remedy::fix(say!(case, "Correct spec.nodeName in {target}, or leave it out.", target = target.display())),
            "kubectl get nodes",
        )],
        Kind::TopologySpread => spread(case, &analysis, &target),
        _ => vec![remedy::command(
            remedy::fix(phrase!(case, "Let a node join the cluster, or find out why the nodes have left it.")),
            "kubectl get nodes -o wide",
        )],
    }
}

fn spread(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target) -> Vec<Remedy> {
    let keys = &case.pod.spread_over;
    let label = match keys.as_slice() {
        [] => remedy::command(
            remedy::fix(phrase!(case, "Make sure that every node has the label of the constraint's topologyKey.")),
            "kubectl get nodes --show-labels",
        ),
        keys => remedy::command(
            remedy::fix(say!(
                case,
                "Make sure that every node has the label {keys}.",
                keys = keys.join(phrase!(case, " and "))
            )),
            format!("kubectl get nodes -L {}", shell_word(&keys.join(","))),
        ),
    };
    let relax = remedy::fix(say!(
        case,
        "In {target} raise maxSkew, or set whenUnsatisfiable: ScheduleAnyway; or make room where fewer copies run.",
        target = target.display()
    ));
    if analysis.lacks_spread_label() { vec![label, relax] } else { vec![relax, label] }
}

/// What to do about pods that it must run beside, or must not.
fn other_pods(case: &Case<'_>, target: &Target, kind: Kind) -> Vec<Remedy> {
    match kind {
        Kind::PodAffinity => vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "See whether pods with the labels of its podAffinity run; start them, or correct the labelSelector or topologyKey."
                )),
                see_pods(case, &case.pod.pod_affinity),
            ),
            remedy::fix(say!(
                case,
                "If nearness is a wish and no need: in {target} use preferredDuringSchedulingIgnoredDuringExecution.",
                target = target.display()
            )),
        ],
        Kind::PodAntiAffinity => vec![
            remedy::command(
                remedy::mitigate(say!(
                    case,
                    "Add a node, or run no more pods of {target} than there are nodes (or zones, by its topologyKey).",
                    target = target.display()
                )),
                see_pods(case, &case.pod.pod_anti_affinity),
            ),
            remedy::fix(say!(
                case,
                "If sharing a node is acceptable: in {target} use preferredDuringSchedulingIgnoredDuringExecution.",
                target = target.display()
            )),
        ],
        _ => vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "Find the pod whose anti-affinity selects this one; change its labelSelector, or the labels of this one."
                )),
                "kubectl get pods -A -o custom-columns='NAMESPACE:.metadata.namespace,POD:.metadata.name,NODE:.spec.nodeName,NOT_BESIDE:.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[*].labelSelector'",
            ),
            remedy::mitigate(phrase!(case, "Add a node.")),
        ],
    }
}

/// The pods that its rules speak of. (They may name other namespaces.)
fn see_pods(case: &Case<'_>, terms: &[PodTerm]) -> String {
    match terms {
        [term] if !term.selector.is_empty() => format!("kubectl get pods -A -o wide -l {}", shell_word(&term.selector)),
        _ => format!("kubectl -n {} get pods --show-labels -o wide", case.pod.key.namespace),
    }
}

pub(super) fn preemption(case: &Case<'_>) -> Vec<Remedy> {
    let node = case.pod.nominated_node.as_deref().unwrap_or("NODE");
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "See which pods on {node} are Terminating, and what holds them: a long grace period, a finalizer, a kill that fails.",
                node
            )),
            format!("kubectl get pods -A -o wide --field-selector=spec.nodeName={}", shell_word(node)),
        ),
        remedy::mitigate(phrase!(
            case,
            "If one of them may end at once, delete it with a short grace period; or add a node."
        )),
    ]
}

/// What to do about a volume of the pod that no node can have.
fn claim(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target, kind: Kind) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    match kind {
        Kind::PvcNotFound => pvc_not_found(case, analysis, target),
        Kind::PvcUnbound => vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "See in the claim's Events why it has no volume (no such StorageClass, a provisioner that fails, no volume that fits), and correct that."
                )),
                describe_claims(case),
            ),
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "Check that the claim's storageClassName exists; only one class should be the default."
                )),
                "kubectl get storageclass",
            ),
        ],
        Kind::PvAffinity | Kind::VolumeZone => vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "See on which nodes or in which zone the volume lives (its Node Affinity), and make room there or bring that node back."
                )),
                format!(
                    "kubectl describe pv $(kubectl -n {namespace} get pvc {} -o jsonpath='{{.spec.volumeName}}')",
                    first_claim(case)
                ),
            ),
            remedy::fix(phrase!(
                case,
                "If that place is gone for good: restore the data into a new claim whose class has volumeBindingMode WaitForFirstConsumer, which places the volume where the pod can run."
            )),
        ],
        Kind::NoMatchingPv => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "Compare the claim's class, size and access mode with the volumes that are Available; create one that fits on a node that can take the pod."
            )),
            format!("kubectl get pv && {}", describe_claims(case)),
        )],
        Kind::StorageCapacity => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "See how much storage is free where, and free some, add some or ask for less; or use another class."
            )),
            "kubectl get csistoragecapacities -A",
        )],
        Kind::PvcLost | Kind::BoundPvMissing => vec![
            remedy::command(
                remedy::fix(phrase!(case, "See which volume the claim names, and whether its data still exists.")),
                format!("kubectl -n {namespace} get pvc {} -o yaml", first_claim(case)),
            ),
            remedy::fix(phrase!(
                case,
                "If it exists: make the PersistentVolume anew with the same name and volumeHandle. Else delete the claim, let a new one be provisioned, and restore the data."
            )),
        ],
        Kind::PvcDeleting => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "See which pods still use the claim (Used By), and end them; then create it anew."
            )),
            describe_claims(case),
        )],
        Kind::PvcInUse => vec![
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "See which pod uses the claim (Used By), and stop it if this one is to run instead."
                )),
                describe_claims(case),
            ),
            remedy::fix(say!(
                case,
                "If old and new pods overlap in an update: set strategy Recreate in {target}, or use ReadWriteOnce.",
                target = target.display()
            )),
        ],
        Kind::DiskConflict => {
            vec![remedy::fix(phrase!(
                case,
                "Stop the pod that has the volume, or put the volume behind a PersistentVolumeClaim."
            ))]
        }
        _ => vec![remedy::command(
            remedy::fix(phrase!(
                case,
                "See in the Events of the pod and the claims of the namespace why it is not made: a quota, or a claim of that name that belongs to somebody else."
            )),
            format!("kubectl -n {namespace} get pvc,resourcequota"),
        )],
    }
}

fn dra(case: &Case<'_>) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "See whether the claim ({claims}) exists, what it asks for, and what the drivers offer.",
                claims = case.pod.resource_claims.join(", ")
            )),
            format!(
                "kubectl -n {namespace} get resourceclaims,resourceclaimtemplates; kubectl get deviceclasses,resourceslices"
            ),
        ),
        remedy::fix(phrase!(
            case,
            "Create the claim, correct its deviceClassName, or install the driver on nodes with the devices."
        )),
    ]
}

/// A new pod may wait for a place that an old one of its own Deployment has, which goes only when the new one is ready.
fn old_pods_first(case: &Case<'_>, target: &Target) -> Option<Remedy> {
    let is_rollout = case.surroundings.siblings.other_template_ready > 0;
    let is_deployment = crate::diagnosis::top_workload(case.pod, None).is_some_and(|top| &*top.kind == "Deployment");
    (is_rollout && is_deployment).then(|| {
        let text = say!(
            case,
            "Most likely an old pod of {target} itself has that place, and waits for the new one to be ready: let the rollout end old pods first (maxSurge 0).",
            target = target.display()
        );
        let patch = "spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}";
        remedy::command(remedy::fix(text), target.patch_command(patch))
    })
}

fn host_port(case: &Case<'_>, target: &Target) -> Vec<Remedy> {
    let own = old_pods_first(case, target);
    let ports = host_ports(case);
    let drop = remedy::fix(say!(
        case,
        "Drop hostPort ({ports}) from {target} and reach the pods through a Service, or choose a free port.",
        ports,
        target = target.display()
    ));
    let holder = remedy::command(
        remedy::fix(phrase!(case, "See which pod has the port: one of the two has to change it, or to go.")),
        format!(
            "kubectl get pods -A -o 'custom-columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,NODE:.spec.nodeName,HOSTPORTS:.spec.containers[*].ports[*].hostPort' | grep -wE 'NODE|{}'",
            ports.replace(", ", "|")
        ),
    );
    let fewer = match &*target.kind {
        // It has one pod for each node as it is.
        "DaemonSet" => None,
        _ if case.pod.owner.is_some() => {
            Some(say!(case, "Run no more pods of {target} than there are nodes.", target = target.display()))
        }
        _ => Some(phrase!(case, "Add a node, or delete the pod that has the port.").to_owned()),
    };
    own.into_iter().chain([drop, holder]).chain(fewer.map(remedy::mitigate)).collect()
}

fn describe_claims(case: &Case<'_>) -> String {
    format!("kubectl -n {} describe pvc {}", case.pod.key.namespace, first_claim(case))
}

fn first_claim(case: &Case<'_>) -> String {
    case.pod.claims().next().unwrap_or("NAME").to_owned()
}

/// Lower the request, run less, add a node, take a bigger one.
fn capacity(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target, kind: Kind) -> Vec<Remedy> {
    let Some(view) = &analysis.view else { return capacity_in_words(case, target, kind) };
    let nearest = view.nearest(kind);
    let Some((node, short)) = nearest.first() else { return capacity_in_words(case, target, kind) };
    let resource = &short.resource;
    let siblings = &case.surroundings.siblings;
    // Room for one more pod is none for all that wait, and a new template takes those away that run.
    let others_wait = siblings.ready > 0 && siblings.total - siblings.ready.min(siblings.total) > 1;
    if others_wait {
        return for_several(case, view, (*node, short), target);
    }
    let mut found = Vec::new();
    let most = view.largest_that_fits(kind);
    let lower = most.and_then(|most| lowered(view.pod, resource, most));
    // Where full nodes are all that is in its way, what is left of them would not do for it.
    let is_little = |(container, amount): (&Container, i64)| {
        resource.of(&container.requests).is_some_and(|asked| amount.saturating_mul(LITTLE) < asked)
    };
    let is_full = view.fits_empty().is_some() && (most.is_none() || lower.is_some_and(is_little));
    match lower {
        _ if is_full => {}
        Some((container, amount)) => found.push(lower_request(case, target, container, resource, amount)),
        None => found.push(remedy::fix(say!(
            case,
            "Lower the {resource} requests of {target}.",
            resource = resource.name(),
            target = target.display()
        ))),
    }
    let has_room = |s: &&Shortfall| node.state.all_pods_known && s.free > 0;
    for other in node.shortfalls.iter().filter(|s| !is_full && s.resource != *resource).filter(has_room) {
        if let Some((container, amount)) = lowered(view.pod, &other.resource, other.free) {
            found.push(lower_request(case, target, container, &other.resource, amount));
        }
    }
    found.extend(open_a_node(case.language(), view));
    if let Some(empty) = view.fits_empty() {
        let fewer = fewer_replicas(case, target);
        let add = remedy::fix(say!(
            case,
            "Add one node of the size of {node}: empty, it takes the pod.",
            node = empty.name()
        ));
        found.extend(if is_full { [add, fewer] } else { [fewer, add] });
    } else {
        let need = resource.amount_of(case.language(), short.asked);
        found.push(remedy::fix(say!(
            case,
            "If it needs that much, add a node with more than {need} allocatable.",
            need
        )));
    }
    found.extend(who_has_reserved(case.language(), node, short));
    found
}

/// A request is not lowered to less than one of so many parts of it: with that little no program does what it is there for.
const LITTLE: i64 = 4;

/// Some pods of the workload run, and several find no room.
fn for_several(
    case: &Case<'_>,
    view: &View<'_>,
    (node, short): (&NodeView<'_>, &Shortfall),
    target: &Target,
) -> Vec<Remedy> {
    let mut found: Vec<_> = open_a_node(case.language(), view).into_iter().collect();
    found.push(fewer_replicas(case, target));
    let need = short.resource.amount_of(case.language(), short.asked);
    found.push(remedy::fix(say!(case, "Add nodes until all fit: each pod needs {need}.", need)));
    let lower = say!(
        case,
        "Or lower the {resource} request of {target} until all {total} replicas fit together; that makes those anew that run.",
        resource = short.resource.name(),
        target = target.display(),
        total = case.surroundings.siblings.total
    );
    found.push(remedy::fix(lower));
    found.extend(who_has_reserved(case.language(), node, short));
    found
}

fn who_has_reserved(language: Language, node: &NodeView<'_>, short: &Shortfall) -> Option<Remedy> {
    (short.free < short.allocatable).then(|| {
        remedy::command(
            remedy::fix(phrase!(language, "See who has reserved it: the node's part \"Allocated resources\".")),
            format!("kubectl describe node {}", shell_word(node.name())),
        )
    })
}

fn capacity_in_words(case: &Case<'_>, target: &Target, kind: Kind) -> Vec<Remedy> {
    let what = match kind {
        Kind::Cpu => "CPU",
        Kind::Memory => "memory",
        _ => "ephemeral-storage",
    };
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Lower the {what} requests of {target} to what a node has free.",
                what,
                target = target.display()
            )),
            "kubectl describe nodes",
        ),
        fewer_replicas(case, target),
        remedy::fix(say!(case, "Add a node with enough {what}.", what)),
    ]
}

fn fewer_replicas(case: &Case<'_>, target: &Target) -> Remedy {
    // As many as run now fit; one less than are asked for may still be too many.
    let fewer = case.surroundings.siblings.ready;
    match target.scale_command(fewer).filter(|_| fewer > 0) {
        Some(command) => remedy::command(
            remedy::mitigate(say!(
                case,
                "Run fewer replicas of {target}, or of what else runs there.",
                target = target.display()
            )),
            command,
        ),
        None => remedy::mitigate(phrase!(case, "Run fewer replicas of what else runs there.")),
    }
}

fn lower_request(case: &Case<'_>, target: &Target, container: &Container, resource: &Resource, amount: i64) -> Remedy {
    let quantity = resource.quantity(amount);
    let mut text = say!(
        case,
        "Lower the {resource} request of {container} to {quantity} at most.",
        resource = resource.name(),
        container = container.name,
        quantity
    );
    let replicas = case.surroundings.siblings.total;
    if replicas > 1 {
        text.push_str(&say!(
            case,
            " That is for this pod; all {replicas} replicas get it, and must fit together.",
            replicas
        ));
    }
    let mut fields = format!("resources:\n  requests:\n    {}: {}\n", resource.name(), yaml_string(&quantity));
    if matches!(resource, Resource::Extended(_)) {
        let _ = write!(fields, "  limits:\n    {}: {}\n", resource.name(), yaml_string(&quantity));
    }
    target.with_container_patch(remedy::fix(text), Some(container), &fields)
}

/// Nodes with room that are closed: the quick way out.
fn open_a_node(language: Language, view: &View<'_>) -> Option<Remedy> {
    let node = view.nodes.iter().find(|n| n.cordoned && n.shortfalls.is_empty() && n.taints.is_empty())?;
    Some(uncordon(language, node))
}

fn uncordon(language: Language, node: &NodeView<'_>) -> Remedy {
    remedy::command(
        remedy::mitigate(say!(
            language,
            "{node} has room and is cordoned: open it once its maintenance is over.",
            node = node.name()
        )),
        format!("kubectl uncordon {}", shell_word(node.name())),
    )
}

/// Shows how much of a resource each node offers. Its name may be out of a message, which may say anything.
fn see_who_has(resource: &str) -> String {
    let columns = format!("NODE:.metadata.name,HAS:.status.allocatable.{}", resource.replace('.', "\\."));
    format!("kubectl get nodes -o custom-columns={}", shell_word(&columns))
}

fn extended(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target) -> Vec<Remedy> {
    let short: Option<&Shortfall> =
        analysis.view.as_ref().and_then(|v| v.nearest(Kind::Extended).first().map(|(_, s)| *s));
    let name = short
        .map(|s| s.resource.name())
        .or_else(|| analysis.extended())
        .unwrap_or(phrase!(case, "the resource"))
        .to_owned();
    // Where no node was seen, all may have some.
    let nowhere = if short.is_some() {
        say!(case, "No node offers {name}.", name)
    } else {
        phrase!(case, "See which nodes offer it.").to_owned()
    };
    if short.is_some_and(|s| s.allocatable > 0) {
        return capacity(case, analysis, target, Kind::Extended);
    }
    if name.starts_with("hugepages-") {
        return vec![
            remedy::command(
                remedy::fix(say!(
                    case,
                    "{nowhere} Reserve huge pages of that size on a node (vm.nr_hugepages, or hugepages= at boot) and restart its kubelet.",
                    nowhere
                )),
                see_who_has(&name),
            ),
            remedy::fix(say!(case, "Or drop the request from {target}.", target = target.display())),
        ];
    }
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "{nowhere} Check its spelling, and that its device plugin runs on the nodes with such devices.",
                nowhere
            )),
            see_who_has(&name),
        ),
        remedy::fix(say!(
            case,
            "Add a node with {name}, or drop the request from {target}.",
            name,
            target = target.display()
        )),
    ]
}

fn pods(case: &Case<'_>, target: &Target) -> Vec<Remedy> {
    vec![
        remedy::fix(phrase!(case, "Add a node.")),
        fewer_replicas(case, target),
        remedy::fix(phrase!(
            case,
            "Raise maxPods in the kubelet's configuration, if the pod network has the addresses."
        )),
        remedy::command(
            remedy::mitigate(phrase!(case, "See which pods fill the nodes, and stop those that are not needed.")),
            "kubectl get pods -A -o wide --field-selector=status.phase=Running",
        ),
    ]
}

fn cordoned(analysis: &Analysis<'_>) -> Vec<Remedy> {
    let Some(view) = &analysis.view else {
        return vec![remedy::command(
            remedy::fix(phrase!(analysis, "Uncordon a node once its maintenance is over, or add one.")),
            "kubectl get nodes",
        )];
    };
    let closed = view.nodes.iter().filter(|n| n.cordoned && n.shortfalls.is_empty() && n.unmet.is_empty());
    let mut found: Vec<_> = closed.take(2).map(|node| uncordon(analysis.language, node)).collect();
    found.push(remedy::fix(phrase!(analysis, "If the maintenance takes longer, add a node.")));
    found
}

fn taint(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target) -> Vec<Remedy> {
    let tainted = analysis.view.as_ref().and_then(|v| v.blamed_taint().map(|(node, _)| node));
    let Some(node) = tainted else {
        let told = analysis.told_taint().and_then(|r| super::words::taint_key(r.text));
        if let Some(key) = told.filter(|key| is_state_taint(key)) {
            return vec![
                remedy::command(
                    remedy::fix(say!(
                        case,
                        "Repair the nodes: the taint {key} tells of their state and goes when that does. A toleration would only send the pod to a broken node.",
                        key
                    )),
                    "kubectl describe nodes",
                ),
                remedy::mitigate(phrase!(case, "Add a node.")),
            ];
        }
        return vec![remedy::command(
            remedy::fix(say!(
                case,
                "Add the toleration to {target}, if it belongs on those nodes; or remove the taint.",
                target = target.display()
            )),
            "kubectl get nodes -o custom-columns=NODE:.metadata.name,TAINTS:.spec.taints",
        )];
    };
    let name = shell_word(node.name());
    let state: Vec<_> = node.taints.iter().filter(|t| is_state_taint(&t.key)).collect();
    if let Some(taint) = state.first() {
        return vec![
            remedy::command(
                remedy::fix(say!(
                    case,
                    "Repair {name}: the taint {taint} tells of its state and goes when that does. A toleration would only send the pod to a broken node.",
                    name = node.name(),
                    taint = taint.key
                )),
                format!("kubectl describe node {name}"),
            ),
            remedy::mitigate(phrase!(case, "Add a node.")),
        ];
    }
    let text = say!(
        case,
        "If the pod belongs on {node}, add the toleration to {target}.",
        node = node.name(),
        target = target.display()
    );
    let tolerate = target.with_pod_patch(remedy::fix(text), &tolerations(case.pod, &node.taints));
    let remove = node.taints.first().map(|taint| {
        let control_plane = is_control_plane_taint(&taint.key);
        let text = if control_plane {
            say!(
                case,
                "If {node} may run ordinary pods too (a small cluster), remove its taint {taint}.",
                node = node.name(),
                taint = taint.key
            )
        } else {
            say!(
                case,
                "If the taint {taint} was left behind, remove it from {node}.",
                taint = taint.key,
                node = node.name()
            )
        };
        // Without an effect, all taints of that key go.
        let effect = match node.taints.iter().filter(|t| t.key == taint.key).count() {
            1 => format!(":{}", taint.effect),
            _ => String::new(),
        };
        remedy::command(remedy::fix(text), format!("kubectl taint node {name} {}{effect}-", shell_word(&taint.key)))
    });
    let mut found = vec![tolerate];
    found.extend(remove);
    found.push(remedy::fix(phrase!(case, "Or add a node without that taint.")));
    found
}

/// The pod's own tolerations with those it lacks: the list has no merge key, so that a patch replaces it.
fn tolerations(pod: &PodFacts, taints: &[&Taint]) -> String {
    let mut out = String::from("tolerations:\n");
    for t in pod.tolerations.iter().filter(|t| !is_added(t)) {
        let mut fields = Vec::new();
        if !t.key.is_empty() {
            fields.push(format!("key: {}", yaml_string(&t.key)));
        }
        fields.push(format!("operator: {}", if t.exists { "Exists" } else { "Equal" }));
        if !t.exists {
            fields.push(format!("value: {}", yaml_string(&t.value)));
        }
        if !t.effect.is_empty() {
            fields.push(format!("effect: {}", t.effect));
        }
        if let Some(seconds) = t.seconds {
            fields.push(format!("tolerationSeconds: {seconds}"));
        }
        let _ = writeln!(out, "- {{{}}}", fields.join(", "));
    }
    for taint in taints {
        let value = if taint.value.is_empty() {
            "operator: Exists".to_owned()
        } else {
            format!("operator: Equal, value: {}", yaml_string(&taint.value))
        };
        let _ = writeln!(out, "- {{key: {}, {value}, effect: {}}}", yaml_string(&taint.key), taint.effect);
    }
    out
}

/// Tolerations that admission or the DaemonSet controller put into every pod: they are in no template.
fn is_added(t: &Toleration) -> bool {
    t.exists && t.key.starts_with("node.kubernetes.io/") && (t.seconds == Some(300) || t.seconds.is_none())
}

#[allow(clippy::too_many_lines, reason = "each sentence takes several lines")]
fn selector(analysis: &Analysis<'_>, target: &Target) -> Vec<Remedy> {
    if analysis.is_enforced() {
        return vec![remedy::fix(phrase!(
            analysis,
            "Give nodes the labels that addedAffinity in the scheduler's configuration (NodeAffinityArgs) asks for, or correct it there."
        ))];
    }
    let nearest = analysis.view.as_ref().and_then(|v| v.nearest_by_labels().into_iter().next());
    let Some(node) = nearest else {
        return vec![remedy::command(
            remedy::fix(say!(
                analysis,
                "Compare the nodeSelector and node affinity of {target} with the nodes' labels, and correct one of them.",
                target = target.display()
            )),
            "kubectl get nodes --show-labels",
        )];
    };
    let Some(unmet) = node.unmet.iter().find(|u| u.resembles.is_some()).or(node.unmet.first()) else {
        return Vec::new();
    };
    let name = shell_word(node.name());
    if unmet.is_node_name() && analysis.view.as_ref().is_some_and(|view| view.has_any(&unmet.values)) {
        let text = say!(
            analysis,
            "Drop one of the node names from the node affinity of {target}: no node has both.",
            target = target.display()
        );
        return vec![remedy::fix(text)];
    }
    if unmet.is_node_name() || unmet.is_host_name() {
        return of_one_node(analysis, target, unmet);
    }
    let label = unmet.label().map(|label| {
        let overwrite = if unmet.has.is_some() { " --overwrite" } else { "" };
        remedy::command(
            remedy::fix(say!(
                analysis,
                "If {node} is meant to run it, give that node the label {label}.",
                node = node.name(),
                label
            )),
            format!("kubectl label node {name} {}{overwrite}", shell_word(&label)),
        )
    });
    let correct = match &unmet.resembles {
        Some((key, value)) => {
            let text = say!(
                analysis,
                "{node} is labelled {key}={value}: correct the spelling in {target}.",
                node = node.name(),
                key,
                value,
                target = target.display()
            );
            let fix = remedy::fix(text);
            if unmet.path.starts_with("spec.nodeSelector") {
                // A merge patch removes a key that is set to null.
                let old =
                    if *key == unmet.key { String::new() } else { format!("  {}: null\n", yaml_string(&unmet.key)) };
                target.with_pod_patch(
                    fix,
                    &format!("nodeSelector:\n{old}  {}: {}\n", yaml_string(key), yaml_string(value)),
                )
            } else {
                fix
            }
        }
        // What the node says of itself is true: only the pod can be wrong.
        None if unmet.path.starts_with("spec.nodeSelector") && label.is_none() && unmet.has.is_some() => {
            let value = unmet.has.as_deref().unwrap_or_default();
            target.with_pod_patch(
                remedy::fix(say!(
                    analysis,
                    "Or, if {target} can run there too, correct its nodeSelector: {node} has {key}={value}.",
                    target = target.display(),
                    node = node.name(),
                    key = unmet.key,
                    value
                )),
                &format!("nodeSelector:\n  {}: {}\n", yaml_string(&unmet.key), yaml_string(value)),
            )
        }
        None if unmet.operator == Operator::In && unmet.path.starts_with("spec.nodeSelector") => target.with_pod_patch(
            remedy::fix(say!(
                analysis,
                "Drop {wanted} from the nodeSelector of {target}, if any node will do.",
                wanted = unmet.wanted(),
                target = target.display()
            )),
            &format!("nodeSelector:\n  {}: null\n", yaml_string(&unmet.key)),
        ),
        None => remedy::fix(say!(
            analysis,
            "Correct the node affinity of {target}: {wanted}.",
            target = target.display(),
            wanted = unmet.wanted()
        )),
    };
    // Of what nodes say of themselves none can be given to them.
    let another = label.is_none() && unmet.operator == Operator::In && unmet.resembles.is_none();
    let another = another.then(|| remedy::fix(say!(analysis, "Add a node with {wanted}.", wanted = unmet.wanted())));
    // A label that is there with another value is rather right than wrong.
    let rather_the_pod = unmet.resembles.is_some() || unmet.has.is_some() || unmet.is_told_by_clouds();
    let mut found =
        if rather_the_pod { vec![another, Some(correct), label] } else { vec![another, label, Some(correct)] };
    found.push(Some(remedy::command(
        remedy::fix(phrase!(analysis, "See the labels of all nodes.")),
        "kubectl get nodes --show-labels",
    )));
    found.into_iter().flatten().collect()
}

/// What to do where the node is not there whose name the pod asks for: perhaps it is to come back, as its data is there.
fn of_one_node(analysis: &Analysis<'_>, target: &Target, unmet: &Unmet) -> Vec<Remedy> {
    let nodes = unmet.values.join(", ");
    let back = say!(analysis, "If node {nodes} is meant to be there: let it join again under that name.", nodes);
    let back = remedy::command(remedy::fix(back), "kubectl get nodes -o wide");
    let is_selector = unmet.path.starts_with("spec.nodeSelector");
    let owner = analysis.view.as_ref().and_then(|view| view.pod.owner.as_ref());
    let elsewhere = if owner.is_some_and(|owner| &*owner.kind == "DaemonSet") {
        remedy::fix(phrase!(analysis, "If it is gone for good: delete the pod."))
    } else if is_selector {
        target.with_pod_patch(
            remedy::fix(say!(
                analysis,
                "If it is gone for good: drop {wanted} from the nodeSelector of {target}. What its pods have kept on that node does not move with them.",
                wanted = unmet.wanted(),
                target = target.display()
            )),
            &format!("nodeSelector:\n  {}: null\n", yaml_string(&unmet.key)),
        )
    } else {
        target.with_replacement(remedy::fix(say!(
            analysis,
            "If it is gone for good: drop {wanted} from the node affinity of {target}. What its pods have kept on that node does not move with them.",
            wanted = unmet.wanted(),
            target = target.display()
        )))
    };
    let meant = unmet.resembles.as_ref().map(|(key, node)| {
        let text = say!(analysis, "If {node} is meant: correct the name in {target}.", node, target = target.display());
        let fields = format!("nodeSelector:\n  {}: {}\n", yaml_string(key), yaml_string(node));
        if is_selector { target.with_pod_patch(remedy::fix(text), &fields) } else { remedy::fix(text) }
    });
    meant.into_iter().chain([back, elsewhere]).collect()
}

fn pvc_not_found(case: &Case<'_>, analysis: &Analysis<'_>, target: &Target) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    let claim = analysis.claim().unwrap_or(phrase!(case, "the claim"));
    vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Create the PersistentVolumeClaim {claim} in namespace {namespace}; the pod starts by itself then.",
                claim,
                namespace
            )),
            format!("kubectl -n {namespace} get pvc"),
        ),
        remedy::fix(say!(case, "If the name is wrong, correct claimName in {target}.", target = target.display())),
    ]
}

pub(super) fn scheduler_error(case: &Case<'_>) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    let mut found = vec![remedy::command(
        remedy::fix(phrase!(case, "Look at the scheduler's log for the operation that failed; it is tried again.")),
        "kubectl -n kube-system logs -l component=kube-scheduler --tail=50",
    )];
    if !claims(case).is_empty() {
        found.insert(
            0,
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "If the message is about a volume: see in the claim's Events what its provisioner says."
                )),
                format!("kubectl -n {namespace} describe pvc {}", first_claim(case)),
            ),
        );
    }
    found
}

pub(super) fn no_scheduler(case: &Case<'_>) -> Vec<Remedy> {
    let target = target::of(case);
    let name = &case.pod.scheduler_name;
    let see = remedy::command(
        remedy::fix(phrase!(case, "If no new pod of the cluster gets a node, start the scheduler again.")),
        "kubectl -n kube-system get pods -l component=kube-scheduler",
    );
    if name.is_empty() || name == "default-scheduler" {
        return vec![see];
    }
    vec![
        target.with_pod_patch(
            remedy::fix(say!(
                case,
                "Correct schedulerName in {target} (default-scheduler is the usual one).",
                target = target.display()
            )),
            "schedulerName: default-scheduler\n",
        ),
        remedy::fix(say!(case, "Or start a scheduler named {name}.", name)),
    ]
}
