//! The parts of an image reference.

/// `registry.example.com:5000/team/web:1.2@sha256:...` in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image<'t> {
    /// With its port.
    pub(super) registry: Option<&'t str>,
    /// The path in the registry.
    pub(super) repository: &'t str,
}

impl<'t> Image<'t> {
    pub(super) fn parse(reference: &'t str) -> Option<Self> {
        let name = reference.split('@').next().unwrap_or_default();
        let (registry, path) = match name.split_once('/') {
            Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), path),
            _ => (None, name),
        };
        // A colon behind the last slash begins the tag.
        let from = path.rfind('/').map_or(0, |slash| slash + 1);
        let repository = path[from..].find(':').map_or(path, |colon| &path[..from + colon]);
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let is_path = !repository.is_empty() && repository.chars().all(is_allowed);
        is_path.then_some(Self { registry, repository })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_has_a_registry_and_a_repository() {
        let parse = |text| Image::parse(text).map(|image| (image.registry, image.repository));
        assert_eq!(parse("nginx"), Some((None, "nginx")));
        assert_eq!(parse("acme/web:1.2"), Some((None, "acme/web")));
        assert_eq!(parse("reg.example.com:5000/a/b/web:1@sha256:0"), Some((Some("reg.example.com:5000"), "a/b/web")));
        assert_eq!(parse("reg.example.com/web"), Some((Some("reg.example.com"), "web")));
        assert_eq!(parse("localhost/web:1"), Some((Some("localhost"), "web")));
        assert_eq!(parse("UPPER CASE"), None);
        assert_eq!(parse(""), None);
    }
}
