//! What to do about volumes.

use super::{claim as claim_in, current, driver, holder, key as key_in, object, source_of};
use crate::api::{Remedy, Root};
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
    case.pod.node_name.as_deref().unwrap_or("the node")
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
        remedy::fix(format!("Create {word} {name} in namespace {namespace}; the kubelet then mounts it by itself.")),
        format!("kubectl -n {namespace} create {create} {} --from-file=FILE", shell_word(name)),
    );
    let optional = remedy::fix("Or mark the volume optional, if the program can do without.");
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
    let fix = remedy::fix(format!(
        "Add key {key} to {}, or correct items[].key of the volume in {}.",
        source.as_ref().map_or_else(|| "the volume's source".to_owned(), ToString::to_string),
        target::of(case).display()
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
            remedy::fix(format!(
                "Check that service account {} exists in namespace {namespace}.",
                case.pod.service_account
            )),
            format!("kubectl -n {namespace} get serviceaccount {}", shell_word(&case.pod.service_account)),
        ),
        remedy::command(
            remedy::fix("If kube-root-ca.crt is missing, kube-controller-manager does not run or may not write it."),
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
        remedy::fix(format!("Look at claim {name}: it must be Bound and not in deletion; then delete the pod.")),
        format!("kubectl -n {} describe pvc {}", case.pod.key.namespace, shell_word(name)),
    )]
}

pub(super) fn mode(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::fix(format!(
        "In {}, list a Block volume under volumeDevices and a Filesystem volume under volumeMounts.",
        target::of(case).display()
    ))]
}

pub(super) fn multi_attach(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let target = target::of(case);
    let mut out = vec![remedy::mitigate(format!(
        "Delete the pod that holds the volume ({}). If its node is dead for good, taint it node.kubernetes.io/out-of-service.",
        holder(said(case, finding))
    ))];
    let fix = remedy::fix(format!("Let {} replace its pod instead of starting a second one.", target.display()));
    out.push(if &*target.kind == "Deployment" {
        let patch = "spec:\n  strategy:\n    type: Recreate\n    rollingUpdate: null\n";
        remedy::patch(remedy::command(fix, target.patch_command(patch)), patch)
    } else {
        fix
    });
    out.push(remedy::fix("Or use a volume that several nodes can share (ReadWriteMany)."));
    out
}

pub(super) fn csi_driver(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let name = driver(said(case, finding)).unwrap_or("of the volume");
    vec![remedy::command(
        remedy::fix(format!("Install CSI driver {name}, or repair its DaemonSet pod on node {}.", node(case))),
        format!("kubectl get csinode {} -o yaml", node(case)),
    )]
}

pub(super) fn csi_mode(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(format!(
            "Use a claim instead of the inline csi volume in {}, or a driver with that mode.",
            target::of(case).display()
        )),
        "kubectl get csidrivers",
    )]
}

pub(super) fn attacher(_: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(
            "Read the VolumeAttachment's error and the log of the CSI driver's controller (external-attacher).",
        ),
        "kubectl get volumeattachments",
    )]
}

pub(super) fn node_affinity(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(format!(
            "Let the scheduler choose the node (no nodeName), or give node {} the label that the PV asks for.",
            node(case)
        )),
        "kubectl get pv -o yaml",
    )]
}

pub(super) fn host_path(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let said = said(case, finding);
    let volume = super::volume_of(said).and_then(|name| case.pod.volumes.iter().find(|v| v.name == name));
    let path = match volume.map(|v| &v.source) {
        Some(VolumeSource::HostPath { path }) => path.as_str(),
        _ => "the path",
    };
    let fix = remedy::fix("Or let the kubelet create it.");
    let create = if said.contains("is not a directory") {
        Some("DirectoryOrCreate")
    } else if said.contains("is not a file") {
        Some("FileOrCreate")
    } else {
        None
    };
    let mut out = vec![remedy::fix(format!(
        "Create {path} on node {} (and every other that can run the pod), or correct the path.",
        node(case)
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
    vec![remedy::fix(format!(
        "Install the mount helper on node {} and all others: nfs-common or nfs-utils for NFS, cifs-utils for SMB.",
        node(case)
    ))]
}

pub(super) fn nfs(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix(format!(
            "On the NFS server, export the path to node {} and check that the path exists.",
            node(case)
        )),
        remedy::fix(format!("From node {}, try `showmount -e SERVER` and port 2049 (firewall).", node(case))),
    ]
}

pub(super) fn file_system(_: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![
        remedy::fix("With no pod using it, run fsck on the volume, or restore it from a snapshot."),
        remedy::fix("If the data is well, correct fsType of the PV or StorageClass."),
    ]
}

/// For a mount that fails for a reason without a cause of its own: two that the words tell, else the driver's log.
pub(super) fn set_up(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let said = said(case, finding);
    let node = node(case);
    // A local PersistentVolume is a path on its node that somebody has to make.
    if let Some(path) = signature::between(said, "path \"", "\" does not exist") {
        return vec![
            remedy::fix(format!(
                "Create {path} on node {node} (a local volume is made by hand), or mount its disk there."
            )),
            remedy::command(
                remedy::fix("Or correct spec.local.path of the PersistentVolume: make it anew, with its claim."),
                "kubectl get pv -o custom-columns=NAME:.metadata.name,PATH:.spec.local.path,CLAIM:.spec.claimRef.name",
            ),
        ];
    }
    let unregistered = said.strip_suffix(" not registered").and_then(|words| words.rsplit('/').next());
    if let Some(name) = unregistered.map(|name| name.trim_matches('"')) {
        let namespace = &case.pod.key.namespace;
        return vec![
            remedy::command(
                remedy::fix(format!("See that {name} exists in namespace {namespace}: the kubelet has never got it.")),
                format!("kubectl -n {namespace} get configmap,secret"),
            ),
            remedy::fix(format!(
                "If it does, delete the pod, and restart the kubelet on node {node} if it comes again."
            )),
        ];
    }
    if said.contains("failed to sync configmap cache") || said.contains("failed to sync secret cache") {
        return vec![
            remedy::fix(format!(
                "The kubelet on node {node} does not get ConfigMaps and Secrets from the API server: look at its log and its \
                 connection, and restart it if it hangs."
            )),
            remedy::mitigate("Delete the pod, so that it starts elsewhere."),
        ];
    }
    driver_log(case, finding)
}

pub(super) fn driver_log(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![remedy::command(
        remedy::fix(format!("Read the log of the volume driver's pod on node {}.", node(case))),
        format!("kubectl get pods -A -o wide --field-selector spec.nodeName={}", node(case)),
    )]
}

pub(super) fn fs_group(case: &Case<'_>, _: &Finding) -> Vec<Remedy> {
    vec![target::of(case).with_pod_patch(
        remedy::fix("Change owners only where the root of the volume is wrong."),
        "securityContext:\n  fsGroupChangePolicy: OnRootMismatch\n",
    )]
}
