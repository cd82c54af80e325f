//! Container logs stored with a dump, matched to their containers.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use crate::facts::{Container, ObjectKey, PodFacts, State, timed_line};
use crate::message::text;

/// Logs by container.
#[derive(Debug, Default)]
pub struct Logs {
    saved: Vec<Saved>,
}

#[derive(Debug)]
struct Saved {
    pod: ObjectKey,
    container: Arc<str>,
    /// How closely the log matches the last termination, if a container has several logs.
    fit: u8,
    text: Arc<str>,
}

/// Delimiter lines of `kubectl cluster-info dump`, which writes all containers of a pod into one file.
static SECTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^==== (START|END) logs for container (\S+) of pod ([^/\s]+)/(\S+) ====$").ok());
/// Line prefix of `kubectl logs --prefix`.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\[pod/([^/\s]+)/([^\]\s]+)\] ?(.*)$").ok());

impl Logs {
    /// Adds a file. Returns `false` if it cannot be matched to a container of these pods. A file given explicitly
    /// (`by_itself`) is matched to the only terminated container, whatever its name.
    pub fn read(&mut self, path: &str, text: &str, pods: &[PodFacts], by_itself: bool) -> bool {
        let before = self.saved.len();
        let known = self.sections(text, pods) || self.prefixed(text, pods);
        let fallback = || by_itself.then(|| only_terminated(pods)).flatten();
        if !known && let Some((pod, container)) = by_path(path, pods).or_else(fallback) {
            self.put(pod, container, fit(path, container), text);
        }
        self.saved.len() > before
    }

    /// The log of the container's last termination, as far as known.
    pub fn of(&self, pod: &ObjectKey, container: &str) -> Option<Arc<str>> {
        let own = self.saved.iter().filter(|saved| saved.pod == *pod && &*saved.container == container);
        own.max_by_key(|saved| saved.fit).map(|saved| saved.text.clone())
    }

    fn put(&mut self, pod: &PodFacts, container: &Container, fit: u8, log: &str) {
        // More lines than are kept.
        const LINES: usize = 8192;
        let mut lines: Vec<_> = log.lines().rev().take(LINES).map(without_time).collect();
        lines.reverse();
        let text = text::log_tail(&lines.join("\n")).into();
        self.saved.push(Saved { pod: pod.key.clone(), container: container.name.clone(), fit, text });
    }

    fn sections(&mut self, text: &str, pods: &[PodFacts]) -> bool {
        let Some(section) = SECTION.as_ref() else { return false };
        let mut current: Option<(&PodFacts, &Container, String)> = None;
        let mut any = false;
        for line in text.lines() {
            if let Some(found) = section.captures(line) {
                any = true;
                if let Some((pod, container, log)) = current.take() {
                    self.put(pod, container, 1, &log);
                }
                let of = |i| found.get(i).map_or("", |m| m.as_str());
                let pod = pods.iter().find(|pod| &*pod.key.namespace == of(3) && &*pod.key.name == of(4));
                if of(1) == "START" {
                    current = pod.and_then(|pod| Some((pod, pod.container(of(2))?, String::new())));
                }
            } else if let Some((.., log)) = &mut current {
                log.push_str(line);
                log.push('\n');
            }
        }
        if let Some((pod, container, log)) = current {
            self.put(pod, container, 1, &log);
        }
        any
    }

    fn prefixed(&mut self, text: &str, pods: &[PodFacts]) -> bool {
        let Some(prefix) = PREFIX.as_ref() else { return false };
        let mut logs: BTreeMap<(&str, &str), String> = BTreeMap::new();
        for found in text.lines().filter_map(|line| prefix.captures(line)) {
            let of = |i| found.get(i).map_or("", |m| m.as_str());
            let log = logs.entry((of(1), of(2))).or_default();
            log.push_str(of(3));
            log.push('\n');
        }
        for ((pod, container), log) in &logs {
            let pod = pods.iter().find(|known| &*known.key.name == *pod);
            if let Some((pod, container)) = pod.and_then(|pod| Some((pod, pod.container(container)?))) {
                self.put(pod, container, 1, log);
            }
        }
        !logs.is_empty()
    }
}

/// Matches the names in a path: `POD.CONTAINER.log`, `POD/CONTAINER.log`, or `NAMESPACE_POD_UID/CONTAINER/0.log` as on
/// a node.
fn by_path<'p>(path: &str, pods: &'p [PodFacts]) -> Option<(&'p PodFacts, &'p Container)> {
    let named = pods.iter().filter_map(|pod| Some((pod, after_name(path, &pod.key.name)?)));
    // The longer name wins: for `web-5d4f.log`, `web-5d4f` and not `web`. Of pods in two namespaces, the one whose
    // namespace is in the path wins.
    let (pod, rest) =
        named.max_by_key(|(pod, _)| (pod.key.name.len(), after_name(path, &pod.key.namespace).is_some()))?;
    let named = pod.containers.iter().filter(|c| after_name(rest, &c.name).is_some());
    let container =
        named.max_by_key(|c| c.name.len()).or_else(|| only(pod.containers.iter())).or_else(|| only(ended(pod)))?;
    Some((pod, container))
}

/// The rest of a path after a name, if the name is not part of a longer word.
fn after_name<'t>(path: &'t str, name: &str) -> Option<&'t str> {
    let within = |c: char| c.is_ascii_alphanumeric();
    path.match_indices(name)
        .find_map(|(at, _)| {
            let (before, rest) = (path.get(..at)?, path.get(at + name.len()..)?);
            (!before.ends_with(within) && !before.ends_with('-') && !rest.starts_with(within)).then_some(rest)
        })
        .or_else(|| {
            // `POD-CONTAINER.log`
            let at = path.rfind(name)?;
            let (before, rest) = (path.get(..at)?, path.get(at + name.len()..)?);
            (!before.ends_with(within) && !rest.starts_with(within)).then_some(rest)
        })
}

/// The only terminated container, if there is exactly one.
fn only_terminated(pods: &[PodFacts]) -> Option<(&PodFacts, &Container)> {
    only(pods.iter().flat_map(|pod| ended(pod).map(move |container| (pod, container))))
}

fn ended(pod: &PodFacts) -> impl Iterator<Item = &Container> {
    pod.containers.iter().filter(|c| c.last_end().is_some())
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

/// How closely a file matches the last termination: by its name, or by the number in the file names of a node.
fn fit(path: &str, container: &Container) -> u8 {
    let file = path.rsplit('/').next().unwrap_or(path);
    let number: Option<u32> = file.split('.').next().and_then(|stem| stem.parse().ok());
    let is_running = matches!(container.state, State::Running { .. });
    let expected = if is_running { container.restart_count.saturating_sub(1) } else { container.restart_count };
    match number {
        Some(number) if number == expected => 3,
        Some(_) => 0,
        None if file.contains("previous") => 2,
        None => 1,
    }
}

/// The line without its timestamp and without the stream name in files of a node.
fn without_time(line: &str) -> &str {
    const STREAMS: [&str; 4] = ["stdout F ", "stdout P ", "stderr F ", "stderr P "];
    match timed_line(line) {
        (Some(_), rest) => STREAMS.iter().find_map(|stream| rest.strip_prefix(stream)).unwrap_or(rest),
        (None, line) => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Dump;

    const PODS: &str = r"
kind: Pod
metadata: {name: web-5d4f-x1, namespace: shop, uid: a}
spec: {containers: [{name: app, image: a}, {name: app-proxy, image: b}]}
status: {containerStatuses: [{name: app, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}},
  {name: app-proxy, state: {running: {}}}]}
---
kind: Pod
metadata: {name: web, namespace: shop, uid: b}
spec: {containers: [{name: main, image: a}]}
";

    fn read(path: &str, text: &str) -> Logs {
        let mut dump = Dump::default();
        dump.read(PODS);
        let mut logs = Logs::default();
        assert!(logs.read(path, text, &dump.pods, true), "{path}");
        logs
    }

    fn log_text(logs: &Logs, pod: &str, container: &str) -> Option<String> {
        logs.of(&ObjectKey::new("shop", pod), container).map(|log| log.to_string())
    }

    #[test]
    fn log_is_matched_to_the_container_in_its_path() {
        for path in [
            "logs/web-5d4f-x1.app.log",
            "web-5d4f-x1_app_previous.log",
            "web-5d4f-x1-app.log",
            "shop/web-5d4f-x1/app.txt",
            "/var/log/pods/shop_web-5d4f-x1_a/app/3.log",
            "web-5d4f-x1.log",
            "app.log",
        ] {
            let logs = read(path, "boom\n");
            assert_eq!(log_text(&logs, "web-5d4f-x1", "app").as_deref(), Some("boom"), "{path}");
            assert_eq!(log_text(&logs, "web-5d4f-x1", "app-proxy"), None, "{path}");
        }
        assert_eq!(log_text(&read("web-5d4f-x1.app-proxy.log", "x"), "web-5d4f-x1", "app-proxy").as_deref(), Some("x"));
        assert_eq!(log_text(&read("web.log", "x"), "web", "main").as_deref(), Some("x"));
    }

    #[test]
    fn log_is_matched_by_its_section_headers_and_prefixes() {
        let dump = "==== START logs for container app of pod shop/web-5d4f-x1 ====\nboom\n==== END logs for container app of pod shop/web-5d4f-x1 ====\n\
                    ==== START logs for container main of pod shop/web ====\nfine\n==== END logs for container main of pod shop/web ====\n";
        let logs = read("shop/logs.txt", dump);
        assert_eq!(log_text(&logs, "web-5d4f-x1", "app").as_deref(), Some("boom"));
        assert_eq!(log_text(&logs, "web", "main").as_deref(), Some("fine"));
        let logs = read("all.txt", "[pod/web-5d4f-x1/app] one\n[pod/web/main] fine\n[pod/web-5d4f-x1/app] two\n");
        assert_eq!(log_text(&logs, "web-5d4f-x1", "app").as_deref(), Some("one\ntwo"));
    }

    #[test]
    fn log_of_the_last_termination_is_preferred_without_timestamps() {
        let mut dump = Dump::default();
        dump.read(PODS);
        let mut logs = Logs::default();
        for (number, text) in [(3, "last"), (2, "before"), (1, "first")] {
            let line = format!("2026-11-21T09:00:00.123456789Z stderr F {text}\n");
            assert!(logs.read(&format!("shop_web-5d4f-x1_a/app/{number}.log"), &line, &dump.pods, false));
        }
        assert_eq!(log_text(&logs, "web-5d4f-x1", "app").as_deref(), Some("last"));
    }

    #[test]
    fn ambiguous_log_is_not_matched() {
        let mut dump = Dump::default();
        dump.read(PODS);
        assert!(!Logs::default().read("other.log", "boom", &dump.pods, false), "one of many files in a folder");
        dump.read("kind: Pod\nmetadata: {name: other, uid: c}\nspec: {containers: [{name: c}]}\nstatus: {containerStatuses: [{name: c, state: {terminated: {exitCode: 1}}}]}\n");
        assert!(!Logs::default().read("boom.log", "boom", &dump.pods, true), "two containers have ended");
    }
}
