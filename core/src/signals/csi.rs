//! CSI drivers: the labels of their pods, and how a message shows which driver failed.

use crate::message::{between, quoted_after};

/// A CSI driver as its own manifests install it.
#[derive(Debug)]
pub(super) struct Component {
    pub(super) driver: &'static str,
    pub(super) namespace: &'static str,
    /// Words that only this driver prints.
    marks: &'static [&'static str],
    /// What attaches, provisions and expands volumes; the part on the node if there is no other.
    controller: Part,
    /// What mounts volumes on a node.
    node: Part,
}

/// A workload of a driver.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) container: &'static str,
}

/// Sources: the Helm charts and manifests of the drivers.
const COMPONENTS: &[Component] = &[
    Component {
        driver: "ebs.csi.aws.com",
        namespace: "kube-system",
        marks: &["operation error EC2", "/ebs.csi.aws.com/"],
        controller: Part { name: "EBS CSI controller", label: "app=ebs-csi-controller", container: "ebs-plugin" },
        node: Part { name: "EBS CSI node plugin", label: "app=ebs-csi-node", container: "ebs-plugin" },
    },
    Component {
        driver: "efs.csi.aws.com",
        namespace: "kube-system",
        marks: &["operation error EFS", "-t efs", "Access point in File System", "mount targets for file system"],
        controller: Part { name: "EFS CSI controller", label: "app=efs-csi-controller", container: "efs-plugin" },
        node: Part { name: "EFS CSI node plugin", label: "app=efs-csi-node", container: "efs-plugin" },
    },
    Component {
        driver: "disk.csi.azure.com",
        namespace: "kube-system",
        marks: &["Microsoft.Compute/disks/", "azureDisk"],
        controller: Part {
            name: "Azure Disk CSI controller",
            label: "app=csi-azuredisk-controller",
            container: "azuredisk",
        },
        node: Part { name: "Azure Disk CSI node plugin", label: "app=csi-azuredisk-node", container: "azuredisk" },
    },
    Component {
        driver: "file.csi.azure.com",
        namespace: "kube-system",
        marks: &[".file.core.windows.net", "create file share("],
        controller: Part {
            name: "Azure File CSI controller",
            label: "app=csi-azurefile-controller",
            container: "azurefile",
        },
        node: Part { name: "Azure File CSI node plugin", label: "app=csi-azurefile-node", container: "azurefile" },
    },
    Component {
        driver: "blob.csi.azure.com",
        namespace: "kube-system",
        marks: &[".blob.core.windows.net", "blobfuse"],
        controller: Part { name: "Azure Blob CSI controller", label: "app=csi-blob-controller", container: "blob" },
        node: Part { name: "Azure Blob CSI node plugin", label: "app=csi-blob-node", container: "blob" },
    },
    Component {
        driver: "pd.csi.storage.gke.io",
        namespace: "gce-pd-csi-driver",
        marks: &["GCE PD", "/zones/", "ControllerPublish not permitted"],
        controller: Part {
            name: "Compute Engine PD CSI controller",
            label: "app=gcp-compute-persistent-disk-csi-driver",
            container: "gce-pd-driver",
        },
        node: Part {
            name: "Compute Engine PD CSI node plugin",
            label: "app=gcp-compute-persistent-disk-csi-driver",
            container: "gce-pd-driver",
        },
    },
    Component {
        driver: "gcsfuse.csi.storage.gke.io",
        namespace: "kube-system",
        marks: &["gcsfuse"],
        controller: Part {
            name: "Cloud Storage FUSE CSI node plugin",
            label: "k8s-app=gcs-fuse-csi-driver",
            container: "gcs-fuse-csi-driver",
        },
        node: Part {
            name: "Cloud Storage FUSE CSI node plugin",
            label: "k8s-app=gcs-fuse-csi-driver",
            container: "gcs-fuse-csi-driver",
        },
    },
    Component {
        driver: "nfs.csi.k8s.io",
        namespace: "kube-system",
        marks: &["mount nfs server"],
        controller: Part { name: "NFS CSI controller", label: "app=csi-nfs-controller", container: "nfs" },
        node: Part { name: "NFS CSI node plugin", label: "app=csi-nfs-node", container: "nfs" },
    },
    Component {
        driver: "smb.csi.k8s.io",
        namespace: "kube-system",
        marks: &["mount smb server"],
        controller: Part { name: "SMB CSI controller", label: "app=csi-smb-controller", container: "smb" },
        node: Part { name: "SMB CSI node plugin", label: "app=csi-smb-node", container: "smb" },
    },
    Component {
        driver: "rook-ceph.rbd.csi.ceph.com",
        namespace: "rook-ceph",
        marks: &["rbd image", "rbd: map failed"],
        controller: Part {
            name: "Ceph RBD CSI controller",
            label: "app=csi-rbdplugin-provisioner",
            container: "csi-rbdplugin",
        },
        node: Part { name: "Ceph RBD CSI node plugin", label: "app=csi-rbdplugin", container: "csi-rbdplugin" },
    },
    Component {
        driver: "rook-ceph.cephfs.csi.ceph.com",
        namespace: "rook-ceph",
        marks: &["ceph-fuse failed"],
        controller: Part {
            name: "CephFS CSI controller",
            label: "app=csi-cephfsplugin-provisioner",
            container: "csi-cephfsplugin",
        },
        node: Part { name: "CephFS CSI node plugin", label: "app=csi-cephfsplugin", container: "csi-cephfsplugin" },
    },
    Component {
        driver: "driver.longhorn.io",
        namespace: "longhorn-system",
        marks: &["longhorn", "is not ready for workloads", "with attachmentID"],
        controller: Part { name: "Longhorn controller", label: "app=longhorn-manager", container: "longhorn-manager" },
        node: Part { name: "Longhorn node plugin", label: "app=longhorn-csi-plugin", container: "longhorn-csi-plugin" },
    },
    Component {
        driver: "csi.vsphere.vmware.com",
        namespace: "vmware-system-csi",
        marks: &["cns volume", "Virtual Center", "CNS query"],
        controller: Part {
            name: "vSphere CSI controller",
            label: "app=vsphere-csi-controller",
            container: "vsphere-csi-controller",
        },
        node: Part { name: "vSphere CSI node plugin", label: "app=vsphere-csi-node", container: "vsphere-csi-node" },
    },
    Component {
        driver: "cinder.csi.openstack.org",
        namespace: "kube-system",
        marks: &["[ControllerPublishVolume]", "os-volume_attachments"],
        controller: Part {
            name: "Cinder CSI controller",
            label: "app=csi-cinder-controllerplugin",
            container: "cinder-csi-plugin",
        },
        node: Part {
            name: "Cinder CSI node plugin",
            label: "app=csi-cinder-nodeplugin",
            container: "cinder-csi-plugin",
        },
    },
    Component {
        driver: "topolvm.io",
        namespace: "topolvm-system",
        marks: &["space left on VG"],
        controller: Part {
            name: "TopoLVM controller",
            label: "app.kubernetes.io/component=controller",
            container: "topolvm-controller",
        },
        node: Part {
            name: "TopoLVM node plugin",
            label: "app.kubernetes.io/component=node",
            container: "topolvm-node",
        },
    },
    Component {
        driver: "local.csi.openebs.io",
        namespace: "kube-system",
        marks: &["verifyMount: "],
        controller: Part {
            name: "OpenEBS LVM controller",
            label: "app=openebs-lvm-controller",
            container: "openebs-lvm-plugin",
        },
        node: Part { name: "OpenEBS LVM node plugin", label: "app=openebs-lvm-node", container: "openebs-lvm-plugin" },
    },
    Component {
        driver: "secrets-store.csi.k8s.io",
        namespace: "kube-system",
        marks: &["secrets store objects", "secretproviderclass"],
        controller: Part {
            name: "Secrets Store CSI node plugin",
            label: "app=secrets-store-csi-driver",
            container: "secrets-store",
        },
        node: Part {
            name: "Secrets Store CSI node plugin",
            label: "app=secrets-store-csi-driver",
            container: "secrets-store",
        },
    },
];

impl Component {
    /// The driver of this name, or the one whose words a message has.
    pub(super) fn of(driver: Option<&str>, message: &str) -> Option<&'static Self> {
        // Rook puts the namespace of its operator before the name.
        let base = |name: &'static str| name.strip_prefix("rook-ceph.").unwrap_or(name);
        match driver {
            Some(driver) => COMPONENTS.iter().find(|component| driver.ends_with(base(component.driver))),
            None => COMPONENTS.iter().find(|component| component.marks.iter().any(|mark| message.contains(mark))),
        }
    }

    pub(super) fn of_part(&self, is_on_node: bool) -> &Part {
        if is_on_node { &self.node } else { &self.controller }
    }
}

/// The driver that a message names, also in the directory where the kubelet mounts its volumes.
pub(super) fn driver(message: &str) -> Option<&str> {
    between(message, "driver name ", " not found")
        .or_else(|| between(message, "external-attacher of ", " CSI driver"))
        .or_else(|| quoted_after(message, "by resizer "))
        .or_else(|| between(message, "kubernetes.io/csi/", "/"))
        .or_else(|| message.rsplit_once("does not contain driver ").map(|(_, driver)| driver))
        .filter(|driver| driver.contains('.') && !driver.contains(' ') && *driver != "csi.k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_named_or_known_by_its_words() {
        for (message, expected) in [
            (
                "mount at /var/lib/kubelet/plugins/kubernetes.io/csi/efs.csi.aws.com/1/globalmount failed",
                "efs.csi.aws.com",
            ),
            ("resize volume \"v\" by resizer \"disk.csi.azure.com\" failed", "disk.csi.azure.com"),
            ("could not attach: operation error EC2: AttachVolume", "ebs.csi.aws.com"),
            ("CSINode n1 does not contain driver storage.rbd.csi.ceph.com", "rook-ceph.rbd.csi.ceph.com"),
        ] {
            assert_eq!(Component::of(driver(message), message).map(|of| of.driver), Some(expected), "{message}");
        }
        assert!(Component::of(driver("it failed"), "it failed").is_none());
    }
}
