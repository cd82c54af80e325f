//! Finds the object of a clause: a volume, an image, a path, a host, a driver or a plugin.

/// An object that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object<'t> {
    pub kind: ObjectKind,
    pub name: &'t str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Volume,
    Image,
    Path,
    /// A host name, an address or a URL.
    Host,
    Driver,
    Plugin,
}

/// Words directly before a name, in lower case.
const NOUNS: &[(&str, ObjectKind)] = &[
    ("volume", ObjectKind::Volume),
    ("disk", ObjectKind::Volume),
    ("persistentvolume", ObjectKind::Volume),
    ("image", ObjectKind::Image),
    ("reference", ObjectKind::Image),
    ("plugin", ObjectKind::Plugin),
    ("plugin type", ObjectKind::Plugin),
    ("driver", ObjectKind::Driver),
    ("driver name", ObjectKind::Driver),
    ("lookup", ObjectKind::Host),
    ("tcp", ObjectKind::Host),
    ("server", ObjectKind::Host),
];

/// The first object that a clause names.
pub(super) fn first(clause: &str) -> Option<Object<'_>> {
    let (mut before, mut second) = ("", "");
    for word in clause.split([' ', '=']) {
        let name = word.trim_matches(['"', '\'', '`', ',', ';', ':', '(', ')', '[', ']']);
        let is_noun = |nouns: &str| match nouns.split_once(' ') {
            Some((first, last)) => second.eq_ignore_ascii_case(first) && before.eq_ignore_ascii_case(last),
            None => before.eq_ignore_ascii_case(nouns),
        };
        let is_name = name.len() > 1 && (word.starts_with(['"', '\'', '`']) || looks_like_name(name));
        let named = NOUNS.iter().find(|(nouns, _)| is_name && is_noun(nouns)).map(|(_, kind)| *kind);
        let kind = named.or_else(|| {
            if name.len() > 1 && name.starts_with('/') {
                Some(ObjectKind::Path)
            } else {
                is_host(name).then_some(ObjectKind::Host)
            }
        });
        if let Some(kind) = kind {
            return Some(Object { kind, name });
        }
        (second, before) = (before, name);
    }
    None
}

/// Whether a word that stands without quotes is a name: it has a digit, a dot, a hyphen or a slash in it.
fn looks_like_name(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'/' | b'_'))
}

/// Whether a word is a URL, or an address with a port.
fn is_host(word: &str) -> bool {
    let has_port = || {
        let port = word.rsplit_once(':').filter(|(host, _)| host.contains('.') && !host.contains('/'));
        port.is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
    };
    word.starts_with("https://") || word.starts_with("http://") || has_port()
}

/// Words before the verb of a failure, in lower case.
const BEFORE_VERB: &[&str] =
    &["failed to ", "unable to ", "could not ", "cannot ", "can not ", "couldn't ", "can't ", "failure ", "error "];

/// System calls and requests whose name begins a clause.
const CALLS: &[&str] = &[
    "open",
    "openat",
    "stat",
    "lstat",
    "mkdir",
    "mkdirat",
    "mount",
    "unmount",
    "chmod",
    "chown",
    "lchown",
    "read",
    "write",
    "readlink",
    "symlink",
    "rename",
    "remove",
    "unlink",
    "unlinkat",
    "exec",
    "fork/exec",
    "lookup",
    "dial",
    "connect",
    "listen",
    "bind",
    "fsync",
    "statfs",
    "Get",
    "Head",
    "Post",
    "Put",
    "Patch",
    "Delete",
];

/// Whether a clause begins with a system call or a request.
pub(super) fn is_call(clause: &str) -> bool {
    clause.split(' ').next().is_some_and(|first| CALLS.contains(&first))
}

/// The verb of a clause, with its direct object's noun where one follows: `set bridge addr`, `open`.
pub(super) fn operation(clause: &str) -> Option<&str> {
    let verb = BEFORE_VERB.iter().find_map(|words| {
        let head = clause.get(..words.len())?;
        head.eq_ignore_ascii_case(words).then(|| &clause[words.len()..])
    });
    let Some(rest) = verb else {
        return clause.split(' ').next().filter(|first| CALLS.contains(first));
    };
    let mut end = 0;
    for (n, word) in rest.split(' ').enumerate() {
        let is_plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
        if n == 3 || !is_plain {
            break;
        }
        end += word.len() + usize::from(n > 0);
    }
    rest.get(..end).filter(|verb| !verb.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_objects_by_their_noun_and_form() {
        for (clause, kind, name) in [
            (r#"could not attach volume "vol-1" to node "i-1""#, ObjectKind::Volume, "vol-1"),
            (r#"failed to pull and unpack image "a/b:1""#, ObjectKind::Image, "a/b:1"),
            (r#"plugin type="calico" failed (add)"#, ObjectKind::Plugin, "calico"),
            ("driver name ebs.csi.aws.com not found in the list", ObjectKind::Driver, "ebs.csi.aws.com"),
            ("open /run/flannel/subnet.env", ObjectKind::Path, "/run/flannel/subnet.env"),
            ("dial tcp 10.0.0.1:443", ObjectKind::Host, "10.0.0.1:443"),
            ("lookup auth.example.com on 10.0.0.2:53", ObjectKind::Host, "auth.example.com"),
            (r#"Get "https://10.0.0.1:443/api""#, ObjectKind::Host, "https://10.0.0.1:443/api"),
        ] {
            assert_eq!(first(clause), Some(Object { kind, name }), "{clause}");
        }
        assert_eq!(first("the volume is busy"), None);
        assert_eq!(first(""), None);
    }

    #[test]
    fn finds_the_verb() {
        assert_eq!(operation("failed to set bridge addr"), Some("set bridge addr"));
        assert_eq!(operation(r#"Could not attach volume "vol-1""#), Some("attach volume"));
        assert_eq!(operation("open /etc/x"), Some("open"));
        assert_eq!(operation("permission denied"), None);
    }
}
