//! What to do about volumes.

use super::{claim as claim_in, current, driver, holder, key as key_in, object, source_of};
use crate::api::{Remedy, Root};
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::rules::signature;
use crate::diagnosis::target::{self, shell_word, yaml_string};
use crate::diagnosis::{Case, Finding, RootKind, evidence, remedy};
use crate::facts::{EventFacts, VolumeSource};

/// The Event that the finding rests on.
fn event<'a>(case: &Case<'a>, finding: &Finding) -> Option<&'a EventFacts> {
    let evidence = finding.evidence.first()?;
    // Two Events of one reason may be of the same second.
    current(case).find(|e| evidence::event(e) == *evidence).or_else(|| current(case).next())
}

fn said<'a>(case: &Case<'a>, finding: &Finding) -> &'a str {
    event(case, finding).map_or("", |e| &*e.message)
}

fn node<'a>(case: &Case<'a>) -> &'a str {
    case.pod.node_name.as_deref().unwrap_or(phrase!(case, "the node"))
}

pub(super) fn create_secret(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    missing_object(case, finding, true)
}

pub(super) fn create_config_map(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    missing_object(case, finding, false)
}

fn missing_object(case: &Case<'_>, finding: &Finding, secret: bool) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    let name = object(said(case, finding)).unwrap_or("NAME");
    let (word, create) = if secret { ("Secret", "secret generic") } else { ("ConfigMap", "configmap") };
    let target = target::of(case);
    let create = remedy::command(
        remedy::fix(say!(
            case,
            "Create {word} {name} in namespace {namespace}; the kubelet then mounts it by itself.",
            word,
            name,
            namespace
        )),
        format!("kubectl -n {namespace} create {create} {} --from-file=FILE", shell_word(name)),
    );
    let optional = remedy::fix(phrase!(case, "Or mark the volume optional, if the program can do without."));
    let volume = case.pod.volumes.iter().find_map(|v| match &v.source {
        VolumeSource::Secret { name: n, .. } if secret && n == name => Some((&v.name, "secret", "secretName")),
        VolumeSource::ConfigMap { name: n, .. } if !secret && n == name => Some((&v.name, "configMap", "name")),
        _ => None,
    });
    let optional = match volume {
        Some((volume, field, naming)) => target.with_pod_patch(
            optional,
            &format!(
                "volumes:\n- name: {}\n  {field}:\n    {naming}: {}\n    optional: true\n",
                yaml_string(volume),
                yaml_string(name)
            ),
        ),
        None => optional,
    };
    vec![create, optional]
}

pub(super) fn key(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let said = said(case, finding);
    let key = key_in(said).unwrap_or("KEY");
    let source = source_of(case, said);
    let fix = remedy::fix(say!(
        case,
        "Add key {key} to {source}, or correct items[].key of the volume in {target}.",
        key,
        source = source.as_ref().map_or_else(|| phrase!(case, "the volume's source").to_owned(), ToString::to_string),
        target = target::of(case).display()
    ));
    let Some(Root { kind, name }) = source else { return vec![fix] };
    let field = if kind == RootKind::Secret.as_str() { "stringData" } else { "data" };
    let body = serde_json::json!({ field: { key: "VALUE" } }).to_string();
    vec![remedy::command(
        fix,
        format!(
            "kubectl -n {} patch {} {} --type=merge -p {}",
            case.pod.key.namespace,
            kind.to_ascii_lowercase(),
            shell_word(&name),
            shell_word(&body)
        ),
    )]
}

pub(super) fn token(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let namespace = &case.pod.key.namespace;
    let mut remedies = vec![
        remedy::command(
            remedy::fix(say!(
                case,
                "Check that service account {account} exists in namespace {namespace}.",
                account = case.pod.service_account,
                namespace
            )),
            format!("kubectl -n {namespace} get serviceaccount {}", shell_word(&case.pod.service_account)),
        ),
        remedy::command(
            remedy::fix(phrase!(
                case,
                "If kube-root-ca.crt is missing, kube-controller-manager does not run or may not write it."
            )),
            format!("kubectl -n {namespace} get configmap kube-root-ca.crt"),
        ),
    ];
    if said(case, finding).contains("kube-root-ca.crt") {
        remedies.reverse();
    }
    remedies
}

pub(super) fn claim(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let name = claim_in(said(case, finding)).unwrap_or("NAME");
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Look at claim {claim}: it must be Bound and not in deletion; then delete the pod.",
            claim = name
        )),
        format!("kubectl -n {} describe pvc {}", case.pod.key.namespace, shell_word(name)),
    )]
}

pub(super) fn mode(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(say!(
        case,
        "In {target}, list a Block volume under volumeDevices and a Filesystem volume under volumeMounts.",
        target = target::of(case).display()
    ))]
}

pub(super) fn multi_attach(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    let mut out = vec![remedy::mitigate(say!(
        case,
        "Delete the pod that holds the volume ({holder}). If its node is dead for good, taint it node.kubernetes.io/out-of-service.",
        holder = holder(case.language(), said(case, finding))
    ))];
    let fix = remedy::fix(say!(
        case,
        "Let {target} replace its pod instead of starting a second one.",
        target = target.display()
    ));
    out.push(if &*target.kind == "Deployment" {
        let patch = "spec:\n  strategy:\n    type: Recreate\n    rollingUpdate: null\n";
        remedy::patch(remedy::command(fix, target.patch_command(patch)), patch)
    } else {
        fix
    });
    out.push(remedy::fix(phrase!(case, "Or use a volume that several nodes can share (ReadWriteMany).")));
    out
}

pub(super) fn csi_driver(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let name = driver(said(case, finding)).unwrap_or(phrase!(case, "of the volume"));
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Install CSI driver {driver}, or repair its DaemonSet pod on node {node}.",
            driver = name,
            node = node(case)
        )),
        format!("kubectl get csinode {} -o yaml", node(case)),
    )]
}

pub(super) fn csi_mode(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Use a claim instead of the inline csi volume in {target}, or a driver with that mode.",
            target = target::of(case).display()
        )),
        "kubectl get csidrivers",
    )]
}

pub(super) fn attacher(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(phrase!(
            case,
            "Read the VolumeAttachment's error and the log of the CSI driver's controller (external-attacher)."
        )),
        "kubectl get volumeattachments",
    )]
}

pub(super) fn node_affinity(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(say!(
            case,
            "Let the scheduler choose the node (no nodeName), or give node {node} the label that the PV asks for.",
            node = node(case)
        )),
        "kubectl get pv -o yaml",
    )]
}

pub(super) fn host_path(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let said = said(case, finding);
    let volume = super::volume_of(said).and_then(|name| case.pod.volumes.iter().find(|v| v.name == name));
    let path = match volume.map(|v| &v.source) {
        Some(VolumeSource::HostPath { path }) => path.as_str(),
        _ => phrase!(case, "the path"),
    };
    let fix = remedy::fix(phrase!(case, "Or let the kubelet create it."));
    let create = if said.contains("is not a directory") {
        Some("DirectoryOrCreate")
    } else if said.contains("is not a file") {
        Some("FileOrCreate")
    } else {
        None
    };
    let mut out = vec![remedy::fix(say!(
        case,
        "Create {path} on node {node} (and every other that can run the pod), or correct the path.",
        path,
        node = node(case)
    ))];
    if let (Some(kind), Some(volume)) = (create, volume) {
        let patch = format!(
            "volumes:\n- name: {}\n  hostPath:\n    path: {}\n    type: {kind}\n",
            yaml_string(&volume.name),
            yaml_string(path)
        );
        out.push(target::of(case).with_pod_patch(fix, &patch));
    }
    out
}

pub(super) fn helper(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(say!(
        case,
        "Install the mount helper on node {node} and all others: nfs-common or nfs-utils for NFS, cifs-utils for SMB.",
        node = node(case)
    ))]
}

pub(super) fn nfs(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(say!(
            case,
            "On the NFS server, export the path to node {node} and check that the path exists.",
            node = node(case)
        )),
        remedy::fix(say!(
            case,
            "From node {node}, try `showmount -e SERVER` and port 2049 (firewall).",
            node = node(case)
        )),
    ]
}

pub(super) fn file_system(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(phrase!(case, "With no pod using it, run fsck on the volume, or restore it from a snapshot.")),
        remedy::fix(phrase!(case, "If the data is well, correct fsType of the PV or StorageClass.")),
    ]
}

/// For a mount that fails for a reason without a cause of its own: two that the words tell, else the driver's log.
pub(super) fn set_up(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let said = said(case, finding);
    let node = node(case);
    // A local PersistentVolume is a path on its node that somebody has to make.
    if let Some(path) = signature::between(said, "path \"", "\" does not exist") {
        return vec![
            remedy::fix(say!(
                case,
                "Create {path} on node {node} (a local volume is made by hand), or mount its disk there.",
                path,
                node
            )),
            remedy::command(
                remedy::fix(phrase!(
                    case,
                    "Or correct spec.local.path of the PersistentVolume: make it anew, with its claim."
                )),
                "kubectl get pv -o custom-columns=NAME:.metadata.name,PATH:.spec.local.path,CLAIM:.spec.claimRef.name",
            ),
        ];
    }
    let unregistered = said.strip_suffix(" not registered").and_then(|words| words.rsplit('/').next());
    if let Some(name) = unregistered.map(|name| name.trim_matches('"')) {
        let namespace = &case.pod.key.namespace;
        return vec![
            remedy::command(
                remedy::fix(say!(
                    case,
                    "See that {name} exists in namespace {namespace}: the kubelet has never got it.",
                    name,
                    namespace
                )),
                format!("kubectl -n {namespace} get configmap,secret"),
            ),
            remedy::fix(say!(
                case,
                "If it does, delete the pod, and restart the kubelet on node {node} if it comes again.",
                node
            )),
        ];
    }
    if said.contains("failed to sync configmap cache") || said.contains("failed to sync secret cache") {
        return vec![
            remedy::fix(say!(
                case,
                "The kubelet on node {node} does not get ConfigMaps and Secrets from the API server: look at its log and its connection, and restart it if it hangs.",
                node
            )),
            remedy::mitigate(phrase!(case, "Delete the pod, so that it starts elsewhere.")),
        ];
    }
    driver_log(case, finding)
}

pub(super) fn driver_log(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(say!(case, "Read the log of the volume driver's pod on node {node}.", node = node(case))),
        target::pods_on_node(node(case)),
    )]
}

pub(super) fn fs_group(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![target::of(case).with_pod_patch(
        remedy::fix(phrase!(case, "Change owners only where the root of the volume is wrong.")),
        "securityContext:\n  fsGroupChangePolicy: OnRootMismatch\n",
    )]
}
