//! The causes of the family: one for each reason of the scheduler, and those for when it gives none.

use super::claim::{self, Trouble};
use super::silence::{no_claim, no_scheduler};
use super::words::Kind;
use super::{preemption, remedies, scheduler_error};
use crate::diagnosis::{Category, Explain, Recovery, Rule, Scope, Specificity};

/// A rule for one reason of the scheduler.
macro_rules! reason {
    ($kind:ident, $meaning:literal, $told_apart:literal, $action:literal, $source:literal) => {
        Rule {
            cause: Kind::$kind.cause(),
            category: Category::Scheduling,
            recovery: Recovery::NeverStarted,
            specificity: specificity(Kind::$kind),
            scope: Scope::Family,
            remedies: |case, _| remedies::of(case, Kind::$kind),
            explain: Explain { meaning: $meaning, told_apart: $told_apart, action: $action, source: $source },
        }
    };
}

/// What the claim tells of itself stays where it cannot be read for a moment.
const fn specificity(kind: Kind) -> Specificity {
    if matches!(kind, Kind::PvcUnbound) { Specificity::Umbrella } else { Specificity::Specific }
}

/// A rule for what the claim tells and the scheduler does not.
const fn of_claim(trouble: Trouble, explain: Explain) -> Rule {
    Rule {
        cause: trouble.cause(),
        category: Category::Scheduling,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Family,
        remedies: |case, _| claim::remedies(case),
        explain,
    }
}

/// Causes that the checks name as well, for the times that were chosen for them.
pub(super) const PREEMPTION: &str = "PreemptionPending";
pub(super) const SCHEDULER_ERROR: &str = "SchedulerError";
pub(super) const NO_SCHEDULER: &str = "NoSchedulerForPod";

pub(super) const RULES: &[Rule] = &[
    reason!(
        Cpu,
        "No node that the pod may use has as much unreserved CPU as the pod requests.",
        "Requests count, not use: a node may idle and still have all its CPU reserved. What each node has free is its \
         allocatable CPU less the requests of the pods bound there.",
        "Lower the request, free a node by running fewer pods, or add a node. Where the request is larger than any \
         node, only a lower request or a bigger node helps.",
        "scheduler, plugin NodeResourcesFit: `Insufficient cpu`"
    ),
    reason!(
        Memory,
        "No node that the pod may use has as much unreserved memory as the pod requests.",
        "It is about requests before the start; a container killed for its use of memory is OOMKilled.",
        "Lower the request, free a node by running fewer pods, or add a node (a bigger one where no node is large \
         enough).",
        "scheduler, plugin NodeResourcesFit: `Insufficient memory`"
    ),
    reason!(
        EphemeralStorage,
        "No node that the pod may use has as much unreserved local disk as the pod requests.",
        "It is about `requests.ephemeral-storage` before the start; a pod evicted for what it wrote is Evicted.",
        "Lower the request, use a volume for the data, or add a node with a larger disk.",
        "scheduler, plugin NodeResourcesFit: `Insufficient ephemeral-storage`"
    ),
    reason!(
        Extended,
        "No node that the pod may use has enough free devices (GPUs, huge pages) of the kind that the pod requests.",
        "Where no node lists the resource at all, its device plugin does not run or no such node exists; else all \
         devices are taken.",
        "Check the resource's name and the device plugin's DaemonSet, wait for a device to come free, or add such a \
         node.",
        "scheduler, plugin NodeResourcesFit: `Insufficient <resource>`"
    ),
    reason!(
        Pods,
        "Each node that the pod may use already runs as many pods as it may.",
        "It is the count of pods (allocatable `pods`, the kubelet's maxPods), whatever CPU and memory are left.",
        "Add a node, remove pods that are not needed, or raise the kubelet's maxPods where addresses allow.",
        "scheduler, plugin NodeResourcesFit: `Too many pods`"
    ),
    reason!(
        HostPort,
        "The pod wants a port of the node itself, and on each node that it may use another pod has it.",
        "At most one pod a node can have a host port; a Service needs none. A process that cannot bind inside its own \
         pod crashes instead.",
        "Drop hostPort and use a Service, choose another port, or run no more replicas than there are nodes.",
        "scheduler, plugin NodePorts: `didn't have free ports for the requested pod ports`"
    ),
    reason!(
        PvcNotFound,
        "A volume of the pod names a PersistentVolumeClaim that does not exist in the pod's namespace.",
        "A claim that exists and is not bound is PvcUnboundImmediate; a claim deleted after the pod was placed shows \
         as a mount failure.",
        "Create the claim, or correct claimName.",
        "scheduler, plugin VolumeBinding: `persistentvolumeclaim \"X\" not found`"
    ),
    of_claim(
        Trouble::ProvisioningFailed,
        Explain {
            meaning: "No volume can be made for a claim of the pod: its StorageClass does not exist, or the provisioner fails.",
            told_apart: "The claim has an Event ProvisioningFailed, and nothing newer of the same sender. Where the provisioner says \
                         nothing at all it is PvcWaitingProvisioner.",
            action: "Create the StorageClass or replace the claim by one of a class that exists; else mend what the provisioner says \
                     (quota, zone, rights, parameters of the class).",
            source: "kubernetes pkg/controller/volume/persistentvolume/pv_controller.go; sig-storage-lib-external-provisioner",
        },
    ),
    of_claim(
        Trouble::NoClassNoPv,
        Explain {
            meaning: "A claim of the pod has no StorageClass, and there is no PersistentVolume that it could bind to.",
            told_apart: "The claim's Event FailedBinding says that no storage class is set. A class that is named and does not exist \
                         is PvcProvisioningFailed.",
            action: "Name a class in the claim, make one class the default, or create a PersistentVolume that fits.",
            source: "kubernetes pkg/controller/volume/persistentvolume/pv_controller.go syncUnboundClaim",
        },
    ),
    of_claim(
        Trouble::WaitingProvisioner,
        Explain {
            meaning: "A claim of the pod waits for its provisioner to make a volume, and that does not happen.",
            told_apart: "The claim's newest Event of the volume controller is ExternalProvisioning, and the provisioner has reported \
                         no error. With WaitForFirstConsumer the scheduler waits as well, and the pod has neither condition nor Event: \
                         that is not NoSchedulerForPod.",
            action: "Install or start the provisioner that the StorageClass names, or correct the name in a new class.",
            source: "kubernetes pkg/controller/volume/persistentvolume/pv_controller.go provisionClaimOperationExternal",
        },
    ),
    reason!(
        PvcUnbound,
        "A PersistentVolumeClaim of the pod has no volume, and its class binds before pods are placed.",
        "The claim exists. Why it has no volume is told by the claim's own Events; where those are known, the cause is \
         PvcProvisioningFailed, PvcNoClassNoPv or PvcWaitingProvisioner.",
        "Describe the claim; correct its storageClassName, repair the provisioner, or create a volume that fits.",
        "scheduler, plugin VolumeBinding: `pod has unbound immediate PersistentVolumeClaims`"
    ),
    reason!(
        PvAffinity,
        "The volume of the pod's claim can be used only on nodes (or in a zone) that cannot take the pod.",
        "The volume exists and is bound; its node affinity and the nodes that could take the pod do not meet.",
        "Make room on a node where the volume lives, bring that node back, or move the data to a new volume.",
        "scheduler, plugin VolumeBinding: `didn't match PersistentVolume's node affinity`"
    ),
    reason!(
        VolumeZone,
        "The pod's volume lies in a zone in which no node can take the pod.",
        "As PvNodeAffinityConflict, for volumes that tell their zone by labels.",
        "Add a node in the volume's zone, or move the data.",
        "scheduler, plugin VolumeZone: `had no available volume zone`"
    ),
    reason!(
        NoMatchingPv,
        "The pod's claim waits for a pod to be placed, and no volume that it could bind to is reachable from a node.",
        "The class binds with the first consumer (local volumes); with immediate binding it is PvcUnboundImmediate.",
        "Create a volume of that class and size on a node that can take the pod, or correct the class or size.",
        "scheduler, plugin VolumeBinding: `didn't find available persistent volumes to bind`"
    ),
    reason!(
        StorageCapacity,
        "The pod's claim waits for a pod to be placed, and the storage within reach of the nodes has too little left for it.",
        "The driver publishes what is free (CSIStorageCapacity). A volume that exists and does not fit is NoMatchingPv.",
        "Free or add storage where the pod can run, ask for less, or use another class.",
        "scheduler, plugin VolumeBinding: `did not have enough free storage`"
    ),
    reason!(
        PvcLost,
        "The PersistentVolume that the pod's claim was bound to does not exist any more.",
        "The claim exists and names its volume (phase Lost). A claim that never had one is PvcUnboundImmediate.",
        "If the data still exists, make the PersistentVolume anew with the same name and handle; else delete the claim, \
         let a new one be provisioned and restore the data.",
        "scheduler, plugin VolumeBinding: `bound to non-existent persistentvolume`"
    ),
    reason!(
        BoundPvMissing,
        "The pod's claim names a PersistentVolume that does not exist.",
        "The claim still counts as bound. Once it is marked as Lost, it is PvcLost.",
        "If the data still exists, make the PersistentVolume anew with the same name and handle; else delete the claim, let a new \
         one be provisioned and restore the data.",
        "scheduler, plugin VolumeBinding: `unavailable due to one or more pvc(s) bound to non-existent pv(s)`"
    ),
    reason!(
        PvcDeleting,
        "The pod's PersistentVolumeClaim is being deleted: it lives on only until the last pod that uses it is gone.",
        "The claim still exists (a finalizer protects it). One that is gone is PvcNotFound.",
        "End the pods that still use the claim, so that it goes, and create it anew; a deletion cannot be taken back.",
        "scheduler, plugin VolumeBinding: `persistentvolumeclaim \"...\" is being deleted`"
    ),
    reason!(
        PvcInUse,
        "The pod's claim has the access mode ReadWriteOncePod, and another pod uses it.",
        "One pod in the whole cluster may use such a claim. With ReadWriteOnce it is one node: MultiAttach.",
        "Stop the other pod (a rolling update needs strategy Recreate), or use ReadWriteOnce.",
        "scheduler, plugin VolumeRestrictions: `ReadWriteOncePod access mode already in-use by another pod`"
    ),
    reason!(
        DiskConflict,
        "A volume that the pod names directly is in use on the node and cannot be mounted twice.",
        "It is about volumes written into pods (awsElasticBlockStore, gcePersistentDisk, iscsi, rbd), not about claims.",
        "Stop the other pod, mount read-only where the kind allows it, or use a claim.",
        "scheduler, plugin VolumeRestrictions: `had no available disk`"
    ),
    reason!(
        EphemeralPvc,
        "The claim that stands for the pod's ephemeral volume has not been created.",
        "Its controller makes it within a second. Where it lasts, the controller manager is down, a quota forbids the \
         claim, or another claim has its name (POD-VOLUME).",
        "Look at the pod's Events and at the controller manager; rename the pod or the volume where a claim of that name \
         exists.",
        "scheduler, plugin VolumeBinding: `waiting for ephemeral volume controller to create the persistentvolumeclaim`, `was not created \
         for pod`"
    ),
    reason!(
        VolumeCount,
        "Each node that the pod may use has as many volumes of this kind attached as it can.",
        "It is the driver's limit of attachments a node (CSINode), not room for data.",
        "Add a node, or spread the pods with volumes over more nodes.",
        "scheduler, plugin NodeVolumeLimits: `exceed max volume count`"
    ),
    reason!(
        PodAffinity,
        "The pod must run beside certain other pods, and no node that it may use runs one.",
        "Required pod affinity only: a preferred one never keeps a pod from running.",
        "Start the pods that it wants to be near, correct the label selector or topologyKey, or make the rule a \
         preferred one.",
        "scheduler, plugin InterPodAffinity: `didn't match pod affinity rules`"
    ),
    reason!(
        PodAntiAffinity,
        "Each node that the pod may use runs a pod that it must not share a node (or zone) with.",
        "It is the pod's own rule. That of a pod which runs there already is ExistingAntiAffinityConflict.",
        "Add a node, run no more replicas than there are nodes (or zones), or make the rule a preferred one.",
        "scheduler, plugin InterPodAffinity: `didn't match pod anti-affinity rules`"
    ),
    reason!(
        ExistingAntiAffinity,
        "On each node that the pod may use another pod runs that must not share its node (or zone) with this one.",
        "The rule stands in the other pod. The pod's own rule is PodAntiAffinityConflict.",
        "Add a node, or change the other pod's required anti-affinity or the labels of this one.",
        "scheduler, plugin InterPodAffinity: `didn't satisfy existing pods anti-affinity rules`"
    ),
    reason!(
        TopologySpread,
        "Wherever the pod went, its workload would be spread less evenly than its constraint allows.",
        "Only constraints with whenUnsatisfiable: DoNotSchedule count. `(missing required label)` means that nodes \
         lack the topologyKey.",
        "Make room where fewer copies run, raise maxSkew, or use ScheduleAnyway; label the nodes with the topology \
         key.",
        "scheduler, plugin PodTopologySpread: `didn't match pod topology spread constraints`"
    ),
    reason!(
        Disjoint,
        "Each of the pod's constraints leaves it some nodes, but none that meets them all.",
        "Several plugins narrow the nodes down before any is looked at (node affinity by name, a volume's node), and what they \
         leave does not overlap. A single one is NodeSelectorMismatch.",
        "Compare the pod's node affinity with the node of its volume and of its other claims, and drop the one that is wrong.",
        "scheduler, framework RunPreFilterPlugins: `didn't satisfy plugin(s) [...] simultaneously`"
    ),
    reason!(
        Cordoned,
        "The nodes that could take the pod are cordoned: closed for new pods.",
        "A cordon is set on purpose (maintenance, a drain). It is the cause only where no other node could take the \
         pod after a smaller change.",
        "Uncordon the node once its maintenance is over, or add a node.",
        "scheduler, plugin NodeUnschedulable: `were unschedulable`"
    ),
    reason!(
        Taint,
        "The nodes that could take the pod have a taint that the pod does not tolerate.",
        "The scheduler of 1.35 no longer names the taint; it is read from the nodes. Taints of control-plane nodes are \
         named only where there is no other node. Taints such as not-ready tell of the node's state.",
        "Add the toleration if the pod belongs there, remove the taint if it was left behind, or repair the node if \
         the taint tells of its state.",
        "scheduler, plugin TaintToleration: `had untolerated taint(s)`"
    ),
    reason!(
        Selector,
        "No node has the labels that the pod's nodeSelector or required node affinity asks for.",
        "Where some node has them and fails for another reason, that reason is the cause. Preferred rules never count.",
        "Correct the selector, or label the node.",
        "scheduler, plugin NodeAffinity: `didn't match Pod's node affinity/selector`"
    ),
    Rule {
        scope: Scope::Pod(no_claim),
        ..reason!(
            DraClaim,
            "No node can give the pod the devices that its ResourceClaim asks for, or the claim does not exist.",
            "It is about dynamic resource allocation (resourceClaims). Devices under resources.limits are \
             InsufficientExtendedResource. Of a pod whose claim is missing the scheduler says nothing at all.",
            "Check that the ResourceClaim (or its template) and its DeviceClass exist, and that the driver publishes \
             ResourceSlices with devices that fit.",
            "scheduler, plugin DynamicResources: `cannot allocate all claims`, `device class ... does not exist`"
        )
    },
    reason!(
        NodeFeatures,
        "The pod needs a feature that no node declares.",
        "It is about the versions and feature gates of kubelets, not about labels or resources.",
        "Upgrade the nodes or turn the feature on there, or take out of the pod what needs it.",
        "scheduler, plugin NodeDeclaredFeatures: `node declared features check failed`"
    ),
    reason!(
        Gang,
        "The pod belongs to a group that is started only as a whole, and the group is not complete.",
        "Nodes may well have room for this pod alone. minCount of its group says how many must fit at once.",
        "Look at the other pods of the group: are all created, and is there room for minCount of them?",
        "scheduler, plugin GangScheduling: `waiting for minCount pods from a gang`"
    ),
    reason!(
        NodeName,
        "The pod names a node, and no node has that name.",
        "A scheduler of its own looked at a pod with spec.nodeName. A pod that is bound to a node that does not exist is \
         NodeNameMissingNode.",
        "Correct spec.nodeName, or leave it out.",
        "scheduler, plugin NodeName: `didn't match the requested node name`"
    ),
    Rule {
        cause: PREEMPTION,
        category: Category::Scheduling,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(preemption),
        remedies: |case, _| remedies::preemption(case),
        explain: Explain {
            meaning: "The scheduler has ended pods of lower priority to make room for the pod, and they do not go.",
            told_apart: "The pod has a nominatedNodeName and still no node, long after. A preemption usually takes no longer than \
                         the grace period of the pods that make way.",
            action: "See which pods on that node are Terminating and what holds them: a long grace period, a finalizer, a kill that \
                     fails.",
            source: "kubernetes pkg/scheduler/framework/preemption (status.nominatedNodeName)",
        },
    },
    reason!(
        NoNodes,
        "The cluster has no node at all that the scheduler knows.",
        "Nodes that exist and do not take the pod are counted in the scheduler's message; here there is none to count.",
        "Let a node join, or look why the nodes left.",
        "scheduler: `no nodes available to schedule pods`"
    ),
    Rule {
        cause: SCHEDULER_ERROR,
        category: Category::Scheduling,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(scheduler_error),
        remedies: |case, _| remedies::scheduler_error(case),
        explain: Explain {
            meaning: "The scheduler chose a node or tried to, and an operation of its own failed.",
            told_apart: "The reason of PodScheduled is SchedulerError, not Unschedulable: nodes may be suitable. It is \
                         tried again.",
            action: "Read the message: a volume that could not be provisioned points to its provisioner, else look at \
                     the scheduler's log.",
            source: "scheduler: condition PodScheduled, reason SchedulerError",
        },
    },
    Rule {
        cause: NO_SCHEDULER,
        category: Category::Scheduling,
        recovery: Recovery::NeverStarted,
        specificity: Specificity::Specific,
        scope: Scope::Pod(no_scheduler),
        remedies: |case, _| remedies::no_scheduler(case),
        explain: Explain {
            meaning: "No scheduler has looked at the pod: none answers to its schedulerName, or the scheduler is down.",
            told_apart: "The pod has no node, no condition and no Event. A scheduler that looked and found no node \
                         writes PodScheduled=False; a pod with scheduling gates has that condition too, and \
                         one whose ResourceClaim is missing is DraClaimUnallocatable.",
            action: "Correct schedulerName, or start that scheduler. If all new pods wait, the default scheduler is \
                     down.",
            source: "absence of the condition PodScheduled (kubernetes pkg/scheduler writes it at the first try)",
        },
    },
];
