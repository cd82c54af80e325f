//! Reads cause files and rules, and reports every error with its position.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::check::{self, Checked};
use super::compiled::Additions;
use super::file::{CauseFile, ParseError};
use super::problem::{Fault, Located, Problem};
use crate::api::{API_VERSION, CauseException, RuleTest};

/// Most bytes of a file.
const FILE_MAX: usize = 512 * 1024;

/// A file on disk: a cause file, or a `DiagnosisRule`.
#[derive(Debug, Clone)]
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

/// What files add to the catalogue.
#[derive(Debug, Default)]
pub struct Read {
    /// Without what has an error.
    pub additions: Additions,
    /// The tests of each rule.
    pub tests: Vec<FileTests>,
    /// In the order of the files.
    pub errors: Vec<Located>,
}

/// The tests of a rule in a file.
#[derive(Debug)]
pub struct FileTests {
    pub path: String,
    /// The causes that the rule has or restricts.
    pub own: BTreeSet<String>,
    pub tests: Vec<RuleTest>,
}

/// Reads files. They are compiled together with the embedded causes, which they can reference. A cause file can replace one of
/// them; the causes of a rule have names with a prefix.
pub fn read(sources: &[SourceFile]) -> Read {
    let mut errors = Vec::new();
    let mut files: Vec<Parsed<'_>> = Vec::new();
    for source in sources {
        match Parsed::of(source) {
            Ok(file) => files.push(file),
            Err(error) => errors.push(error),
        }
    }
    let mut causes: Vec<Arc<CauseFile>> = Vec::new();
    // The file of each cause, and its path there.
    let mut places: Vec<(&Parsed<'_>, String)> = Vec::new();
    for file in &files {
        for (at, cause) in file.causes.iter().enumerate() {
            let place = file.path_of_cause(at);
            if causes.iter().any(|known| known.cause == cause.cause) {
                let fault = Fault::new(format!("{} is in another place too", cause.cause));
                errors.push(file.located(&format!("{place}cause"), fault));
                continue;
            }
            if file.is_rule {
                errors.extend(check::prefixed(&cause.cause).map(|fault| file.located(&format!("{place}cause"), fault)));
                errors.extend(check::unconditional(cause).map(|fault| file.located(&format!("{place}match"), fault)));
            }
            places.push((file, place));
            causes.push(cause.clone());
        }
    }
    let mut wrong: Vec<String> = Vec::new();
    for Problem { cause, path, fault } in check::causes(&causes) {
        let at = causes.iter().position(|file| file.cause == cause);
        if let Some((file, place)) = at.and_then(|at| places.get(at)) {
            errors.push(file.located(&format!("{place}{path}"), fault));
            wrong.push(cause);
        }
    }
    let mut additions = Additions::default();
    for file in &files {
        let Checked { exceptions, problems } = check::exceptions(&file.exceptions, file.rule.as_ref(), &causes);
        errors.extend(problems.into_iter().map(|of| file.located(&format!("spec.{}", of.path), of.fault)));
        additions.exceptions.extend(exceptions);
        let of_tests = check::tests(&file.tests, &causes).into_iter();
        errors.extend(of_tests.map(|(path, fault)| file.located(&format!("spec.{path}"), fault)));
    }
    errors.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
    causes.retain(|file| !wrong.contains(&file.cause));
    additions.causes = causes;
    let tests = files.into_iter().filter(|file| file.is_rule).map(|file| {
        let own = names_of(&file.causes, &file.exceptions);
        FileTests { path: file.source.path.clone(), own, tests: file.tests }
    });
    Read { tests: tests.collect(), additions, errors }
}

/// The causes that a rule has or restricts.
pub fn names_of(causes: &[Arc<CauseFile>], exceptions: &[CauseException]) -> BTreeSet<String> {
    let own = causes.iter().map(|file| file.cause.clone());
    own.chain(exceptions.iter().map(|exception| exception.cause.clone())).collect()
}

/// A file that has the right form.
struct Parsed<'s> {
    source: &'s SourceFile,
    is_rule: bool,
    /// The name of the rule; the file where it has none.
    rule: Option<Arc<str>>,
    causes: Vec<Arc<CauseFile>>,
    exceptions: Vec<CauseException>,
    tests: Vec<RuleTest>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RuleFile {
    api_version: String,
    kind: String,
    /// Files need no name.
    metadata: Option<Named>,
    #[allow(dead_code, reason = "as kubectl get -o yaml prints it")]
    status: Option<IgnoredAny>,
    spec: RuleSpec,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleSpec {
    #[serde(default)]
    causes: Vec<CauseFile>,
    #[serde(default)]
    exceptions: Vec<CauseException>,
    #[serde(default)]
    tests: Vec<RuleTest>,
}

impl<'s> Parsed<'s> {
    fn of(source: &'s SourceFile) -> Result<Self, Located> {
        let path = &source.path;
        if source.text.len() > FILE_MAX {
            let message = format!("the file has {} bytes, and {FILE_MAX} are allowed", source.text.len());
            return Err(Located::of_file(path, message));
        }
        // Even if the text is no valid YAML, so that the error is that of a rule.
        let is_object = |line: &str| line.starts_with("apiVersion:") || line.trim_end() == "kind: DiagnosisRule";
        let is_rule = source.text.lines().any(is_object)
            || serde_saphyr::from_str::<Kind>(&source.text).is_ok_and(|object| object.kind.is_some());
        if !is_rule {
            let cause =
                CauseFile::parse(&source.text).map_err(|error| Located::of_parser(path, &source.text, &error))?;
            let causes = vec![Arc::new(cause)];
            return Ok(Self { source, is_rule, rule: None, causes, exceptions: Vec::new(), tests: Vec::new() });
        }
        let file: RuleFile = serde_saphyr::from_str(&source.text)
            .map_err(|error| Located::of_parser(path, &source.text, &ParseError::of(&error)))?;
        let causes = file.spec.causes.into_iter().map(Arc::new).collect();
        let name = file.metadata.and_then(|metadata| metadata.name).unwrap_or_else(|| path.clone());
        let rule = Some(name.as_str().into());
        let parsed = Self { source, is_rule, rule, causes, exceptions: file.spec.exceptions, tests: file.spec.tests };
        if file.kind != "DiagnosisRule" {
            let fault = Fault::unknown("kind", &file.kind, ["DiagnosisRule"].into_iter());
            return Err(parsed.located("kind", fault));
        }
        if file.api_version != API_VERSION {
            let hint = Some(format!("write `apiVersion: {API_VERSION}`"));
            let fault = Fault { hint, ..Fault::new(format!("unknown version `{}`", file.api_version)) };
            return Err(parsed.located("apiVersion", fault));
        }
        if let Some(fault) = check::bounds(&parsed.causes, &parsed.exceptions, &parsed.tests) {
            return Err(parsed.located("spec", fault));
        }
        Ok(parsed)
    }

    fn path_of_cause(&self, at: usize) -> String {
        if self.is_rule { format!("spec.causes.{at}.") } else { String::new() }
    }

    fn located(&self, path: &str, fault: Fault) -> Located {
        Located::new(path, fault, &self.source.path, &self.source.text)
    }
}
