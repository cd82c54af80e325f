//! Exceptions of users from causes: where a cause is not reported, or applies only under a further condition.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cause::intern;
use super::compile;
use super::expression::Expression;
use super::problem::{Fault, Problem};
use crate::api::CauseException;
use crate::facts::Labels;
use crate::signals::{Context, Definition};

/// A compiled exception.
#[derive(Debug)]
pub struct Exception {
    pub(super) cause: &'static str,
    /// The name of its rule, if a file has it. The operator never shows it.
    pub(crate) rule: Option<Arc<str>>,
    /// All where empty.
    namespaces: Vec<String>,
    labels: BTreeMap<String, String>,
    /// The further condition. `None`: the cause is not reported.
    when: Option<Expression>,
}

impl Exception {
    /// Compiles an exception from a cause of this signal. Adds errors to `problems`.
    pub(super) fn compile(
        of: &CauseException,
        rule: Option<&Arc<str>>,
        path: &str,
        signal: &'static Definition,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let before = problems.len();
        let mut report = |path: String, fault| problems.push(Problem { cause: of.cause.clone(), path, fault });
        match (of.ignore, &of.when) {
            (true, Some(_)) => report(format!("{path}.when"), Fault::new("`ignore: true` needs no condition")),
            (false, None) => report(path.to_owned(), Fault::new("`ignore: true` or a condition `when` is missing")),
            _ => {}
        }
        let when = compile::condition(signal, &of.cause, of.when.as_ref(), &format!("{path}.when"), problems);
        (problems.len() == before).then(|| Self {
            cause: intern(&of.cause),
            rule: rule.cloned(),
            namespaces: of.namespaces.clone(),
            labels: of.match_labels.clone(),
            when,
        })
    }

    fn selects(&self, cause: &str, namespace: &str, labels: Option<&Labels>) -> bool {
        self.cause == cause
            && (self.namespaces.is_empty() || self.namespaces.iter().any(|name| name == namespace))
            && self.labels.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    }

    /// The object for which the further condition was not evaluated, as it would have taken too long.
    pub(super) fn over_budget(&self) -> Option<&str> {
        self.when.as_ref().and_then(Expression::over_budget)
    }

    /// Whether a cause of an object is not reported.
    pub(super) fn ignores(&self, cause: &str, namespace: &str, labels: Option<&Labels>) -> bool {
        self.when.is_none() && self.selects(cause, namespace, labels)
    }

    /// Whether a cause does not apply to an occurrence, as the further condition does not hold.
    pub(super) fn excludes(&self, cause: &str, context: &Context<'_>) -> bool {
        let Some(when) = &self.when else { return false };
        self.selects(cause, context.subject.namespace(), context.subject.labels()) && !when.holds(context)
    }
}
