//! Selects the receivers of a diagnosis.

use shindan_core::api::Severity;
use wildmatch::WildMatch;

use super::incident::Member;

/// A rule that sends diagnoses to receivers. Empty lists match everything.
#[derive(Debug, Clone)]
pub struct Route {
    /// Patterns with `*` and `?`. Nodes have no namespace, so that only an empty list or `*` matches them.
    pub namespaces: Vec<WildMatch>,
    /// This severity or a higher one.
    pub severity: Severity,
    pub categories: Vec<&'static str>,
    /// Patterns of `KIND/NAME`, such as `Deployment/web-*`.
    pub workloads: Vec<WildMatch>,
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
        let any = |patterns: &[WildMatch], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(text))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::incident::tests::member;

    fn route(namespaces: &[&str], receivers: u64) -> Route {
        let namespaces = namespaces.iter().map(|text| WildMatch::new(text)).collect();
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
            workloads: vec![WildMatch::new("Deployment/w?b")],
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
            assert_eq!(WildMatch::new(pattern).matches(text), matches, "{pattern} {text}");
        }
    }
}
