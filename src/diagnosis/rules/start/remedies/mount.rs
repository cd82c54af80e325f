//! Where a volume cannot be mounted at its place in a container: most often a file and a directory meet.

use super::super::mount_target;
use super::{About, about};
use crate::api::Remedy;
use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::target::shell_word;
use crate::diagnosis::{Case, Finding, remedy, undo};
use crate::facts::{Container, Mount, VolumeSource};

pub(in crate::diagnosis::rules::start) fn mount(case: &Case<'_>, finding: &Finding) -> Vec<Remedy> {
    let about = about(case, finding);
    let at = mount_target(&about.text).unwrap_or(phrase!(case, "its mountPath"));
    let display = about.target.display();
    let mut out: Vec<_> = undo::of_stuck_rollout(case).into_iter().collect();
    if about.text.contains("because it is inside /proc") {
        out.push(remedy::fix(say!(
            case,
            "Mount the volume in {target} somewhere else than below /proc, where the runtime allows none.",
            target = display
        )));
        return out;
    }
    if let Some(parent) = file_above(&about.text, at) {
        out.push(remedy::fix(say!(case, "{at} cannot be made: the image has a file where a directory is needed (most likely {parent}). Mount the volume in {target} at another path.", at, parent, target = display)));
        return out;
    }
    let lacking = lacking_file(case, &about, at);
    let is_sure = lacking.is_some() && is_named_as_file(at);
    out.extend(lacking);
    if is_sure {
        return out;
    }
    out.push(remedy::fix(match single_file(case, &about, at) {
        Some(file) => {
            let name = file.rsplit('/').next().unwrap_or(&file);
            say!(case, "{file} is a file, and {at} a directory of the image: in {target}, mount it at a file (mountPath: {folder}/{name}), or mount a directory.", file, at, target = display, folder = at.trim_end_matches('/'), name)
        }
        None => {
            say!(case, "Mount the volume in {target} at a directory, not over the file {at}; for a single file set subPath to its key.", target = display, at)
        }
    }));
    out
}

/// What lies above a place that runc cannot even open or make, as a part of its path is a file (`prepareBindMount`,
/// `mountToRootfs`). Where it can, the mount itself is refused, and one of both is a file.
fn file_above<'t>(text: &str, at: &'t str) -> Option<&'t str> {
    let is_on_the_way = ["open o_path procfd", "create mountpoint for"].iter().any(|step| text.contains(step));
    let (parent, _) = at.rsplit_once('/').filter(|(parent, _)| !parent.is_empty())?;
    (is_on_the_way && text.contains("not a directory")).then_some(parent)
}

/// For a subPath that is to be a file and, it seems, is not in its volume: the kubelet makes an empty directory of what is not
/// there (`SafeMakeDir` in pkg/kubelet/kubelet_pods.go), and that cannot be mounted over a file.
fn lacking_file(case: &Case<'_>, about: &About<'_>, at: &str) -> Option<Remedy> {
    if !about.text.contains("not a directory") {
        return None;
    }
    let mount = mount_at(about.container?, at).filter(|mount| !mount.sub_path.is_empty())?;
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    if !is_named_as_file(at) && last(at) != last(&mount.sub_path) {
        return None;
    }
    let (key, owner, volume) = (&mount.sub_path, about.target.display(), &mount.volume);
    let again = phrase!(case, "Then delete the pod: that directory stays as long as the pod does.");
    let (kind, name) = match case.pod.volume_source(volume)? {
        VolumeSource::ConfigMap { name, .. } => ("ConfigMap", name),
        VolumeSource::Secret { name, .. } => ("Secret", name),
        _ => {
            let text = say!(
                case,
                "Most likely volume {volume} has no file {key}: the kubelet makes an empty directory of a subPath that is not there. Put the file there, or correct subPath in {owner}. {again}",
                volume,
                key,
                owner,
                again
            );
            return Some(remedy::fix(text));
        }
    };
    let text = say!(
        case,
        "Most likely {kind} {name} has no key {key}: the kubelet makes an empty directory of a subPath that is not there. Add the key, or correct subPath in {owner}. {again}",
        kind,
        name,
        key,
        owner,
        again
    );
    let look = format!("{} describe {} {}", about.target.command_prefix(), kind.to_ascii_lowercase(), shell_word(name));
    Some(remedy::command(remedy::fix(text), look))
}

/// Whether a path ends as files do: `nginx.conf`.
fn is_named_as_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

fn mount_at<'c>(container: &'c Container, at: &str) -> Option<&'c Mount> {
    container.mounts.iter().find(|mount| mount.path.trim_end_matches('/') == at.trim_end_matches('/'))
}

/// What seems to be one file and is mounted over a directory: that has no ending in its name, and the file is a part of a
/// volume, or a path on the node.
fn single_file(case: &Case<'_>, about: &About<'_>, at: &str) -> Option<String> {
    if !about.text.contains("not a directory") || is_named_as_file(at) {
        return None;
    }
    let mount = mount_at(about.container?, at)?;
    match case.pod.volume_source(&mount.volume)? {
        // Their keys are files; in others the kubelet makes a directory of a subPath that is not there.
        VolumeSource::ConfigMap { .. } | VolumeSource::Secret { .. } | VolumeSource::Projected { .. } => {
            Some(mount.sub_path.clone()).filter(|path| !path.is_empty())
        }
        VolumeSource::HostPath { path } if mount.sub_path.is_empty() => Some(path.clone()),
        _ => None,
    }
}
