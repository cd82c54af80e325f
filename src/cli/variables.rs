//! Settings from environment variables.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};

use super::Cli;

/// Prefix of our variables.
const OURS: &str = "SHINDAN_";
/// Maximum edit distance of a misspelled name.
const OFF_BY: usize = 2;

/// Variables whose names are similar to that of a setting, and which are therefore probably misspelled. Other variables
/// with our prefix are ignored: Kubernetes sets some for a Service named shindan.
pub(super) fn misspelt() -> Vec<String> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let set: Vec<String> = set.filter(|name| name.starts_with(OURS)).collect();
    if set.is_empty() {
        return Vec::new();
    }
    let command = Cli::command();
    let all = command.get_subcommands().flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_env);
    let known: Vec<String> = all.map(|name| name.to_string_lossy().into_owned()).collect();
    let mut notes: Vec<String> = set.iter().filter_map(|name| note(name, &known)).collect();
    notes.sort_unstable();
    notes
}

fn note(name: &str, known: &[String]) -> Option<String> {
    if !name.starts_with(OURS) || known.iter().any(|known| known == name) {
        return None;
    }
    let meant = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name))?;
    let is_near = strsim::damerau_levenshtein(meant, name) <= OFF_BY;
    is_near.then(|| format!("the variable {name} is unknown and ignored; did you mean {meant}?"))
}

/// Adds the variable to an error about its value. clap names only the flag, which the user has not given.
pub(super) fn with_its_variable(error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return error };
    let flag = named.split(' ').next().unwrap_or_default();
    let command = Cli::command();
    let of_run = command.find_subcommand("run").into_iter().flat_map(clap::Command::get_arguments);
    let is_it = |arg: &&clap::Arg| arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
    let variable = of_run.filter(is_it).find_map(clap::Arg::get_env).filter(|name| std::env::var_os(name).is_some());
    let is_given = args.iter().any(|arg| arg.to_string_lossy().starts_with(flag));
    let Some(variable) = variable.filter(|_| !is_given && args.get(1).is_some_and(|command| command == "run")) else {
        return error;
    };
    let named = format!("'{named}'");
    let explained = format!("{named}, which the variable {} sets", variable.to_string_lossy());
    let text = error.to_string().replacen(&named, &explained, 1);
    clap::Error::raw(error.kind(), text.trim_start_matches("error: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::note;

    #[test]
    fn misspelled_variables_are_found_and_foreign_ones_ignored() {
        let known = ["SHINDAN_RETENTION".to_owned(), "SHINDAN_NODES".to_owned(), "SHINDAN_NAMESPACES".to_owned()];
        let meant = |name: &str| note(name, &known).and_then(|note| note.split(' ').next_back().map(str::to_owned));
        assert_eq!(meant("SHINDAN_RETENSION").as_deref(), Some("SHINDAN_RETENTION?"));
        assert_eq!(meant("SHINDAN_NAMESPACE").as_deref(), Some("SHINDAN_NAMESPACES?"));
        for name in
            ["SHINDAN_NODES", "SHINDAN_PORT", "SHINDAN_SERVICE_HOST", "SHINDAN_PORT_8080_TCP", "RETENTION", "HOME"]
        {
            assert_eq!(meant(name), None, "{name}");
        }
    }
}
