//! Determines what is full when a program runs out of space.

use super::{handles, words};
use crate::case::Case;
use crate::facts::{Container, VolumeSource};

/// Mount path of POSIX shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// The message of `EDQUOT`.
const QUOTA: &str = "disk quota exceeded";

/// The storage that has no space left.
#[derive(Debug)]
pub(super) enum Full<'a> {
    Claim {
        name: &'a str,
    },
    /// An emptyDir in memory.
    Memory {
        volume: &'a str,
        limit: Option<i64>,
    },
    /// The container's own /dev/shm, without a volume mounted over it.
    SharedMemory,
    /// Another volume, or the container's own files. Most of them are on the node's disk.
    Disk {
        volume: Option<&'a str>,
    },
    /// A quota, on a disk that may have free space: of a claim, or of one of these volumes if any are known.
    Quota {
        claim: Option<&'a str>,
        volumes: Vec<&'a str>,
    },
    /// The line contains no path: one of these volumes, or the disk.
    Unknown {
        volumes: Vec<&'a str>,
    },
}

/// Whether the line is about storage. Some kernel limits have the same error.
pub(super) fn is_about_space(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    handles::met(line).is_none() && !["semaphore", "semget", "epoll"].iter().any(|word| lower.contains(word))
}

/// Whether the line is about POSIX shared memory, whose segments have names like files.
pub(super) fn is_shared_memory(line: &str) -> bool {
    line.contains("shared memory") || line.contains(SHARED_MEMORY)
}

pub(super) fn full<'a>(case: &Case<'a>, container: &'a Container, line: &str) -> Full<'a> {
    let full = full_place(case, container, line);
    if !line.to_ascii_lowercase().contains(QUOTA) {
        return full;
    }
    match full {
        Full::Claim { name } => Full::Quota { claim: Some(name), volumes: Vec::new() },
        Full::Unknown { volumes } => Full::Quota { claim: None, volumes },
        Full::Disk { volume: Some(volume) } | Full::Memory { volume, .. } => {
            Full::Quota { claim: None, volumes: vec![volume] }
        }
        _ => Full::Quota { claim: None, volumes: Vec::new() },
    }
}

fn full_place<'a>(case: &Case<'a>, container: &'a Container, line: &str) -> Full<'a> {
    let is_shared = is_shared_memory(line);
    let within = format!("{SHARED_MEMORY}/segment");
    let path = if is_shared { Some(&*within) } else { words::path(line) };
    let source = |volume: &str| case.pod.volume_source(volume);
    let mount = if let Some(path) = path {
        container.mount_over(path)
    } else {
        let is_written = |volume: &str| {
            matches!(
                source(volume),
                Some(VolumeSource::Claim { .. } | VolumeSource::EmptyDir { .. } | VolumeSource::HostPath { .. })
            )
        };
        let written: Vec<_> = container.mounts.iter().filter(|mount| is_written(&mount.volume)).collect();
        if written.len() > 1 {
            return Full::Unknown { volumes: written.iter().map(|mount| &*mount.volume).collect() };
        }
        written.first().copied()
    };
    match mount.map(|mount| (&*mount.volume, source(&mount.volume))) {
        Some((_, Some(VolumeSource::Claim { name, .. }))) => Full::Claim { name },
        Some((volume, Some(VolumeSource::EmptyDir { in_memory: true, size_limit }))) => {
            Full::Memory { volume, limit: *size_limit }
        }
        Some((volume, _)) => Full::Disk { volume: Some(volume) },
        None if is_shared => Full::SharedMemory,
        None => Full::Disk { volume: None },
    }
}

impl<'a> Full<'a> {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "claim",
            Self::Memory { .. } => "memory",
            Self::SharedMemory => "sharedMemory",
            Self::Disk { .. } => "disk",
            Self::Quota { .. } => "quota",
            Self::Unknown { .. } => "oneOf",
        }
    }

    pub(super) fn claim(&self) -> Option<&'a str> {
        match self {
            Self::Claim { name } => Some(name),
            Self::Quota { claim, .. } => *claim,
            _ => None,
        }
    }

    pub(super) fn volumes(&self) -> &[&'a str] {
        match self {
            Self::Memory { volume, .. } | Self::Disk { volume: Some(volume) } => std::slice::from_ref(volume),
            Self::Quota { volumes, .. } | Self::Unknown { volumes } => volumes,
            Self::Claim { .. } | Self::SharedMemory | Self::Disk { volume: None } => &[],
        }
    }
}

/// The field of spec.volumes[] that holds the source of a volume.
pub(super) fn volume_kind(source: &VolumeSource) -> &str {
    match source {
        VolumeSource::ConfigMap { .. } => "configMap",
        VolumeSource::Secret { .. } => "secret",
        VolumeSource::Claim { .. } => "persistentVolumeClaim",
        VolumeSource::EmptyDir { .. } => "emptyDir",
        VolumeSource::HostPath { .. } => "hostPath",
        VolumeSource::Projected { .. } => "projected",
        VolumeSource::Image { .. } => "image",
        VolumeSource::Other { kind } => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, full, is_about_space};
    use crate::testing::Scenario;

    #[test]
    fn kernel_limits_are_not_full_storage() {
        assert!(is_about_space("PANIC:  could not write to file \"pg_wal/xlogtemp.29\": No space left on device"));
        for line in [
            "Error: ENOSPC: System limit for number of file watchers reached, watch '/app'",
            "inotify_add_watch: no space left on device",
            "FATAL:  could not create semaphores: No space left on device",
        ] {
            assert!(!is_about_space(line), "{line}");
        }
    }

    #[test]
    fn the_volume_of_the_path_is_full() {
        let described = |mounts: &str, line: &str| {
            let scenario = Scenario::from_yaml(&format!(
                "kind: Pod
metadata: {{name: db, namespace: shop, uid: u}}
spec:
  nodeName: n1
  containers: [{{name: db, image: 'db:1', volumeMounts: [{mounts}]}}]
  volumes:
  - {{name: data, persistentVolumeClaim: {{claimName: pg}}}}
  - {{name: shm, emptyDir: {{medium: Memory}}}}
  - {{name: conf, configMap: {{name: conf}}}}
"
            ));
            let case = scenario.case();
            match full(&case, &case.pod.containers[0], line) {
                Full::Claim { name } => format!("claim {name}"),
                Full::Memory { volume, .. } => format!("memory {volume}"),
                Full::SharedMemory => "shared memory".to_owned(),
                Full::Disk { volume } => format!("disk {}", volume.unwrap_or("of the node")),
                Full::Quota { claim, volumes } => format!("quota of {claim:?} {volumes:?}"),
                Full::Unknown { volumes } => format!("one of {volumes:?}"),
            }
        };
        const DATA: &str = "{name: data, mountPath: /var/lib/pg}";
        const CONF: &str = "{name: conf, mountPath: /etc/pg}";
        const SHM: &str = "{name: shm, mountPath: /dev/shm}";
        let wal = "PANIC:  could not write to file \"pg_wal/xlogtemp.29\": No space left on device";
        let segment = "could not resize shared memory segment \"/PostgreSQL.12\" to 8 bytes: No space left on device";
        let log = "write /var/lib/pg/log: no space left on device";
        let quota = "cp: write error: Disk quota exceeded";
        let all = format!("{DATA}, {SHM}");
        let only = format!("{DATA}, {CONF}");
        for (mounts, line, expected) in [
            (&*only, wal, "claim pg"),
            (&*all, wal, "one of [\"data\", \"shm\"]"),
            (&*all, log, "claim pg"),
            (CONF, log, "disk of the node"),
            (&*all, segment, "memory shm"),
            (DATA, segment, "shared memory"),
            (DATA, quota, "quota of Some(\"pg\") []"),
            (&*all, quota, "quota of None [\"data\", \"shm\"]"),
            (CONF, quota, "quota of None []"),
        ] {
            assert_eq!(described(mounts, line), expected, "{mounts}: {line}");
        }
    }
}
