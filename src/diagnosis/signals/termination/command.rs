//! Why a command ends well when it should not end: read off the command itself.

use crate::diagnosis::language::{phrase, say};
use crate::diagnosis::{Language, text};
use crate::facts::Container;

/// Images whose default command is a shell.
const SHELL_IMAGES: [&str; 11] = [
    "alpine",
    "amazonlinux",
    "almalinux",
    "archlinux",
    "bash",
    "busybox",
    "centos",
    "debian",
    "fedora",
    "rockylinux",
    "ubuntu",
];

/// What a command does that makes it end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ends {
    /// `cmd &`, `nohup cmd`, `setsid cmd`.
    Background,
    /// A server that makes itself a daemon.
    Daemon { program: &'static str, foreground: &'static str },
    /// `service x start`, `systemctl start x`, `/etc/init.d/x start`.
    InitScript,
    /// A shell with nothing to do and no terminal.
    IdleShell,
    /// The image's own command, a shell.
    DefaultShell,
    /// A script that comes to its end.
    Script,
}

fn ends(container: &Container) -> Option<Ends> {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    if words.is_empty() {
        return is_shell_image(&container.image).then_some(Ends::DefaultShell);
    }
    let all = words.join(" ");
    let program = base_name(words[0]);
    let is_shell = matches!(program, "sh" | "bash" | "ash" | "dash" | "zsh");
    if is_shell && (words.len() == 1 || (words.len() == 2 && matches!(words[1], "-i" | "-l"))) {
        return Some(Ends::IdleShell);
    }
    let script = if is_shell { words.iter().skip(1).find(|w| !w.starts_with('-')).copied().unwrap_or("") } else { "" };
    let last = script.trim_end().trim_end_matches(';').trim_end();
    if (last.ends_with('&') && !last.ends_with("&&")) || all.contains("nohup ") || all.contains("setsid ") {
        return Some(Ends::Background);
    }
    let does = |phrase: &str| all.contains(phrase);
    if (does("service ") || does("systemctl ") || does("/etc/init.d/")) && does("start") {
        return Some(Ends::InitScript);
    }
    let runs = |name: &str| {
        program == name || script.split(|c: char| c.is_whitespace() || ";&|".contains(c)).any(|w| base_name(w) == name)
    };
    let daemons: [(&'static str, &'static str, &[&str]); 6] = [
        ("nginx", "nginx -g 'daemon off;'", &["daemon off"]),
        ("apachectl", "apachectl -D FOREGROUND", &["FOREGROUND", "-X"]),
        ("apache2ctl", "apache2ctl -D FOREGROUND", &["FOREGROUND", "-X"]),
        ("httpd", "httpd -f` (busybox) / `httpd -D FOREGROUND", &["-f", "FOREGROUND", "-X"]),
        ("php-fpm", "php-fpm -F", &["-F", "--nodaemonize"]),
        ("sshd", "sshd -D", &["-D", "-d"]),
    ];
    for (name, foreground, signs) in daemons {
        if runs(name) && !signs.iter().any(|sign| all.contains(sign)) {
            return Some(Ends::Daemon { program: name, foreground });
        }
    }
    if does("--daemon") || does("daemonize yes") {
        return Some(Ends::Background);
    }
    (!script.is_empty()).then_some(Ends::Script)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `docker.io/library/ubuntu:24.04` is one.
fn is_shell_image(image: &str) -> bool {
    let name = base_name(image);
    let name = name.split(['@', ':']).next().unwrap_or(name);
    SHELL_IMAGES.contains(&name)
}

/// In few words, for the summary.
pub(crate) fn why_it_ended(language: Language, container: &Container) -> Option<String> {
    Some(match ends(container)? {
        Ends::Background => phrase!(language, "its command goes to the background").into(),
        Ends::Daemon { program, .. } => say!(language, "{program} makes itself a daemon", program),
        Ends::InitScript => phrase!(language, "its command only starts a service in the background").into(),
        Ends::IdleShell => phrase!(language, "a shell without a terminal ends at once").into(),
        Ends::DefaultShell => phrase!(language, "no command is set and the image's own is a shell").into(),
        Ends::Script => phrase!(language, "its script comes to its end").into(),
    })
}

/// What to change.
pub(crate) fn advice(language: Language, container: &Container) -> Option<String> {
    Some(match ends(container)? {
        Ends::Background => {
            phrase!(language, "The command sends the server to the background and ends. Drop the `&` (or nohup, setsid, --daemon), so that it stays in the foreground.")
                .into()
        }
        Ends::Daemon { program, foreground } => {
            say!(language, "{program} goes to the background by default. Start it as `{foreground}`.", program, foreground)
        }
        Ends::InitScript => {
            phrase!(language, "A container has no init system: start the server's own program in the foreground, not by service, systemctl or /etc/init.d.")
                .into()
        }
        Ends::IdleShell | Ends::DefaultShell => {
            phrase!(language, "Give the container a command that stays. A shell without a terminal has nothing to read and ends: set command, or `sleep infinity` for a pod to work in.")
                .into()
        }
        Ends::Script => phrase!(language, "The script given to the shell comes to its end. Let its last line be the server, with `exec`.").into(),
    })
}

/// Command and arguments as one line.
pub(crate) fn shown(container: &Container) -> Option<String> {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    (!words.is_empty()).then(|| text::line(&words.join(" "), 200))
}
