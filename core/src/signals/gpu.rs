//! Errors of GPUs: the XIDs of the NVIDIA driver, and what each means for pods.

use std::sync::LazyLock;

use regex::Regex;

/// An XID as the kernel log, node-problem-detector, the device plugin and the EKS agent write it:
/// `Xid (PCI:0000:00:1e): 79`, `XID-79`, `Xid=79`, `NvidiaXID79Error`.
static XID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\bxid(?:\s*\(pci:[^)]*\))?(?:\s+error)?\s*[:=#-]?\s*(\d{1,3})\b|NvidiaXID(\d{1,3})Error").ok()
});

/// What an XID means for the pods that use the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Only the program that caused it fails.
    Program,
    /// Programs on the GPU fail until it is reset.
    Reset,
    /// Programs on the GPU fail until the machine is restarted or replaced.
    Replace,
    /// Programs go on.
    Watch,
}

impl Effect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Reset => "reset",
            Self::Replace => "replace",
            Self::Watch => "watch",
        }
    }
}

/// The number of the XID in a text.
pub(crate) fn xid(text: &str) -> Option<u16> {
    let found = XID.as_ref()?.captures(text)?;
    found.get(1).or(found.get(2))?.as_str().parse().ok()
}

/// Whether the name of a condition or of its reason is about GPUs or other accelerators.
pub(crate) fn is_about(name: &str) -> bool {
    [
        "GPU",
        "Gpu",
        "Nvidia",
        "NVIDIA",
        "NVLink",
        "NvLink",
        "XID",
        "Xid",
        "AcceleratedHardware",
        "Neuron",
        "FabricManager",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// The meaning of the XID of a field.
pub(super) fn known(xid: Option<i64>) -> Option<(&'static str, Effect)> {
    meaning(u16::try_from(xid?).ok()?)
}

/// The meaning of an XID. Source: NVIDIA, XID catalog, and the actions that it recommends.
fn meaning(xid: u16) -> Option<(&'static str, Effect)> {
    use Effect::{Program, Replace, Reset, Watch};
    Some(match xid {
        13 => ("graphics engine exception", Program),
        31 => ("GPU memory page fault", Program),
        32 => ("invalid or corrupted push buffer stream", Program),
        43 => ("GPU stopped processing because of the program", Program),
        44 => ("fault during a context switch", Reset),
        45 => ("preemptive cleanup after an earlier error", Program),
        8 | 46 => ("GPU stopped processing", Reset),
        48 => ("double bit ECC error", Reset),
        54 => ("auxiliary power not connected", Replace),
        61 => ("internal micro-controller breakpoint", Reset),
        62 => ("internal micro-controller halt", Reset),
        63 => ("GPU memory remapping event", Watch),
        64 => ("GPU memory remapping failure", Reset),
        68 => ("video decoder exception", Program),
        69 => ("graphics engine class error", Program),
        74 => ("NVLink error", Reset),
        79 => ("GPU has fallen off the bus", Replace),
        92 => ("high rate of single bit ECC errors", Watch),
        94 => ("contained memory error", Program),
        95 => ("uncontained memory error", Reset),
        109 => ("context switch timeout", Reset),
        110 => ("security fault error", Reset),
        119 => ("GSP RPC timeout", Reset),
        120 => ("GSP error", Reset),
        121 => ("chip-to-chip link error", Watch),
        136 => ("link training failed", Reset),
        140 => ("unrecoverable ECC error", Reset),
        142 => ("NVENC3 error", Replace),
        143 => ("GPU initialization error", Reset),
        144..=150 | 155 => ("NVLink error that the driver classifies", Reset),
        151 => ("key rotation error", Replace),
        154 => ("GPU needs a recovery action", Reset),
        156 => ("resource retirement event", Reset),
        157 => ("resource retirement failure", Replace),
        158 => ("GPU fatal timeout", Reset),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xids_are_read_from_all_wordings() {
        for (text, expected) in [
            ("detected XID-79 on the instance, review kernel logs for additional information.", Some(79)),
            ("NVRM: Xid (PCI:0000:00:1e): 31, pid=4711, name=python", Some(31)),
            ("XidCriticalError: Xid=48 on Device=GPU-5a3e; marking device as unhealthy.", Some(48)),
            ("GPU XID error 119 on GPU 0", Some(119)),
            ("NvidiaXID95Error", Some(95)),
            ("Xid 13", Some(13)),
            ("maxid: 12", None),
            ("XID errors present in kernel log", None),
        ] {
            assert_eq!(xid(text), expected, "{text}");
        }
    }
}
