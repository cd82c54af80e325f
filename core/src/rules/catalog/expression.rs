//! CEL conditions over the fields of a signal.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Env, Program};

use super::comparison::Comparison;
use super::problem::Fault;
use super::typing;
use crate::case::fields::{Fields, Path};
use crate::signals::{FieldType, Value};

static STANDARD: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A compiled condition.
#[derive(Debug)]
pub(crate) struct Expression {
    /// Missing if the interpreter is not needed, because the tree takes more memory than the rest of a condition.
    program: Option<Box<Program>>,
    /// The fields that it uses.
    paths: Box<[Path]>,
    /// The same condition in simple form, if possible.
    plain: Option<Comparison>,
}

impl Expression {
    /// Compiles a condition.
    pub(crate) fn compile(source: &str) -> Result<Self, Fault> {
        let program = STANDARD.compile(source).map_err(|errors| {
            let first = errors.errors.first();
            let at = first.filter(|error| error.pos.0 == 1).and_then(|error| usize::try_from(error.pos.1).ok());
            let message = first.map_or_else(|| errors.to_string(), |error| error.msg.clone());
            let assigns = source.replace("==", "").replace("!=", "").replace(">=", "").replace("<=", "").contains('=');
            let hint = assigns.then(|| "`==` compares".to_owned());
            Fault { at: at.filter(|at| *at > 0), message: format!("not a CEL expression: {message}"), hint }
        })?;
        let mut paths = Vec::new();
        collect(program.expression(), &mut paths);
        paths.sort();
        paths.dedup();
        let paths = paths.iter().map(|path| super::path(path)).collect();
        let plain = Comparison::of(program.expression());
        Ok(Self { program: Some(Box::new(program)), paths, plain })
    }

    /// Drops the CEL tree if the condition is simple.
    #[must_use]
    pub(super) fn without_tree(self) -> Self {
        let program = self.program.filter(|_| self.plain.is_none());
        Self { program, ..self }
    }

    pub(crate) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Whether the condition is true. It is false if a value is unknown.
    pub(crate) fn holds(&self, fields: &dyn Fields) -> bool {
        match &self.plain {
            Some(plain) => plain.holds(fields),
            None => matches!(self.evaluate(fields), Ok(cel::Value::Bool(true))),
        }
    }

    #[cfg(test)]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// Type errors, given the types of the fields.
    pub(super) fn faults(&self, source: &str, field: &dyn Fn(&str) -> Option<FieldType>) -> Vec<Fault> {
        let Some(program) = &self.program else { return Vec::new() };
        let faults = typing::check(program.expression(), source, field);
        if !faults.is_empty() || self.plain.is_some() {
            return faults;
        }
        match self.evaluate(&Samples(field)) {
            Ok(cel::Value::Bool(_)) => Vec::new(),
            Ok(_) => vec![Fault::new("a condition must be bool")],
            Err(error) => vec![Fault::new(error)],
        }
    }

    /// Evaluates the expression.
    pub(super) fn evaluate(&self, fields: &dyn Fields) -> Result<cel::Value, String> {
        let program = self.program.as_ref().ok_or("a plain condition is not interpreted")?;
        let mut context = Context::with_env(STANDARD.clone());
        for path in &self.paths {
            context.add_variable_from_value(path.as_str(), to_cel(fields.value(path).into_owned()));
        }
        program.execute(&context).map_err(|error| error.to_string())
    }
}

/// A sample value of the type of each field.
struct Samples<'s>(&'s dyn Fn(&str) -> Option<FieldType>);

impl Fields for Samples<'_> {
    fn value(&self, path: &Path) -> Cow<'_, Value> {
        Cow::Owned(match (self.0)(path.as_str()) {
            Some(FieldType::Text) => Value::from("1"),
            Some(FieldType::Number) => Value::Number(1),
            Some(FieldType::Flag) => Value::Flag(true),
            Some(FieldType::List) => Value::List(vec!["1".to_owned()]),
            None => Value::None,
        })
    }
}

fn to_cel(value: Value) -> cel::Value {
    match value {
        Value::None => cel::Value::Null,
        Value::Text(text) => cel::Value::String(Arc::new(text)),
        Value::Number(number) => cel::Value::Int(number),
        Value::Flag(flag) => cel::Value::Bool(flag),
        Value::List(list) => {
            cel::Value::List(Arc::new(list.into_iter().map(|text| cel::Value::String(Arc::new(text))).collect()))
        }
    }
}

/// Collects the qualified names in an expression.
fn collect(expression: &IdedExpr, out: &mut Vec<String>) {
    match &expression.expr {
        Expr::Ident(name) => out.push(name.clone()),
        Expr::Select(select) => match path(expression) {
            Some(path) => out.push(path),
            None => collect(&select.operand, out),
        },
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, out));
            call.args.iter().for_each(|argument| collect(argument, out));
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect(element, out)),
        Expr::Comprehension(comprehension) => {
            let mut inner = Vec::new();
            for part in [
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ] {
                collect(part, &mut inner);
            }
            inner.retain(|name| *name != comprehension.iter_var && *name != comprehension.accu_var);
            out.append(&mut inner);
        }
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    collect(&entry.key, out);
                    collect(&entry.value, out);
                }
            }
        }
        Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

/// The qualified name, if the expression is one.
pub(super) fn path(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => Some(format!("{}.{}", path(&select.operand)?, select.field)),
        _ => None,
    }
}
