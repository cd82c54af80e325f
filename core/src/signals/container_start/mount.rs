//! Volumes that cannot be mounted into a container, mostly because a file meets a directory.

use crate::case::Case;
use crate::facts::{Mount, VolumeSource};
use crate::message::{between, quoted_after};

/// The mount path in a message.
pub(super) fn target(text: &str) -> Option<&str> {
    // runc before 1.0 includes the rootfs: `mounting "A" to rootfs "B" at "C"`.
    let of_old = || quoted_after(text.split_once("to rootfs ")?.1, " at ");
    let without_volume = || between(text, "create mountpoint for ", " mount: ");
    quoted_after(text, "to rootfs at ").or_else(without_volume).or_else(|| between(text, "` to `", "`")).or_else(of_old)
}

/// The name of a volume in the kubelet's path of it: `/var/lib/kubelet/pods/UID/volumes/kubernetes.io~configmap/NAME`, or
/// `.../volume-subpaths/NAME/CONTAINER/0`.
pub(super) fn volume(text: &str) -> Option<&str> {
    let of_sub_path = || between(text, "/volume-subpaths/", "/");
    let (_, rest) = text
        .split_once("/volumes/kubernetes.io~")
        .and_then(|(_, rest)| rest.split_once('/'))
        .or_else(|| Some(("", of_sub_path()?)))?;
    let end = rest.find(['/', '"', '\\', '`', ' ']).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// The parent path that runc cannot open or create because a part of it is a file (`prepareBindMount`,
/// `mountToRootfs`). If runc can create it, the mount itself is refused: the mount path or its source is a file.
pub(super) fn file_above<'t>(text: &str, at: &'t str) -> Option<&'t str> {
    let is_on_the_way = ["open o_path procfd", "create mountpoint for"].iter().any(|step| text.contains(step));
    let (parent, _) = at.rsplit_once('/').filter(|(parent, _)| !parent.is_empty())?;
    (is_on_the_way && text.contains("not a directory")).then_some(parent)
}

/// The missing subPath of a mount that should be a file.
pub(super) fn missing_sub_path(mount: &Mount) -> Option<&str> {
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let is_file = is_named_as_file(&mount.path) || last(&mount.path) == last(&mount.sub_path);
    Some(mount.sub_path.as_str()).filter(|sub_path| !sub_path.is_empty() && is_file)
}

/// Kind and name of the object whose keys are the files of a volume.
pub(super) fn source<'a>(case: &Case<'a>, volume: &str) -> Option<(&'static str, &'a str)> {
    match case.pod.volume_source(volume)? {
        VolumeSource::ConfigMap { name, .. } => Some(("ConfigMap", name)),
        VolumeSource::Secret { name, .. } => Some(("Secret", name)),
        _ => None,
    }
}

/// Whether a path ends with a file extension, such as `nginx.conf`.
pub(super) fn is_named_as_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// The file that is mounted over a directory: the mount path has no extension, and the source is a file of a volume or
/// a path on the node.
pub(super) fn file_of<'a>(case: &Case<'a>, mount: &'a Mount) -> Option<&'a str> {
    if is_named_as_file(&mount.path) {
        return None;
    }
    match case.pod.volume_source(&mount.volume)? {
        // The keys of these volumes are files. In other volumes the kubelet creates a directory for a missing subPath.
        VolumeSource::ConfigMap { .. } | VolumeSource::Secret { .. } | VolumeSource::Projected { .. } => {
            Some(mount.sub_path.as_str()).filter(|path| !path.is_empty())
        }
        VolumeSource::HostPath { path } if mount.sub_path.is_empty() => Some(path),
        _ => None,
    }
}
