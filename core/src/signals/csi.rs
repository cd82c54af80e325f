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

const fn part(name: &'static str, label: &'static str, container: &'static str) -> Part {
    Part { name, label, container }
}

/// Sources: the Helm charts and manifests of the drivers.
const COMPONENTS: &[Component] = &[
    Component {
        driver: "ebs.csi.aws.com",
        namespace: "kube-system",
        marks: &["operation error EC2", "/ebs.csi.aws.com/"],
        controller: part("EBS CSI controller", "app=ebs-csi-controller", "ebs-plugin"),
        node: part("EBS CSI node plugin", "app=ebs-csi-node", "ebs-plugin"),
    },
    Component {
        driver: "efs.csi.aws.com",
        namespace: "kube-system",
        marks: &["operation error EFS", "-t efs", "Access point in File System", "mount targets for file system"],
        controller: part("EFS CSI controller", "app=efs-csi-controller", "efs-plugin"),
        node: part("EFS CSI node plugin", "app=efs-csi-node", "efs-plugin"),
    },
    Component {
        driver: "disk.csi.azure.com",
        namespace: "kube-system",
        marks: &["Microsoft.Compute/disks/", "azureDisk"],
        controller: part("Azure Disk CSI controller", "app=csi-azuredisk-controller", "azuredisk"),
        node: part("Azure Disk CSI node plugin", "app=csi-azuredisk-node", "azuredisk"),
    },
    Component {
        driver: "file.csi.azure.com",
        namespace: "kube-system",
        marks: &[".file.core.windows.net", "create file share("],
        controller: part("Azure File CSI controller", "app=csi-azurefile-controller", "azurefile"),
        node: part("Azure File CSI node plugin", "app=csi-azurefile-node", "azurefile"),
    },
    Component {
        driver: "blob.csi.azure.com",
        namespace: "kube-system",
        marks: &[".blob.core.windows.net", "blobfuse"],
        controller: part("Azure Blob CSI controller", "app=csi-blob-controller", "blob"),
        node: part("Azure Blob CSI node plugin", "app=csi-blob-node", "blob"),
    },
    Component {
        driver: "pd.csi.storage.gke.io",
        namespace: "gce-pd-csi-driver",
        marks: &["GCE PD", "/zones/", "ControllerPublish not permitted"],
        controller: part(
            "Compute Engine PD CSI controller",
            "app=gcp-compute-persistent-disk-csi-driver",
            "gce-pd-driver",
        ),
        node: part("Compute Engine PD CSI node plugin", "app=gcp-compute-persistent-disk-csi-driver", "gce-pd-driver"),
    },
    Component {
        driver: "gcsfuse.csi.storage.gke.io",
        namespace: "kube-system",
        marks: &["gcsfuse"],
        controller: part("Cloud Storage FUSE CSI node plugin", "k8s-app=gcs-fuse-csi-driver", "gcs-fuse-csi-driver"),
        node: part("Cloud Storage FUSE CSI node plugin", "k8s-app=gcs-fuse-csi-driver", "gcs-fuse-csi-driver"),
    },
    Component {
        driver: "nfs.csi.k8s.io",
        namespace: "kube-system",
        marks: &["mount nfs server"],
        controller: part("NFS CSI controller", "app=csi-nfs-controller", "nfs"),
        node: part("NFS CSI node plugin", "app=csi-nfs-node", "nfs"),
    },
    Component {
        driver: "smb.csi.k8s.io",
        namespace: "kube-system",
        marks: &["mount smb server"],
        controller: part("SMB CSI controller", "app=csi-smb-controller", "smb"),
        node: part("SMB CSI node plugin", "app=csi-smb-node", "smb"),
    },
    Component {
        driver: "rook-ceph.rbd.csi.ceph.com",
        namespace: "rook-ceph",
        marks: &["rbd image", "rbd: map failed"],
        controller: part("Ceph RBD CSI controller", "app=csi-rbdplugin-provisioner", "csi-rbdplugin"),
        node: part("Ceph RBD CSI node plugin", "app=csi-rbdplugin", "csi-rbdplugin"),
    },
    Component {
        driver: "rook-ceph.cephfs.csi.ceph.com",
        namespace: "rook-ceph",
        marks: &["ceph-fuse failed"],
        controller: part("CephFS CSI controller", "app=csi-cephfsplugin-provisioner", "csi-cephfsplugin"),
        node: part("CephFS CSI node plugin", "app=csi-cephfsplugin", "csi-cephfsplugin"),
    },
    Component {
        driver: "driver.longhorn.io",
        namespace: "longhorn-system",
        marks: &["longhorn", "is not ready for workloads", "with attachmentID"],
        controller: part("Longhorn controller", "app=longhorn-manager", "longhorn-manager"),
        node: part("Longhorn node plugin", "app=longhorn-csi-plugin", "longhorn-csi-plugin"),
    },
    Component {
        driver: "csi.vsphere.vmware.com",
        namespace: "vmware-system-csi",
        marks: &["cns volume", "Virtual Center", "CNS query"],
        controller: part("vSphere CSI controller", "app=vsphere-csi-controller", "vsphere-csi-controller"),
        node: part("vSphere CSI node plugin", "app=vsphere-csi-node", "vsphere-csi-node"),
    },
    Component {
        driver: "cinder.csi.openstack.org",
        namespace: "kube-system",
        marks: &["[ControllerPublishVolume]", "os-volume_attachments"],
        controller: part("Cinder CSI controller", "app=csi-cinder-controllerplugin", "cinder-csi-plugin"),
        node: part("Cinder CSI node plugin", "app=csi-cinder-nodeplugin", "cinder-csi-plugin"),
    },
    Component {
        driver: "topolvm.io",
        namespace: "topolvm-system",
        marks: &["space left on VG"],
        controller: part("TopoLVM controller", "app.kubernetes.io/component=controller", "topolvm-controller"),
        node: part("TopoLVM node plugin", "app.kubernetes.io/component=node", "topolvm-node"),
    },
    Component {
        driver: "local.csi.openebs.io",
        namespace: "kube-system",
        marks: &["verifyMount: "],
        controller: part("OpenEBS LVM controller", "app=openebs-lvm-controller", "openebs-lvm-plugin"),
        node: part("OpenEBS LVM node plugin", "app=openebs-lvm-node", "openebs-lvm-plugin"),
    },
    Component {
        driver: "secrets-store.csi.k8s.io",
        namespace: "kube-system",
        marks: &["secrets store objects", "secretproviderclass"],
        controller: part("Secrets Store CSI node plugin", "app=secrets-store-csi-driver", "secrets-store"),
        node: part("Secrets Store CSI node plugin", "app=secrets-store-csi-driver", "secrets-store"),
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
