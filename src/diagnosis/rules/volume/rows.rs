//! What is said of volumes that cannot be had, and by which words each cause is known.

use super::{DETACH, MOUNT, NEXT_TRIES, claim, driver, object, remedies, source_of, volume_of};
use crate::api::Root;
use crate::diagnosis::rules::signature::{self, ROW, Row, Seen, its_node};
use crate::diagnosis::{Case, Explain, RootKind, Specificity, roots};

pub(super) const ROWS: &[Row] = &[
    Row {
        cause: "ProjectedTokenFailed",
        reasons: MOUNT,
        words: &[&["failed to fetch token"], &["kube-api-access", "configmap \"kube-root-ca.crt\" not found"]],
        patience: NEXT_TRIES,
        says: "the volume with the pod's service account token cannot be made: {short}",
        root: of_token,
        remedies: remedies::token,
        explain: Explain {
            meaning: "The volume with the pod's service account token and the cluster's CA cannot be made.",
            told_apart: "It is the volume kube-api-access-*, which Kubernetes adds by itself: the service account is gone, or the controller manager has not published kube-root-ca.crt.",
            action: "Create the service account; check that kube-controller-manager runs.",
            source: "kubernetes pkg/volume/projected/projected.go; pkg/kubelet/token/token_manager.go",
        },
        ..ROW
    },
    Row {
        cause: "VolumeKeyMissing",
        reasons: MOUNT,
        words: &[&["references non-existent secret key"], &["references non-existent config key"]],
        says: "{source} has no key {key}, which volume {volume} asks for",
        root: source,
        remedies: remedies::key,
        explain: Explain {
            meaning: "A volume takes single keys (items) of a ConfigMap or Secret, and one of them is not there.",
            told_apart: "The object exists, else the message names it as not found.",
            action: "Add the key, or correct items[].key of the volume.",
            source: "kubernetes pkg/volume/configmap/configmap.go, pkg/volume/secret/secret.go MakePayload",
        },
        ..ROW
    },
    Row {
        cause: "VolumeSecretNotFound",
        reasons: MOUNT,
        words: &[&["secret \"", "\" not found"], &["secrets \"", "\" not found"]],
        says: "Secret {object} does not exist in namespace {namespace}; volume {volume} needs it",
        root: secret,
        remedies: remedies::create_secret,
        explain: Explain {
            meaning: "A volume is made from a Secret that does not exist in the pod's namespace.",
            told_apart: "The use as a volume; for a variable the container shows CreateContainerConfigError instead.",
            action: "Create the Secret, correct its name, or mark the volume optional. The kubelet tries again by itself.",
            source: "kubernetes pkg/volume/secret/secret.go SetUpAt",
        },
        ..ROW
    },
    Row {
        cause: "VolumeConfigMapNotFound",
        reasons: MOUNT,
        words: &[&["configmap \"", "\" not found"], &["configmaps \"", "\" not found"]],
        says: "ConfigMap {object} does not exist in namespace {namespace}; volume {volume} needs it",
        root: config_map,
        remedies: remedies::create_config_map,
        explain: Explain {
            meaning: "A volume is made from a ConfigMap that does not exist in the pod's namespace.",
            told_apart: "The use as a volume; for a variable the container shows CreateContainerConfigError instead.",
            action: "Create the ConfigMap, correct its name, or mark the volume optional. The kubelet tries again by itself.",
            source: "kubernetes pkg/volume/configmap/configmap.go SetUpAt",
        },
        ..ROW
    },
    Row {
        cause: "PvcNotReadyAtKubelet",
        reasons: MOUNT,
        words: &[&["error processing pvc "]],
        patience: NEXT_TRIES,
        says: "claim {claim} is not usable on node {node}: {short}",
        root: named_claim,
        remedies: remedies::claim,
        explain: Explain {
            meaning: "The kubelet finds the pod's claim unbound, in deletion, or unreadable.",
            told_apart: "The pod is already bound to a node; before that the scheduler speaks of the claim.",
            action: "Look at the claim: is it bound, has it a deletionTimestamp?",
            source: "kubernetes pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go",
        },
        ..ROW
    },
    Row {
        cause: "VolumeModeMismatch",
        reasons: MOUNT,
        words: &[&["has volumemode ", "but is specified in "]],
        says: "volume {volume} is used in the wrong mode: {short}",
        remedies: remedies::mode,
        explain: Explain {
            meaning: "A claim of mode Block is mounted, or one of mode Filesystem is used as a device.",
            told_apart: "The volume as such is well; volumeMounts and volumeDevices were confused.",
            action: "Use volumeDevices for Block and volumeMounts for Filesystem, or another claim.",
            source: "kubernetes pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go",
        },
        ..ROW
    },
    Row {
        cause: "MultiAttach",
        reasons: &["FailedAttachVolume"],
        words: &[&["multi-attach error for volume"]],
        patience: DETACH,
        says: "volume {volume} can be attached to one node only, and {holder}",
        root: its_volume,
        remedies: remedies::multi_attach,
        explain: Explain {
            meaning: "A volume that one node may use at a time is still attached to another.",
            told_apart: "Told by the attach controller, not the kubelet. In a rolling update old and new pod wait for each other; after the loss of a node it is freed after 6 min.",
            action: "Use the Recreate strategy or a volume of mode ReadWriteMany; delete the old pod. For a dead node: taint it node.kubernetes.io/out-of-service.",
            source: "kubernetes pkg/controller/volume/attachdetach/reconciler/reconciler.go",
        },
        ..ROW
    },
    Row {
        cause: "CsiDriverNotRegistered",
        words: &[&["not found in the list of registered csi drivers"]],
        patience: DETACH,
        says: "CSI driver {driver} is not registered on node {node}; volume {volume} needs it",
        root: csi_driver,
        remedies: remedies::csi_driver,
        explain: Explain {
            meaning: "The node has no running CSI driver of that name.",
            told_apart: "Nothing was asked of a storage system: the driver's DaemonSet pod is missing or not ready on that node. Right after a node joins it passes.",
            action: "Look at the CSI driver's DaemonSet and its pod on that node.",
            source: "kubernetes pkg/volume/csi/csi_client.go",
        },
        ..ROW
    },
    Row {
        cause: "CsiModeUnsupported",
        words: &[&["volume mode ", "not supported by driver "]],
        says: "the CSI driver does not support how volume {volume} is declared: {short}",
        remedies: remedies::csi_mode,
        explain: Explain {
            meaning: "The CSIDriver object does not list the life cycle mode (Persistent or Ephemeral) that the pod uses.",
            told_apart: "The driver is registered; inline volumes need Ephemeral.",
            action: "Use a claim instead of an inline csi volume, or install the driver with that mode.",
            source: "kubernetes pkg/volume/csi/csi_plugin.go",
        },
        ..ROW
    },
    Row {
        cause: "AttachTimeout",
        words: &[&["timed out waiting for external-attacher"]],
        patience: NEXT_TRIES,
        says: "volume {volume} is not attached in time: the CSI attacher does not answer",
        root: csi_driver,
        remedies: remedies::attacher,
        explain: Explain {
            meaning: "Nobody acted on the VolumeAttachment that Kubernetes made.",
            told_apart: "There is no error of a storage system: the CSI controller (external-attacher) is down or stuck.",
            action: "Look at the CSI driver's controller pods and the VolumeAttachment's status.",
            source: "kubernetes pkg/volume/csi/csi_attacher.go",
        },
        ..ROW
    },
    Row {
        cause: "AttachFailed",
        reasons: &["FailedAttachVolume"],
        patience: NEXT_TRIES,
        says: "volume {volume} cannot be attached to node {node}: {short}",
        remedies: remedies::attacher,
        explain: Explain {
            meaning: "The storage system refuses to attach the volume to the node.",
            told_apart: "The error is the storage system's own: quota, too many volumes on the node, another zone, missing permission, or a disk that is gone.",
            action: "Read the error; look at the CSI controller's log and the VolumeAttachment.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go GenerateAttachVolumeFunc",
        },
        ..ROW
    },
    Row {
        cause: "PvNodeAffinityAtMount",
        words: &[&["nodeaffinity check failed for volume"]],
        says: "volume {volume} may not be used on node {node} (its PV's node affinity)",
        root: its_volume,
        remedies: remedies::node_affinity,
        explain: Explain {
            meaning: "The PersistentVolume is tied to other nodes than the one the pod is on.",
            told_apart: "The scheduler heeds this; it happens where a pod is bound past it (nodeName, a DaemonSet, a changed label).",
            action: "Remove nodeName, restore the node's label, or use a volume of that zone.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go",
        },
        ..ROW
    },
    Row {
        cause: "VolumePluginMissing",
        words: &[&["no volume plugin matched"]],
        says: "this Kubernetes has no plugin for volume {volume}",
        root: its_volume,
        remedies: remedies::csi_driver,
        explain: Explain {
            meaning: "The volume's type was built into Kubernetes and has been removed, or was never there.",
            told_apart: "Not one driver is asked; a CSI driver that is missing is named as such.",
            action: "Install the CSI driver that replaces the type, and move the volume to it.",
            source: "kubernetes pkg/volume/plugins.go",
        },
        ..ROW
    },
    Row {
        cause: "HostPathTypeMismatch",
        words: &[&["hostpath type check failed"]],
        says: "volume {volume}: {host_path} on node {node}",
        remedies: remedies::host_path,
        explain: Explain {
            meaning: "The path on the node is not of the type that the hostPath volume demands.",
            told_apart: "A path that is missing and one of another type look the same.",
            action: "Create the path on the node, or set type to DirectoryOrCreate or FileOrCreate, or leave it out.",
            source: "kubernetes pkg/volume/hostpath/host_path.go",
        },
        ..ROW
    },
    Row {
        cause: "NfsHelperMissing",
        words: &[&["need a /sbin/mount."], &["unknown filesystem type 'nfs"], &["unknown filesystem type 'cifs"]],
        says: "node {node} lacks the mount helper that volume {volume} needs{helper}",
        root: its_node,
        remedies: remedies::helper,
        explain: Explain {
            meaning: "The program that mounts this kind of file system is not installed on the node.",
            told_apart: "mount itself says so; no server was asked.",
            action: "Install nfs-common (or nfs-utils, cifs-utils, ...) on every node.",
            source: "util-linux mount, through k8s.io/mount-utils",
        },
        ..ROW
    },
    Row {
        cause: "NfsMountFailed",
        words: &[
            &["mount failed", "access denied by server"],
            &["mount failed", "mount.nfs"],
            &["mount failed", "-t nfs"],
        ],
        patience: NEXT_TRIES,
        says: "NFS volume {volume} cannot be mounted on node {node}: {output}",
        root: its_volume,
        remedies: remedies::nfs,
        explain: Explain {
            meaning: "The NFS server refuses or does not answer.",
            told_apart: "The helper is installed and was run: `access denied` is the export's list of clients, a time-out is network or server, `No such file` is the exported path.",
            action: "Check the export for the node's address, the path, and port 2049 from the node.",
            source: "mount.nfs, through k8s.io/mount-utils",
        },
        ..ROW
    },
    Row {
        cause: "FilesystemErrors",
        reasons: &["FailedMount", "FailedMountOnFilesystemMismatch", "FailedMapVolume"],
        words: &[
            &["'fsck' found errors on device"],
            &["wrong fs type, bad option, bad superblock"],
            &["filesystem mismatch"],
        ],
        patience: NEXT_TRIES,
        says: "the file system of volume {volume} is damaged or of another type: {output}",
        root: its_volume,
        remedies: remedies::file_system,
        explain: Explain {
            meaning: "The volume's file system has errors that cannot be repaired by itself, or is not of the type expected.",
            told_apart: "Attaching worked; mount or fsck fails on the data.",
            action: "Repair it with fsck by hand, or restore a snapshot; check fsType.",
            source: "k8s.io/mount-utils mount_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "MountCommandFailed",
        words: &[&["mount failed: exit status"], &["mount failed: signal"], &["mount failed: "]],
        patience: NEXT_TRIES,
        says: "mount of volume {volume} fails on node {node}: {output}",
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "The mount command on the node failed.",
            told_apart: "Its own output stands after `Output:`; NFS, missing helpers and damaged file systems have causes of their own.",
            action: "Read the output; try the same mount on the node.",
            source: "k8s.io/mount-utils mount_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "FailedMapVolume",
        reasons: &["FailedMapVolume"],
        patience: NEXT_TRIES,
        says: "block volume {volume} cannot be set up on node {node}: {short}",
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "A volume that is used as a raw device cannot be made available.",
            told_apart: "The counterpart of FailedMount for volumeDevices.",
            action: "Read the error; look at the CSI driver's pod on that node.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go GenerateMapVolumeFunc",
        },
        ..ROW
    },
    Row {
        cause: "MountDeviceFailed",
        words: &[&["mountvolume.mountdevice failed"]],
        patience: NEXT_TRIES,
        says: "volume {volume} cannot be staged on node {node}: {short}",
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "The CSI driver failed to stage the volume on the node (format, first mount).",
            told_apart: "The first of two steps, once per node; the second, per pod, is MountSetUpFailed.",
            action: "Look at the log of the CSI driver's pod on that node.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go GenerateMountVolumeFunc",
        },
        ..ROW
    },
    Row {
        cause: "VolumeResizeFailed",
        reasons: &["VolumeResizeFailed"],
        patience: NEXT_TRIES,
        says: "volume {volume} cannot be enlarged: {short}",
        root: its_volume,
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "The storage system or node failed to enlarge the volume, which the pod waits for.",
            told_apart: "The claim asks for more than the volume has.",
            action: "Look at the claim's conditions and the CSI driver's log.",
            source: "kubernetes pkg/volume/util/operationexecutor/node_expander.go",
        },
        ..ROW
    },
    Row {
        cause: "VolumeConditionAbnormal",
        reasons: &["VolumeConditionAbnormal"],
        specificity: Specificity::Symptom,
        says: "the CSI driver on node {node} reports a fault: {short}",
        root: its_volume,
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "The CSI driver reports that a volume in use is not in order (gone, unmounted, read-only, failing).",
            told_apart: "The pod was started and has the volume. It is the cause only where nothing else is found; a container that \
                         crashes over it is told by its own cause, with this beside it. The feature gate CSIVolumeHealth must be on.",
            action: "Look at the storage system and the CSI driver's pod on that node; then delete the pod, so that it mounts anew.",
            source: "kubernetes pkg/kubelet/server/stats/volume_stat_calculator.go",
        },
        ..ROW
    },
    Row {
        cause: "FileSystemResizeFailed",
        reasons: &["FileSystemResizeFailed"],
        patience: NEXT_TRIES,
        says: "the file system of volume {volume} cannot be enlarged: {short}",
        root: its_volume,
        remedies: remedies::driver_log,
        explain: Explain {
            meaning: "The volume was enlarged, and its file system was not.",
            told_apart: "The second step of a resize, on the node.",
            action: "Look at the CSI driver's pod on that node and at the file system.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go",
        },
        ..ROW
    },
    Row {
        cause: "FsGroupSlow",
        reasons: &["VolumePermissionChangeInProgress"],
        patience: 120,
        says: "the pod waits while the kubelet sets the owner of every file of volume {volume} (fsGroup)",
        remedies: remedies::fs_group,
        explain: Explain {
            meaning: "Because of fsGroup the kubelet changes the group of each file before the start, and there are many.",
            told_apart: "Nothing fails; it is slow at each start.",
            action: "Set fsGroupChangePolicy: OnRootMismatch.",
            source: "kubernetes pkg/volume/volume_linux.go",
        },
        ..ROW
    },
    Row {
        cause: "MountSetUpFailed",
        words: &[&["mountvolume.setup failed"]],
        patience: NEXT_TRIES,
        says: "volume {volume} cannot be mounted for the pod on node {node}: {short}",
        remedies: remedies::set_up,
        explain: Explain {
            meaning: "The volume cannot be mounted for the pod, for a reason not known by name.",
            told_apart: "The second of two steps, per pod; for CSI volumes it is the driver's NodePublishVolume.",
            action: "Read the error; look at the log of the CSI driver's pod on that node.",
            source: "kubernetes pkg/volume/util/operationexecutor/operation_generator.go GenerateMountVolumeFunc",
        },
        ..ROW
    },
    Row {
        cause: "FailedMount",
        reasons: MOUNT,
        patience: NEXT_TRIES,
        specificity: Specificity::Umbrella,
        says: "volumes {unmounted} cannot be mounted on node {node}: {short}",
        remedies: remedies::set_up,
        explain: Explain {
            meaning: "Volumes of the pod cannot be mounted, and no Event says why.",
            told_apart: "Older kubelets only name the volumes that they wait for; Events of attach or mount would tell more.",
            action: "Look at the volumes named, the CSI driver's pods and the VolumeAttachments.",
            source: "kubernetes pkg/kubelet/kubelet.go SyncPod; pkg/kubelet/volumemanager",
        },
        ..ROW
    },
];

fn config_map(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    object(seen.text).map(|name| RootKind::ConfigMap.named(name))
}

fn secret(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    object(seen.text).map(|name| RootKind::Secret.named(name))
}

fn source(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    source_of(case, seen.text)
}

fn of_token(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    let account = signature::quoted_after(seen.text, "serviceaccounts ");
    account.map(|name| RootKind::ServiceAccount.named(name)).or_else(|| config_map(case, seen))
}

fn named_claim(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    claim(seen.text).map(|name| RootKind::PersistentVolumeClaim.named(name))
}

fn its_volume(case: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    roots::volume(case, volume_of(seen.text)?)
}

fn csi_driver(_: &Case<'_>, seen: &Seen<'_>) -> Option<Root> {
    driver(seen.text).map(|name| RootKind::CsiDriver.named(name))
}
