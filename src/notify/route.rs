//! Selects the receivers of a diagnosis.

use shindan_core::api::Severity;

use super::incident::Member;

/// A rule that sends diagnoses to receivers. Empty lists match everything.
#[derive(Debug, Clone)]
pub struct Route {
    /// Patterns with `*` and `?`. Nodes have no namespace, so that only an empty list or `*` matches them.
    pub namespaces: Vec<String>,
    /// This severity or a higher one.
    pub severity: Severity,
    pub categories: Vec<&'static str>,
    /// Patterns of `KIND/NAME`, such as `Deployment/web-*`.
    pub workloads: Vec<String>,
    /// Bits of the receivers.
    pub receivers: u64,
    /// Whether later routes apply too.
    pub goes_on: bool,
}

impl Route {
    /// Sends everything from Warning up to all receivers.
    pub fn to_all(receivers: usize) -> Self {
        let all = u64::MAX >> (64 - receivers.clamp(1, 64));
        Self {
            namespaces: Vec::new(),
            severity: Severity::Warning,
            categories: Vec::new(),
            workloads: Vec::new(),
            receivers: all,
            goes_on: false,
        }
    }

    fn matches(&self, member: &Member) -> bool {
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| is_match(pattern, text))
        };
        // Severities are ordered from the highest.
        member.severity <= self.severity
            && (self.categories.is_empty() || self.categories.contains(&member.category.as_str()))
            && any(&self.namespaces, &member.namespace)
            && any(&self.workloads, &member.object)
    }
}

/// The receivers of a diagnosis, as bits. The first route that matches counts, as in Alertmanager, and the next ones only
/// after a route with `continue`.
pub fn receivers(routes: &[Route], member: &Member) -> u64 {
    let mut bits = 0;
    for route in routes.iter().filter(|route| route.matches(member)) {
        bits |= route.receivers;
        if !route.goes_on {
            break;
        }
    }
    bits
}

/// Whether `text` matches a pattern in which `*` stands for any characters and `?` for one. Linear in both for one star, and
/// bounded by their product.
fn is_match(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            last_star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = last_star {
            last_star = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::incident::tests::member;

    fn route(namespaces: &[&str], receivers: u64) -> Route {
        let namespaces = namespaces.iter().map(|text| (*text).to_owned()).collect();
        Route { namespaces, receivers, ..Route::to_all(1) }
    }

    #[test]
    fn the_first_route_that_matches_counts_unless_it_continues() {
        let first = Route { goes_on: true, ..route(&["team-*"], 1) };
        let routes = [first, route(&["team-a"], 2), route(&[], 4)];
        for (namespace, bits) in [("team-a", 0b11), ("team-b", 0b101), ("shop", 0b100), ("", 0b100)] {
            let member = Member { namespace: namespace.into(), ..member("web") };
            assert_eq!(receivers(&routes, &member), bits, "{namespace}");
        }
        assert_eq!(receivers(&routes[..2], &member("web")), 0, "namespace shop has no route");
    }

    #[test]
    fn severity_category_and_workload_restrict_a_route() {
        let only = Route {
            severity: Severity::Critical,
            categories: vec!["Image"],
            workloads: vec!["Deployment/w?b".to_owned()],
            ..route(&["*"], 1)
        };
        let fits = Member { severity: Severity::Critical, category: "Image".to_owned(), ..member("web") };
        assert_eq!(receivers(std::slice::from_ref(&only), &fits), 1);
        for other in [
            Member { severity: Severity::Warning, ..fits.clone() },
            Member { category: "Crash".to_owned(), ..fits.clone() },
            Member { object: "StatefulSet/web".into(), ..fits.clone() },
            Member { object: "Deployment/webs".into(), ..fits.clone() },
        ] {
            assert_eq!(receivers(std::slice::from_ref(&only), &other), 0, "{other:?}");
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("team-*", "team-", true),
            ("team-*", "steam-a", false),
            ("*-prod", "a-b-prod", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("?", "", false),
        ] {
            assert_eq!(is_match(pattern, text), matches, "{pattern} {text}");
        }
    }
}
