//! Kinds of custom resources that the user asks for.

use super::is_custom_group;

/// A kind by its plural name and group: `certificates.cert-manager.io`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomKind {
    plural: String,
    group: String,
}

impl CustomKind {
    /// Parses `PLURAL.GROUP`. Kinds of Kubernetes itself are refused: those that can be diagnosed always are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (plural, group) = text
            .trim()
            .split_once('.')
            .ok_or("write the plural and the group, such as certificates.cert-manager.io")?;
        let is_name = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
        };
        if !is_name(plural) || !is_name(group) {
            return Err(format!("{text:?} is no plural and group, such as certificates.cert-manager.io"));
        }
        // kubectl also takes PLURAL.VERSION.GROUP.
        let begins_with_version = group.split_once('.').is_some_and(|(first, rest)| {
            let digits = first.strip_prefix('v').unwrap_or_default();
            digits.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('.')
        });
        if begins_with_version {
            return Err(format!(
                "{text:?} has a version; write the plural and the group only: the served version is found"
            ));
        }
        if !group.contains('.') {
            return Err(format!("{group} is no whole group of custom resources, such as cert-manager.io"));
        }
        if !is_custom_group(group) {
            return Err(format!(
                "kinds of {group}, a group of Kubernetes or of Shindan, are not followed as custom resources"
            ));
        }
        Ok(Self { plural: plural.to_owned(), group: group.to_owned() })
    }

    /// `certificates`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// `cert-manager.io`.
    pub fn group(&self) -> &str {
        &self.group
    }
}

impl std::fmt::Display for CustomKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.plural, self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_a_custom_resource_by_plural_and_group() {
        let kind = CustomKind::parse("certificates.cert-manager.io").unwrap();
        assert_eq!(
            (kind.to_string().as_str(), kind.plural(), kind.group()),
            ("certificates.cert-manager.io", "certificates", "cert-manager.io")
        );
        for wrong in [
            "certificates",
            "",
            ".cert-manager.io",
            "Certificate.cert-manager.io",
            "deployments.apps",
            "certificates.v1.cert-manager.io",
            "pods.",
            "poddiagnoses.shindan.dev",
            "*.cert-manager.io",
        ] {
            assert!(CustomKind::parse(wrong).is_err(), "{wrong}");
        }
    }
}
