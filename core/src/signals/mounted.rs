//! Files that a log line names, and the volume of the pod that holds each.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::case::Case;
use crate::facts::{Container, Mount, RefKind, VolumeSource};

static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?:^|[\s"'`(=:\[])(/[A-Za-z0-9._@+/-]+)"#).ok());

/// All files and directories in the line. `//` begins the host of a URL.
pub(super) fn paths(line: &str) -> impl Iterator<Item = &str> {
    let found = PATH.iter().flat_map(|pattern| pattern.captures_iter(line));
    let paths = found.filter_map(|found| Some(found.get(1)?.as_str().trim_end_matches(['.', ':'])));
    paths.filter(|path| !path.starts_with("//"))
}

/// A file in a volume whose source is an object of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mounted<'l, 'a> {
    pub(super) file: &'l str,
    pub(super) mount: &'a Mount,
    /// The kind of the object that holds the file: `ConfigMap`, `Secret` or `PersistentVolumeClaim`.
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
}

/// The first file of the line that is in a ConfigMap, a Secret or a claim.
pub(super) fn of_line<'l, 'a>(case: &Case<'a>, container: &'a Container, line: &'l str) -> Option<Mounted<'l, 'a>> {
    paths(line).find_map(|file| {
        let mount = container.mount_at(file)?;
        let (kind, name) = holder(case.pod.volume_source(&mount.volume)?)?;
        Some(Mounted { file, mount, kind, name })
    })
}

/// The only claim that a container mounts, that of its data, and where.
pub(super) fn only_claim<'a>(case: &Case<'a>, container: &'a Container) -> Option<(&'a Mount, &'a str)> {
    let mut claims = container.mounts.iter().filter_map(|mount| match case.pod.volume_source(&mount.volume)? {
        VolumeSource::Claim { name, .. } => Some((mount, name.as_str())),
        _ => None,
    });
    let (mount, first) = claims.next()?;
    claims.all(|(_, claim)| claim == first).then_some((mount, first))
}

/// ConfigMaps and Secrets that a container takes its settings from: `ConfigMap app, Secret db`. Of many, the first ones.
pub(super) fn configuration(case: &Case<'_>, container: &Container) -> String {
    const MOST: usize = 3;
    let of_variables = container.env_refs.iter().map(|of| match of.kind {
        RefKind::ConfigMap => ("ConfigMap", of.name.as_str()),
        RefKind::Secret => ("Secret", of.name.as_str()),
    });
    let of_files = container.mounts.iter().filter_map(|mount| holder(case.pod.volume_source(&mount.volume)?));
    let all: BTreeSet<_> = of_variables
        .chain(of_files)
        .filter(|(kind, name)| *kind != "PersistentVolumeClaim" && !name.is_empty())
        .collect();
    let names: Vec<String> = all.iter().take(MOST).map(|(kind, name)| format!("{kind} {name}")).collect();
    names.join(", ")
}

/// Kind and name of the object of a volume.
fn holder(source: &VolumeSource) -> Option<(&'static str, &str)> {
    match source {
        VolumeSource::ConfigMap { name, .. } => Some(("ConfigMap", name)),
        VolumeSource::Secret { name, .. } => Some(("Secret", name)),
        VolumeSource::Claim { name, .. } => Some(("PersistentVolumeClaim", name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scenario;

    #[test]
    fn file_belongs_to_the_object_of_its_innermost_mount() {
        let scenario = Scenario::from_yaml(
            "{kind: Pod, metadata: {name: a, namespace: n, uid: u}, spec: {containers: [{name: app, volumeMounts: [{name: d, mountPath: /etc}, {name: t, mountPath: /etc/tls}]}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}, {name: t, secret: {secretName: web-tls}}]}}",
        );
        let case = scenario.case();
        let of = |line| {
            let found = of_line(&case, &case.pod.containers[0], line)?;
            Some((found.file.to_owned(), found.kind, found.name))
        };
        assert_eq!(
            of("SSL_CTX_use_PrivateKey(\"/etc/tls/tls.key\") failed"),
            Some(("/etc/tls/tls.key".into(), "Secret", "web-tls"))
        );
        assert_eq!(
            of("/app/main.py: bad /etc/app.ini."),
            Some(("/etc/app.ini".into(), "PersistentVolumeClaim", "data"))
        );
        assert_eq!(of("/app/main.py: no"), None);
        assert_eq!(only_claim(&case, &case.pod.containers[0]).map(|(_, name)| name), Some("data"));
    }
}
