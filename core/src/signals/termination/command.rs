//! Determines from a command why it exits with code 0 although the container should keep running.

use crate::facts::Container;
use crate::message::text;

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

/// Why a command exits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It starts a background process: `cmd &`, `nohup cmd`, `setsid cmd`.
    Background,
    /// A server that daemonizes.
    Daemon { program: &'static str, foreground: &'static str },
    /// It starts a service: `service x start`, `systemctl start x`, `/etc/init.d/x start`.
    InitScript,
    /// A shell without a command and without a terminal.
    IdleShell,
    /// The default command of the image is a shell.
    DefaultShell,
    /// A script that completes.
    Script,
}

pub(crate) fn ends(container: &Container) -> Option<Ends> {
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

/// Whether an image is a shell image, such as `docker.io/library/ubuntu:24.04`.
fn is_shell_image(image: &str) -> bool {
    let name = base_name(image);
    let name = name.split(['@', ':']).next().unwrap_or(name);
    SHELL_IMAGES.contains(&name)
}

impl Ends {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Daemon { .. } => "daemon",
            Self::InitScript => "initScript",
            Self::IdleShell => "idleShell",
            Self::DefaultShell => "defaultShell",
            Self::Script => "script",
        }
    }
}

/// The daemonizing server of the command, and the command that keeps it in the foreground; else empty strings.
pub(crate) fn daemon(container: &Container) -> (&'static str, &'static str) {
    match ends(container) {
        Some(Ends::Daemon { program, foreground }) => (program, foreground),
        _ => ("", ""),
    }
}

/// Command and arguments as one line.
pub(crate) fn shown(container: &Container) -> Option<String> {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    (!words.is_empty()).then(|| text::line(&words.join(" "), 200))
}
