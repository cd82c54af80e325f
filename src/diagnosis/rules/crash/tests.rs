//! Every fixture of these families, judged by the whole table.

use std::path::{Path, PathBuf};

use crate::diagnosis::testing::Scenario;
use crate::diagnosis::{Health, diagnose};

/// Causes of these families whose folders hold fixtures.
const MINE: [&str; 54] = [
    "AdmissionNodePressure",
    "AppArmor",
    "AppError",
    "CompletedButRestarted",
    "ContainerCreatingTooLong",
    "ContainerStatusUnknown",
    "Evicted",
    "EvictedContainerEphemeralLimit",
    "EvictedEmptyDirLimit",
    "EvictedNodePressure",
    "EvictedPodEphemeralLimit",
    "ExecFormatError",
    "Exit255",
    "ExitCommandNotExecutable",
    "ExitCommandNotFound",
    "InitContainerFailed",
    "InitContainerStuck",
    "InterpreterMissing",
    "InvalidNodeInfo",
    "LivenessProbeFailed",
    "NativeCrash",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeShutdown",
    "NodeShutdownTerminated",
    "OOMKilled",
    "OOMReportedAsError",
    "OutOfEphemeralStorage",
    "OutOfExtendedResource",
    "OutOfcpu",
    "OutOfmemory",
    "OutOfpods",
    "PodAdmissionRejected",
    "PodDeadlineExceeded",
    "PodFailedNoRestart",
    "PodOSNotSupported",
    "PreemptedByKubelet",
    "ReadinessGateNotReady",
    "ReadinessProbeFailed",
    "RuntimeLostExit",
    "SMTAlignmentError",
    "SidecarCrashLoop",
    "SigKilledNotOom",
    "SigTermExit",
    "StartupProbeFailed",
    "SysctlForbidden",
    "TaintToleration",
    "TerminatingFinalizer",
    "TerminatingKillFailing",
    "TerminatingNodeUnreachable",
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
    "VolumeAttachmentLimitExceeded",
];

/// Fixtures that were filed under a wider name than the cause that is told.
fn expected<'a>(folder: &'a str, file: &str) -> &'a str {
    match (folder, file) {
        ("AppError", "cronjob" | "job-failed" | "job-retries-left" | "never-restarted") => "PodFailedNoRestart",
        ("AppError", "exit-255") => "Exit255",
        ("SidecarCrashLoop", _) => "AppError",
        ("Evicted", "empty-dir-limit") => "EvictedEmptyDirLimit",
        ("Evicted", "ephemeral-storage-limit") => "EvictedPodEphemeralLimit",
        _ => folder,
    }
}

/// What is only a failure once it lasts is recorded early and judged later.
fn patience(folder: &str) -> i64 {
    let slow = [
        "Readiness",
        "Terminating",
        "InitContainerStuck",
        "ContainerCreating",
        "RuntimeLost",
        "ContainerStatusUnknown",
    ];
    if slow.iter().any(|start| folder.starts_with(start)) { 700 } else { 0 }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The causes of all pods of a fixture, with their summaries.
fn judge(file: &Path, later: i64) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut scenario = Scenario::from_yaml(&text);
    if let Some(at) = text.lines().find_map(|line| line.strip_prefix("# recorded-at: ")) {
        scenario = scenario.at(at);
    }
    let scenario = scenario.later(later);
    let judged = scenario.pods.iter().filter_map(|pod| match diagnose(&scenario.case_of(&pod.key.name)).health {
        Health::Well => None,
        Health::Failing(diagnosis) => {
            assert!(diagnosis.summary.chars().count() <= 200, "{}: {}", file.display(), diagnosis.summary);
            assert!(!diagnosis.evidence.is_empty(), "{}: no evidence", file.display());
            Some((diagnosis.cause.to_owned(), diagnosis.summary))
        }
    });
    judged.collect()
}

#[test]
fn every_fixture_of_these_families_has_its_cause() {
    let mut wrong = Vec::new();
    for folder in MINE {
        for file in files(&Path::new("tests/causes").join(folder)) {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // A child's death leaves no trace in the status.
            if stem == "child-survived" {
                continue;
            }
            let found = judge(&file, patience(folder));
            let has = |cause: &str| found.iter().any(|(c, _)| c == cause);
            let right = if stem.starts_with("not-") { !has(folder) } else { has(expected(folder, &stem)) };
            if !right {
                wrong.push(format!("{folder}/{stem}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
