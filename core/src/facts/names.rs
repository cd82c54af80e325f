//! Names of existing objects and keys, which show what a misspelt reference means.
//!
//! The operator has no access to most of them. The plugin and a dump have: they answer `Lookup::Names`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::similar::{alike, distance};

/// A kind of object that a pod template refers to by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NamedKind {
    ConfigMap,
    Secret,
    ServiceAccount,
    PersistentVolumeClaim,
    PersistentVolume,
    PriorityClass,
    RuntimeClass,
}

impl NamedKind {
    pub const ALL: [Self; 7] = [
        Self::ConfigMap,
        Self::Secret,
        Self::ServiceAccount,
        Self::PersistentVolumeClaim,
        Self::PersistentVolume,
        Self::PriorityClass,
        Self::RuntimeClass,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::ServiceAccount => "ServiceAccount",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::PersistentVolume => "PersistentVolume",
            Self::PriorityClass => "PriorityClass",
            Self::RuntimeClass => "RuntimeClass",
        }
    }

    /// Parses the name of a kind, in any case.
    pub fn named_so(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
    }

    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Self::PersistentVolume | Self::PriorityClass | Self::RuntimeClass)
    }
}

/// The names of the objects of a kind, or of the keys in one ConfigMap or Secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamesOf {
    pub kind: NamedKind,
    /// Empty for kinds without namespaces.
    pub namespace: Arc<str>,
    /// The object whose keys are meant. `None`: the objects themselves.
    pub object: Option<Arc<str>>,
}

impl NamesOf {
    pub fn objects(kind: NamedKind, namespace: &str) -> Self {
        let namespace = if kind.is_namespaced() { namespace } else { "" };
        Self { kind, namespace: namespace.into(), object: None }
    }

    pub fn keys(kind: NamedKind, namespace: &str, object: &str) -> Self {
        Self { object: Some(object.into()), ..Self::objects(kind, namespace) }
    }
}

/// The names that were looked up. A clone shares them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names(Arc<BTreeMap<NamesOf, Arc<[Arc<str>]>>>);

impl Names {
    pub fn add(&mut self, of: NamesOf, names: Arc<[Arc<str>]>) {
        Arc::make_mut(&mut self.0).insert(of, names);
    }

    /// `None`: not looked up.
    pub fn get(&self, of: &NamesOf) -> Option<&[Arc<str>]> {
        self.0.get(of).map(|names| &**names)
    }

    /// The existing name that a misspelt one most likely means. A key may be abbreviated too; objects whose names are not
    /// that similar are different ones.
    pub fn nearest(&self, of: &NamesOf, missing: &str) -> Option<&str> {
        let names = || self.get(of).into_iter().flatten().map(|name| &**name);
        let is_wrong_key = of.object.is_some() && names().all(|name| name != missing);
        let abbreviated = || only(names(), |name| is_abbreviation(missing, name)).filter(|_| is_wrong_key);
        nearest(missing, names()).or_else(abbreviated)
    }
}

/// The name that `missing` most likely means, if exactly one is nearest: a misspelling, else a name with another file
/// extension, else one with an additional first or last part (`web-config` and `web-config-v2`).
pub fn nearest<'n>(missing: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let names: Vec<&str> = names.collect();
    if missing.is_empty() || names.contains(&missing) {
        return None;
    }
    let mut misspelt: Vec<(usize, &str)> =
        names.iter().filter(|name| alike(missing, name)).map(|name| (distance(missing, name), *name)).collect();
    misspelt.sort_unstable();
    match misspelt.as_slice() {
        [(_, only)] => return Some(only),
        [(first, name), (second, _), ..] => return (first < second).then_some(name),
        [] => {}
    }
    let names = || names.iter().copied();
    only(names(), |name| has_other_extension(missing, name))
        .or_else(|| only(names(), |name| has_other_part(missing, name)))
}

/// The name for which this holds, if it is the only one.
fn only<'n>(names: impl Iterator<Item = &'n str>, is_near: impl Fn(&str) -> bool) -> Option<&'n str> {
    let mut near = names.filter(|name| is_near(name));
    near.next().filter(|_| near.next().is_none())
}

/// Whether one word is the other with letters left out, at most half of them: `passwd` and `password`, `user` and
/// `username`.
fn is_abbreviation(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(str::to_ascii_lowercase);
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut letters = long.bytes();
    let begins_alike = short.bytes().next() == long.bytes().next();
    let is_within = short.bytes().all(|letter| letters.any(|other| other == letter));
    short.len() > 3 && short.len() * 2 >= long.len() && begins_alike && is_word(&short) && is_word(&long) && is_within
}

/// `nginx.cfg` and `nginx.conf`.
fn has_other_extension(a: &str, b: &str) -> bool {
    a.rsplit_once('.').zip(b.rsplit_once('.')).is_some_and(|((a, _), (b, _))| !a.is_empty() && a == b)
}

/// Whether one name is the other with one more part at its begin or end. Parts that name an environment distinguish
/// objects that must not be confused.
fn has_other_part(a: &str, b: &str) -> bool {
    const ENVIRONMENTS: [&str; 12] = [
        "dev",
        "development",
        "test",
        "testing",
        "qa",
        "stage",
        "staging",
        "preprod",
        "prod",
        "production",
        "live",
        "local",
    ];
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_part = |part: &str| !part.is_empty() && !part.contains('-') && !ENVIRONMENTS.contains(&part);
    let after = long.strip_prefix(short).and_then(|rest| rest.strip_prefix(['-', '.']));
    let before = long.strip_suffix(short).and_then(|rest| rest.strip_suffix(['-', '.']));
    short.len() > 3 && (after.is_some_and(is_part) || before.is_some_and(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_if_it_is_the_only_one() {
        for (missing, names, expected) in [
            ("app-confg", vec!["app-config", "kube-root-ca.crt"], Some("app-config")),
            ("web-setings", vec!["web-settings", "orders"], Some("web-settings")),
            ("db-credentails", vec!["db-credentials"], Some("db-credentials")),
            ("LOGLEVEL", vec!["LOG_LEVEL", "MODE"], Some("LOG_LEVEL")),
            ("nginx.cfg", vec!["nginx.conf", "mime.types"], Some("nginx.conf")),
            ("index.htm", vec!["index.html"], Some("index.html")),
            ("config.yaml", vec!["config.yml", "config.json"], Some("config.yml")),
            ("web-config", vec!["web-config-v2", "api"], Some("web-config-v2")),
            ("db-password", vec!["shop-db-password"], Some("shop-db-password")),
            ("db-password", vec!["db-password-prod"], None),
            ("app-confg", vec!["app-config", "app-confog"], None),
            ("app-config", vec!["app-config", "app-confg"], None),
            ("zone-a1", vec!["zone-a2"], None),
            ("orders", vec!["billing"], None),
            ("", vec!["a"], None),
        ] {
            assert_eq!(nearest(missing, names.into_iter()), expected, "{missing}");
        }
    }

    #[test]
    fn key_may_be_abbreviated_and_an_object_not() {
        let keys = NamesOf::keys(NamedKind::Secret, "shop", "db");
        let objects = NamesOf::objects(NamedKind::Secret, "shop");
        for (missing, there, expected) in [
            ("passwd", vec!["password", "host"], Some("password")),
            ("user", vec!["username", "password"], Some("username")),
            ("user", vec!["username", "userdata"], None),
            ("web", vec!["worker"], None),
            ("password", vec!["password"], None),
        ] {
            let mut names = Names::default();
            for of in [&keys, &objects] {
                names.add(of.clone(), there.iter().map(|name| Arc::from(*name)).collect());
            }
            assert_eq!(names.nearest(&keys, missing), expected, "{missing}");
            assert_eq!(names.nearest(&objects, missing), None, "{missing}");
        }
    }

    #[test]
    fn names_without_an_answer_are_unknown() {
        let (mut names, of) = (Names::default(), NamesOf::objects(NamedKind::PriorityClass, "shop"));
        assert_eq!(names.nearest(&of, "bacth"), None);
        names.add(NamesOf::objects(NamedKind::PriorityClass, ""), ["batch".into()].into());
        assert_eq!(names.nearest(&of, "bacth"), Some("batch"), "the kind has no namespaces");
    }
}
