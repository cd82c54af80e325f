//! The configuration file of `shindan run`, and the source of each setting.
//!
//! Keys are the names of flags, and values go through the parsers of the flags. The file becomes arguments for all
//! settings that no flag or variable sets.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use serde_json::{Map, Value};
use shindan_core::message::yaml;

use super::RunArgs;

/// API version and kind of the file, in the style of Kubernetes components.
pub const API_VERSION: &str = "config.shindan.dev/v1alpha1";
pub const KIND: &str = "ShindanConfiguration";

/// Maximum size of the file in bytes.
const MOST: u64 = 1 << 20;

/// A setting that differs from its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    pub value: String,
    pub from: &'static str,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={} ({})", self.key, self.value, self.from)
    }
}

/// The flags of `shindan run`, the only list of settings.
pub fn table() -> Command {
    RunArgs::augment_args(Command::new("run"))
}

/// The key of a flag: `neverReady` for `--never-ready`. `None` for flags that are not settings of the file.
pub fn key_of(arg: &Arg) -> Option<String> {
    let long = arg.get_long().filter(|long| !matches!(*long, "config" | "help" | "version"))?;
    let mut words = long.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    Some(words.fold(first, |key, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        key + &head.to_ascii_uppercase() + tail
    }))
}

/// The arguments from the file that are added to those of `given`. The error names the file.
pub fn arguments(given: &ArgMatches) -> Result<Vec<OsString>, String> {
    let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(Vec::new()) };
    let text = read(path).map_err(|why| format!("cannot read the file of --config, {}: {why}", path.display()))?;
    let entries = parse(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    let table = table();
    let mut added = Vec::new();
    for (key, value) in &entries {
        let place = || format!("{}{}: {key}", path.display(), line(&text, key));
        let Some((arg, words)) = arguments_for(&table, key, value).map_err(|why| format!("{}: {why}", place()))? else {
            continue;
        };
        // Flags and variables have precedence. The file is validated in any case.
        if matches!(given.value_source(arg.get_id().as_str()), None | Some(ValueSource::DefaultValue)) {
            added.extend(words.into_iter().map(OsString::from));
        }
    }
    Ok(added)
}

fn read(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let mut text = Vec::new();
    file.take(MOST + 1).read_to_end(&mut text).map_err(|e| e.to_string())?;
    if text.len() as u64 > MOST {
        return Err("it is larger than 1 MiB".to_owned());
    }
    String::from_utf8(text).map_err(|_| "it is not text (UTF-8)".to_owned())
}

fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let value: Value = serde_saphyr::from_str(text).map_err(|error| {
        let place = |line, column| format!("line {line}, column {column}");
        format!("is not YAML: {}", yaml::explained(&error, place))
    })?;
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(entries) => Ok(entries),
        _ => Err("must contain keys and values, such as `neverReady: 10m`".to_owned()),
    }
}

/// The line of a top-level key, as `:3`.
fn line(text: &str, key: &str) -> String {
    let is_it = |line: &str| {
        let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    };
    text.lines().position(is_it).map(|at| format!(":{}", at + 1)).unwrap_or_default()
}

/// The arguments for an entry. `None` for `apiVersion` and `kind`.
fn arguments_for<'t>(table: &'t Command, key: &str, value: &Value) -> Result<Option<(&'t Arg, Vec<String>)>, String> {
    for (known, must) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        if key == known {
            return if value == must { Ok(None) } else { Err(format!("must be {must}")) };
        }
    }
    let arg = table.get_arguments().find(|arg| key_of(arg).as_deref() == Some(key));
    let arg = arg.ok_or_else(|| unknown(table, key))?;
    let words = words(arg, value)?;
    let alone = Command::new("file").no_binary_name(true).disable_help_flag(true).arg(arg.clone().env(None));
    alone.try_get_matches_from(&words).map_err(|error| why(&error))?;
    Ok(Some((arg, words)))
}

fn words(arg: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let flag = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return match value {
            Value::Bool(true) => Ok(vec![flag]),
            Value::Bool(false) | Value::Null => Ok(Vec::new()),
            _ => Err("must be true or false".to_owned()),
        };
    }
    let takes_pairs = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains('=')));
    let values: Vec<String> = match value {
        // Null means the default.
        Value::Null => Vec::new(),
        Value::Array(all) if matches!(arg.get_action(), ArgAction::Append) => {
            all.iter().map(scalar).collect::<Result<_, _>>()?
        }
        Value::Object(pairs) if takes_pairs => {
            let pair = |(name, value)| Ok::<_, String>(format!("{name}={}", scalar(value)?));
            pairs.iter().map(pair).collect::<Result<_, _>>()?
        }
        one => vec![scalar(one)?],
    };
    Ok(values.into_iter().map(|value| format!("{flag}={value}")).collect())
}

fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(is) => Ok(is.to_string()),
        Value::Array(_) => Err("takes one value, not a list".to_owned()),
        Value::Null | Value::Object(_) => Err("takes a value, not a mapping".to_owned()),
    }
}

/// The reason for which a flag's parser rejects a value.
fn why(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => Some(one.clone()),
        Some(ContextValue::Strings(all)) => Some(all.join(", ")),
        _ => None,
    };
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let reason = error.source().map(ToString::to_string);
    let reason = reason.or_else(|| Some(format!("must be one of {}", text(ContextKind::ValidValue)?)));
    match reason {
        Some(reason) => format!("invalid value '{value}': {reason}"),
        None => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

/// The error for an unknown key, with the most similar key.
fn unknown(table: &Command, key: &str) -> String {
    let flag: String = key.chars().fold("--".to_owned(), |flag, c| match c {
        'A'..='Z' => flag + "-" + &c.to_ascii_lowercase().to_string(),
        c => flag + &c.to_string(),
    });
    let long = flag.trim_start_matches('-');
    let is_its_flag =
        |arg: &&Arg| arg.get_long() == Some(long) || arg.get_all_aliases().is_some_and(|all| all.contains(&long));
    let meant = table.get_arguments().find(is_its_flag).or_else(|| {
        let error = table.clone().try_get_matches_from(["run", flag.as_str()]).err()?;
        let meant = match error.get(ContextKind::SuggestedArg)? {
            ContextValue::String(one) => one.clone(),
            ContextValue::Strings(all) => all.first()?.clone(),
            _ => return None,
        };
        table.get_arguments().find(|arg| arg.get_long() == Some(meant.trim_start_matches('-')))
    });
    match meant.and_then(key_of) {
        Some(meant) => format!("there is no such setting; did you mean {meant}?"),
        None => "there is no such setting; docs/configuration.md lists them".to_owned(),
    }
}

/// The settings that differ from their defaults. `given` are the arguments without the file, `taken` those with it.
pub fn settings(given: &ArgMatches, taken: &ArgMatches) -> Vec<Setting> {
    let changed = |arg: &Arg| {
        let (id, key) = (arg.get_id().as_str(), key_of(arg)?);
        let from = match (given.value_source(id), taken.value_source(id)) {
            (Some(ValueSource::CommandLine), _) => "flag",
            (Some(ValueSource::EnvVariable), _) => "environment",
            (_, Some(ValueSource::CommandLine)) => "file",
            _ => return None,
        };
        let raw: Vec<_> = taken.get_raw(id).into_iter().flatten().map(|one| one.to_string_lossy()).collect();
        let default: Vec<_> = arg.get_default_values().iter().map(|one| one.to_string_lossy()).collect();
        // A switch that is set has no value.
        let value = if raw.is_empty() { "true".to_owned() } else { raw.join(",") };
        (raw != default).then_some(Setting { key, value, from })
    };
    table().get_arguments().filter_map(changed).collect()
}

/// Logs the settings once, at the start.
pub fn log_settings(args: &RunArgs) {
    let changed: Vec<_> = args.settings.iter().map(ToString::to_string).collect();
    let changed = if changed.is_empty() { "as by default".to_owned() } else { changed.join(", ") };
    tracing::info!("settings: {changed}");
}
