//! Faults of devices and volumes that the status of a pod reports. Healthy ones are not stored.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// A device of a container that its device plugin or driver reports as unhealthy
/// (`containerStatuses[].allocatedResourcesStatus`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnhealthyDevice {
    /// The resource of a device plugin (`nvidia.com/gpu`), or `claim:NAME/REQUEST`.
    pub resource: String,
    pub id: String,
    /// What the driver reports about it (1.36+). Device plugins report nothing.
    pub message: String,
}

/// A fault of a volume that its CSI driver reports (`status.volumeHealth`, 1.37+).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeFault {
    /// Name in `spec.volumes`.
    pub volume: String,
    /// `Inaccessible`, `DataLoss` or `Degraded`.
    pub status: String,
    pub reason: String,
    pub message: String,
    pub since: Option<Timestamp>,
}
