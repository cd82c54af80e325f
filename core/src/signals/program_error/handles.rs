//! Kernel limits on open handles.

/// An exhausted limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handles {
    /// Files and connections of one process (RLIMIT_NOFILE).
    Files,
    /// inotify queues of one user on the whole node. Each program that watches files needs one.
    InotifyInstances,
    /// Watched files and directories of one user on the whole node.
    InotifyWatches,
}

/// Words that indicate a program that watches files.
const WATCHING: [&str; 5] = ["inotify", "fsnotify", "watch", "watcher", "watchers"];

/// Errors that count together with words of [`WATCHING`]: that of inotify_add_watch(2), and the messages of Node and
/// JetBrains tools.
const NO_MORE_WATCHES: [&str; 5] =
    ["enospc", "no space left on device", "number of file watchers", "file watch limit", "max_user_watches"];

/// The exhausted limit that the line reports. Both errors have other meanings too: a full disk, or too many open files.
pub(super) fn met(line: &str) -> Option<Handles> {
    let line = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    // Only whole words outside of paths, as a path may contain such a word.
    let outside_paths = line.split_whitespace().filter_map(|word| word.split('/').next());
    let mut words = outside_paths.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
    // Watching a connection is not watching files.
    let watches = words.any(|word| WATCHING.contains(&word)) && !has(&["socket", "dial ", "accept"]);
    if watches && has(&NO_MORE_WATCHES) {
        return Some(Handles::InotifyWatches);
    }
    let too_many = has(&["too many open files", "emfile", "enfile"]);
    // Promtail calls its watcher a target manager.
    let watches = watches || line.contains("file target manager");
    // .NET reports both limits in one sentence.
    if (watches && too_many) || line.contains("inotify instances") {
        return Some(Handles::InotifyInstances);
    }
    too_many.then_some(Handles::Files)
}

impl Handles {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "openFiles",
            Self::InotifyInstances => "inotifyInstances",
            Self::InotifyWatches => "inotifyWatches",
        }
    }

    /// The sysctl of the limit, if it applies to the whole node.
    pub(super) fn sysctl(self) -> Option<&'static str> {
        match self {
            Self::Files => None,
            Self::InotifyInstances => Some("fs.inotify.max_user_instances"),
            Self::InotifyWatches => Some("fs.inotify.max_user_watches"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Handles::{Files, InotifyInstances, InotifyWatches};
    use super::met;

    #[test]
    fn limit_is_derived_from_the_program_that_reached_it() {
        for (line, expected) in [
            ("http: Accept error: accept tcp [::]:8080: accept4: too many open files", Some(Files)),
            ("OSError: [Errno 24] Too many open files: '/data/watchlist.csv'", Some(Files)),
            ("java.net.SocketException: Too many open files", Some(Files)),
            ("Error: EMFILE: too many open files, open '/app/index.js'", Some(Files)),
            ("fatal: open /etc/watch.d/rules.yaml: too many open files", Some(Files)),
            ("open /proc/sys/fs/file-max: too many open files in system", Some(Files)),
            ("Failed to watch *v1.Pod: dial tcp 10.96.0.1:443: socket: too many open files", Some(Files)),
            ("Error: EMFILE: too many open files, watch '/app'", Some(InotifyInstances)),
            ("failed to create fsnotify watcher: too many open files", Some(InotifyInstances)),
            ("inotify_init() failed (24: Too many open files)", Some(InotifyInstances)),
            (
                "System.IO.IOException: The configured user limit (128) on the number of inotify instances has been reached, or the per-process limit on the number of open file descriptors has been reached.",
                Some(InotifyInstances),
            ),
            ("Error: ENOSPC: System limit for number of file watchers reached, watch '/app'", Some(InotifyWatches)),
            ("inotify_add_watch(\"/etc/nginx\"): no space left on device", Some(InotifyWatches)),
            ("Error: OS file watch limit reached. about watching \"/app/src\"", Some(InotifyWatches)),
            ("write /data/log: no space left on device", None),
            ("FATAL:  could not create semaphores: No space left on device", None),
            ("failed to watch *v1.Pod: connection refused", None),
        ] {
            assert_eq!(met(line), expected, "{line}");
        }
    }
}
