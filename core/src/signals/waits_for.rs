//! Determines from a container's command what it waits for.

use std::fmt;

use crate::facts::Container;
use crate::message::text;

/// How the arguments of a tool name the target.
#[derive(Debug, Clone, Copy)]
enum Names {
    /// The first non-option argument: `nslookup db`.
    First,
    /// The first two non-option arguments, the second a port: `nc -z db 5432`.
    HostAndPort,
    /// The value of an option: `pg_isready -h db`.
    Option(&'static [&'static str]),
    /// The first argument that is an object, if the tool waits for one: `kubectl wait job/migrate`.
    Object,
}

/// Tools whose only use in an init container is to check a dependency.
const TOOLS: [(&str, Names); 19] = [
    ("nslookup", Names::First),
    ("host", Names::First),
    ("dig", Names::First),
    ("ping", Names::First),
    ("curl", Names::First),
    ("wget", Names::First),
    ("nc", Names::HostAndPort),
    ("ncat", Names::HostAndPort),
    ("telnet", Names::HostAndPort),
    ("wait-for-it", Names::First),
    ("wait-for-it.sh", Names::First),
    ("wait-for", Names::First),
    ("pg_isready", Names::Option(&["-h", "--host", "-d", "--dbname"])),
    ("mysqladmin", Names::Option(&["-h", "--host"])),
    ("mysql", Names::Option(&["-h", "--host"])),
    ("psql", Names::Option(&["-h", "--host"])),
    ("redis-cli", Names::Option(&["-h", "--host", "-u"])),
    ("dockerize", Names::Option(&["-wait"])),
    ("kubectl", Names::Object),
];

/// Options whose value is the next word, so that it is not mistaken for a name: `nc -w 2 db 5432`, `ping -c 1 db`.
const WITH_VALUE: [&str; 14] =
    ["-w", "-c", "-W", "-i", "-t", "-T", "-o", "-O", "-m", "-H", "-X", "--max-time", "--connect-timeout", "--timeout"];

/// The target that a command polls, and the tool it uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WaitsFor {
    pub(super) what: String,
    tool: &'static str,
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.tool)
    }
}

impl WaitsFor {
    /// Namespace and name of the target, if it must be a Service: `db`, `http://db:80/x`, `db.shop.svc.cluster.local`.
    pub(super) fn service<'a>(&'a self, own_namespace: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = self.what.split_once("://").map_or(self.what.as_str(), |(_, rest)| rest);
        let host = rest.split(['/', ':']).next().filter(|_| self.tool != "kubectl")?;
        let is_label = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        let mut labels = host.split('.');
        let name = labels.next().filter(|name| is_label(name) && !name.starts_with(|c: char| c.is_ascii_digit()))?;
        match (labels.next(), labels.next()) {
            (None, _) if name != "localhost" => Some((own_namespace, name)),
            (Some(namespace), Some("svc")) if is_label(namespace) => Some((namespace, name)),
            _ => None,
        }
    }
}

/// The component of the NVIDIA GPU operator that an init container waits for: `driver`, `container toolkit`, `CUDA
/// validation` or `device plugin`. Such a container polls a file, or runs the validator of the operator.
/// Source: gpu-operator assets and cmd/nvidia-validator.
pub(super) fn gpu_component(container: &Container) -> Option<&'static str> {
    const FILES: &str = "/run/nvidia/validations/";
    const COMPONENTS: [(&str, &str); 4] = [
        ("driver", "driver"),
        ("toolkit", "container toolkit"),
        ("cuda", "CUDA validation"),
        ("plugin", "device plugin"),
    ];
    let line = script(container);
    let of_file = line.split_once(FILES).map(|(_, file)| file);
    let of_validator = || line.contains("nvidia-validator").then_some(&*container.name);
    let word = of_file.or_else(of_validator)?;
    COMPONENTS.iter().find(|(start, _)| word.trim_start_matches('.').starts_with(start)).map(|(_, name)| *name)
}

/// The path that the command polls: `until [ -f /config/ready ]; do sleep 1; done`.
pub(super) fn file(container: &Container) -> Option<String> {
    let line = script(container);
    let condition = ["until ", "while "].iter().find_map(|word| line.split_once(word))?.1.split(';').next()?;
    let mut words = condition.split_whitespace().map(unquoted);
    words.find(|word| matches!(*word, "-f" | "-e" | "-s" | "-d" | "-S"))?;
    let path = words.next().filter(|path| path.starts_with('/'))?;
    Some(text::line(path, 80))
}

fn script(container: &Container) -> String {
    container.command.iter().chain(&container.args).map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Parses the command; `None` if it contains no certain target.
pub(super) fn read(container: &Container) -> Option<WaitsFor> {
    let line = script(container);
    let mut commands = line.split([';', '|', '&', '\n', '(', ')', '`']);
    commands.find_map(|command| parse_command(&command.split_whitespace().collect::<Vec<_>>()))
}

fn parse_command(words: &[&str]) -> Option<WaitsFor> {
    let (at, tool, names) = words.iter().enumerate().find_map(|(at, word)| {
        let program = unquoted(word).rsplit('/').next()?;
        TOOLS.iter().find(|(tool, _)| *tool == program).map(|(tool, names)| (at, *tool, *names))
    })?;
    let arguments = words.get(at + 1..)?;
    let what = match names {
        Names::First => plain(arguments).next()?.to_owned(),
        Names::HostAndPort => plain(arguments).take(2).collect::<Vec<_>>().join(":"),
        Names::Option(options) => value_of(arguments, options)?.to_owned(),
        Names::Object if arguments.contains(&"wait") || arguments.contains(&"status") => {
            plain(arguments).find(|word| word.contains('/'))?.to_owned()
        }
        Names::Object => return None,
    };
    let what = text::line(&what, 60);
    (!what.is_empty() && !what.starts_with(['>', '<', '/'])).then_some(WaitsFor { what, tool })
}

/// The arguments that are neither options nor values of options.
fn plain<'a>(arguments: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut after_option = false;
    arguments.iter().map(|word| unquoted(word)).filter(move |word| {
        let is_value = std::mem::replace(&mut after_option, WITH_VALUE.contains(word));
        !is_value && !word.is_empty() && !word.starts_with(['-', '>', '<', '2', '&'])
    })
}

/// The value of the first of these options: `-h db`, `-hdb`, `--host=db`.
fn value_of<'a>(arguments: &'a [&'a str], options: &[&str]) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, word)| {
        let word = unquoted(word);
        options.iter().find_map(|option| {
            let rest = word.strip_prefix(option)?;
            let value = if rest.is_empty() { unquoted(arguments.get(at + 1)?) } else { rest.trim_start_matches('=') };
            (!value.is_empty() && (rest.is_empty() || rest.starts_with('=') || !option.starts_with("--")))
                .then_some(value)
        })
    })
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', '$', '{', '}', '[', ']', '!']).trim_end_matches(">/dev/null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scenario;

    fn of(script: &str) -> Option<WaitsFor> {
        let script = serde_json::Value::from(script);
        let text = format!(
            "kind: Pod\nmetadata: {{name: p}}\nspec: {{initContainers: [{{name: i, command: [sh, -c, {script}]}}], containers: [{{name: a}}]}}\nstatus: {{phase: Pending}}\n"
        );
        read(&Scenario::from_yaml(&text).pods[0].containers[0])
    }

    #[test]
    fn target_of_a_polling_loop_is_parsed() {
        for (script, expected) in [
            ("until nslookup database; do sleep 2; done", "database (nslookup)"),
            ("while ! nc -z -w 2 db 5432; do sleep 1; done", "db:5432 (nc)"),
            (
                "until nc -vz db.shop.svc 5432 >/dev/null; do echo waiting for db; sleep 2; done",
                "db.shop.svc:5432 (nc)",
            ),
            ("until pg_isready -h postgres -p 5432 -U app; do sleep 1; done", "postgres (pg_isready)"),
            ("until mysqladmin ping --host=mysql --silent; do sleep 1; done", "mysql (mysqladmin)"),
            (
                "until curl -sf -o /dev/null http://auth:8080/healthz; do sleep 1; done",
                "http://auth:8080/healthz (curl)",
            ),
            (
                "until [ \"$(curl -s --max-time 2 http://auth/ready)\" = ok ]; do sleep 1; done",
                "http://auth/ready (curl)",
            ),
            ("/scripts/wait-for-it.sh rabbit:5672 -t 0", "rabbit:5672 (wait-for-it.sh)"),
            ("dockerize -wait tcp://db:5432 -timeout 600s", "tcp://db:5432 (dockerize)"),
            ("kubectl -n shop wait --for=condition=complete job/migrate --timeout=-1s", "job/migrate (kubectl)"),
            ("kubectl rollout status deployment/db", "deployment/db (kubectl)"),
            ("until redis-cli -h cache ping | grep PONG; do sleep 1; done", "cache (redis-cli)"),
        ] {
            assert_eq!(of(script).map(|target| target.to_string()).as_deref(), Some(expected), "{script}");
        }
    }

    #[test]
    fn service_is_recognized_by_its_name() {
        let service = |what: &str| {
            let target = WaitsFor { what: what.to_owned(), tool: "nc" };
            target.service("shop").map(|(namespace, name)| format!("{namespace}/{name}"))
        };
        assert_eq!(service("db:5432").as_deref(), Some("shop/db"));
        assert_eq!(service("http://auth:8080/healthz").as_deref(), Some("shop/auth"));
        assert_eq!(service("db.data.svc.cluster.local").as_deref(), Some("data/db"));
        for elsewhere in ["db.example.com:5432", "10.0.0.1:80", "localhost:15021", "DB_HOST", "${DB}:1", ""] {
            assert_eq!(service(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn ambiguous_commands_have_no_target() {
        for script in ["sleep infinity", "python migrate.py", "cp -r /src /dst", "kubectl apply -f x.yaml", "curl", ""]
        {
            assert_eq!(of(script), None, "{script}");
        }
    }
}
