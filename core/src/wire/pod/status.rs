//! Faults of devices and volumes in the status of a pod.

use serde::Deserialize;

use super::super::lenient::{List, Name, Text, Time};
use crate::facts::{UnhealthyDevice, VolumeFault};

/// A resource of a container, with the health of each of its devices.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct AllocatedResource {
    name: Text,
    resources: List<Device>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Device {
    #[serde(rename = "resourceID")]
    id: Text,
    health: Text,
    message: Text,
}

/// The unhealthy devices. A device of unknown health is not one: drivers report that right after the start.
pub(super) fn unhealthy(resources: List<AllocatedResource>) -> Vec<UnhealthyDevice> {
    let mut found = Vec::new();
    for resource in resources {
        let unhealthy = resource.resources.0.into_iter().filter(|device| &*device.health == "Unhealthy");
        found.extend(unhealthy.map(|device| UnhealthyDevice {
            resource: resource.name.0.clone(),
            id: device.id.0,
            message: device.message.0,
        }));
    }
    found
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeHealth {
    name: Name,
    health_conditions: List<HealthCondition>,
    last_transition_time: Time,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct HealthCondition {
    status: Text,
    reason: Text,
    message: Text,
}

pub(super) fn faults(volumes: List<VolumeHealth>) -> Vec<VolumeFault> {
    let mut found = Vec::new();
    for volume in volumes {
        let since = volume.last_transition_time.real();
        found.extend(volume.health_conditions.0.into_iter().map(|condition| VolumeFault {
            volume: volume.name.0.clone(),
            status: condition.status.0,
            reason: condition.reason.0,
            message: condition.message.0,
            since,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unhealthy_devices_are_kept() {
        let of = |json: &str| unhealthy(serde_json::from_str(json).unwrap());
        let found = of(r#"[{"name": "nvidia.com/gpu", "resources": [{"resourceID": "a", "health": "Healthy"},
            {"resourceID": "b", "health": "Unhealthy", "message": "ECC"}, {"resourceID": "c", "health": "Unknown"}, null]}]"#);
        let device = UnhealthyDevice { resource: "nvidia.com/gpu".into(), id: "b".into(), message: "ECC".into() };
        assert_eq!(found, [device]);
        for odd in ["null", "1", "{}", "[[1], \"x\"]", r#"[{"name": 1, "resources": {}}]"#] {
            assert!(of(odd).is_empty(), "{odd}");
        }
    }
}
