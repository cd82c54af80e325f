//! Determines from a command why it exits with code 0 although the container should keep running.

use crate::case::target::shell_word;
use crate::facts::{Container, PodFacts, VolumeSource};
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

/// The command with the server in the foreground: with the option for it, or without the last `&` of its script.
pub(crate) fn in_foreground(container: &Container) -> Option<Vec<String>> {
    let mut words = container.command.clone();
    let program = base_name(words.first()?).to_owned();
    let is_shell = matches!(&*program, "sh" | "bash" | "ash" | "dash" | "zsh");
    let script = words.iter().skip(1).position(|word| !word.starts_with('-')).map(|place| place + 1);
    match ends(container)? {
        Ends::Background => {
            let script = words.get_mut(script.filter(|_| is_shell)?)?;
            let server = script.trim_end().strip_suffix('&')?.trim_end();
            // Another server in the background would still end with the script.
            let has_more = server.contains('&') || server.contains("nohup ") || server.contains("setsid ");
            *script = (!has_more).then(|| server.to_owned())?;
        }
        Ends::Daemon { program: name, .. } if is_shell => {
            let options: Vec<_> = options(name, container).map(|option| shell_word(option)).collect();
            let script = words.get_mut(script?)?;
            let is_word = |word: &&str| base_name(word) == name;
            let word = script.split(|c: char| c.is_whitespace() || ";&|".contains(c)).find(is_word)?.to_owned();
            *script = script.replacen(&word, &format!("{word} {}", options.join(" ")), 1);
        }
        Ends::Daemon { program: name, .. } if program == name => {
            let options = options(name, container).map(str::to_owned);
            words.splice(1..1, options);
        }
        _ => return None,
    }
    Some(words)
}

/// The options that keep a server in the foreground.
fn options(server: &str, container: &Container) -> impl Iterator<Item = &'static str> + use<> {
    let options: &[&str] = match server {
        "nginx" => &["-g", "daemon off;"],
        "httpd" if !base_name(&container.image).starts_with("httpd") => &["-f"],
        "php-fpm" => &["-F"],
        "sshd" => &["-D"],
        _ => &["-D", "FOREGROUND"],
    };
    options.iter().copied()
}

/// The volume of a ConfigMap or Secret with a file that the command runs.
pub(crate) fn script_volume<'a>(pod: &'a PodFacts, container: &'a Container) -> Option<&'a str> {
    let words = container.command.iter().chain(&container.args).flat_map(|word| word.split([' ', ';', '&', '|', '\n']));
    let mount = words.filter(|word| word.starts_with('/')).find_map(|path| container.mount_over(path))?;
    let has_keys =
        |source: &VolumeSource| matches!(source, VolumeSource::ConfigMap { .. } | VolumeSource::Secret { .. });
    pod.volume_source(&mount.volume).filter(|source| has_keys(source)).map(|_| mount.volume.as_str())
}

/// Command and arguments as one line.
pub(crate) fn shown(container: &Container) -> Option<String> {
    let words: Vec<&str> = container.command.iter().chain(&container.args).map(String::as_str).collect();
    (!words.is_empty()).then(|| text::line(&words.join(" "), 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scenario;

    fn foreground(image: &str, command: &str) -> Option<Vec<String>> {
        let scenario = Scenario::from_yaml(&format!(
            "kind: Pod\nmetadata: {{name: a, namespace: b}}\nspec: {{containers: [{{name: a, image: '{image}', command: {command}}}]}}"
        ));
        in_foreground(&scenario.pods[0].containers[0])
    }

    #[test]
    fn servers_are_kept_in_the_foreground() {
        for (image, command, expected) in [
            ("busybox:1.36", r#"[httpd, -p, "80"]"#, Some(vec!["httpd", "-f", "-p", "80"])),
            ("httpd:2.4", "[httpd]", Some(vec!["httpd", "-D", "FOREGROUND"])),
            ("nginx:1.27", "[nginx]", Some(vec!["nginx", "-g", "daemon off;"])),
            ("a:1", r#"[sh, -c, "cd /a && nginx"]"#, Some(vec!["sh", "-c", "cd /a && nginx -g 'daemon off;'"])),
            ("a:1", r#"[sh, -c, "httpd -f -p 80 &"]"#, Some(vec!["sh", "-c", "httpd -f -p 80"])),
            ("a:1", r#"[sh, -c, "a & b &"]"#, None),
            ("a:1", "[sh, -c, 'echo done']", None),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(foreground(image, command), expected, "{command}");
        }
    }
}
