//! CEL conditions over the fields of a signal.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr, SelectExpr};
use cel::{Context, Env, Program};

use super::comparison::Comparison;
use super::cost::{self, Size};
use super::problem::Fault;
use super::resource::{self, Resource};
use super::{functions, typing};
use crate::case::fields::{Fields, Path, RESOURCE};
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
    /// The first object for which it was not evaluated, as the values would have taken too many steps.
    over_budget: OnceLock<Box<str>>,
}

/// Most characters of a condition, and how deep its brackets may be nested: the parser is recursive.
const LENGTH_MAX: usize = 1000;
const DEPTH_MAX: usize = 30;

impl Expression {
    /// Compiles a condition.
    pub(crate) fn compile(source: &str) -> Result<Self, Fault> {
        if let Some(fault) = too_large(source) {
            return Err(fault);
        }
        let program = STANDARD.compile(source).map_err(|errors| {
            let first = errors.errors.first();
            let at = first.filter(|error| error.pos.0 == 1).and_then(|error| usize::try_from(error.pos.1).ok());
            let message = first.map_or_else(|| errors.to_string(), |error| error.msg.clone());
            // The parser lists all tokens that it knows.
            let message = message.split(" expecting ").next().unwrap_or_default();
            let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
            let assigns = source.replace("==", "").replace("!=", "").replace(">=", "").replace("<=", "").contains('=');
            let hint = assigns.then(|| "`==` compares".to_owned());
            Fault { at: at.filter(|at| *at > 0), message: format!("not a CEL expression: {message}"), hint }
        })?;
        let mut paths = Vec::new();
        collect(program.expression(), &mut paths);
        paths.sort();
        paths.dedup();
        let paths: Box<[Path]> = paths.iter().map(|path| super::path(path)).collect();
        // A field that an object lacks is an error of CEL, which the simple form does not distinguish from null.
        let plain = Comparison::of(program.expression()).filter(|_| !uses_resource(&paths));
        Ok(Self { program: Some(Box::new(program)), paths, plain, over_budget: OnceLock::new() })
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
            None => !self.exceeds(fields) && matches!(self.evaluate(fields), Ok(cel::Value::Bool(true))),
        }
    }

    /// Whether the present values would take too many steps.
    fn exceeds(&self, fields: &dyn Fields) -> bool {
        let Some(program) = &self.program else { return false };
        let sizes: Vec<(&str, Size)> =
            self.paths.iter().map(|path| (path.as_str(), Size::of(&fields.value(path)))).collect();
        let size =
            |path: &str| sizes.iter().find(|(known, _)| *known == path).map_or_else(Size::default, |(_, size)| *size);
        let exceeds = cost::estimate(program.expression(), &size) > cost::BUDGET;
        if exceeds {
            self.over_budget.get_or_init(|| fields.object().into());
        }
        exceeds
    }

    /// The first object for which it was not evaluated, as the values would have taken too many steps.
    pub(super) fn over_budget(&self) -> Option<&str> {
        self.over_budget.get().map(|object| &**object)
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
        let unknown = functions::unknown(program.expression(), source);
        if !unknown.is_empty() {
            return unknown;
        }
        let is_of_resource = |path: &str| self.paths.iter().any(|of| of.as_str() == path && of.is_of_resource());
        let size = |path: &str| if is_of_resource(path) { Size::usual_of_resource() } else { Size::usual(field(path)) };
        let steps = cost::estimate(program.expression(), &size);
        if steps > cost::BUDGET {
            let hint = Some("loops within loops multiply; compare with fields that hold one value".to_owned());
            let message = format!("it can take {steps} steps, and {} are allowed", cost::BUDGET);
            return vec![Fault { hint, ..Fault::new(message) }];
        }
        // The fields of a custom resource have any type.
        if uses_resource(&self.paths) {
            return Vec::new();
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
        let mut resource = Resource::default();
        for path in &self.paths {
            let value = fields.value(path).into_owned();
            match path.of_resource() {
                Some(field) => resource.add(field, value),
                None => context.add_variable_from_value(path.as_str(), to_cel(value)),
            }
        }
        context.add_variable_from_value(RESOURCE, resource.into_cel());
        program.execute(&context).map_err(|error| error.to_string())
    }
}

/// An expression that is longer or nested deeper than any useful one.
fn too_large(source: &str) -> Option<Fault> {
    let length = source.chars().count();
    if length > LENGTH_MAX {
        return Some(Fault::new(format!("it has {length} characters, and {LENGTH_MAX} are allowed")));
    }
    let mut depth = 0_usize;
    for (at, character) in source.chars().enumerate() {
        depth = match character {
            '(' | '[' | '{' => depth + 1,
            ')' | ']' | '}' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth > DEPTH_MAX {
            return Some(Fault { at: Some(at + 1), ..Fault::new(format!("nested more than {DEPTH_MAX} deep")) });
        }
    }
    None
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

fn uses_resource(paths: &[Path]) -> bool {
    paths.iter().any(Path::is_of_resource)
}

pub(super) fn to_cel(value: Value) -> cel::Value {
    match value {
        Value::None => cel::Value::Null,
        Value::Text(text) => cel::Value::String(Arc::new(text)),
        Value::Number(number) => cel::Value::Int(number),
        Value::Flag(flag) => cel::Value::Bool(flag),
        Value::List(list) => {
            cel::Value::List(Arc::new(list.into_iter().map(|text| cel::Value::String(Arc::new(text))).collect()))
        }
        Value::Json(json) => resource::of_json(json),
    }
}

/// Collects the qualified names in an expression.
fn collect(expression: &IdedExpr, out: &mut Vec<String>) {
    match &expression.expr {
        Expr::Ident(name) => out.push(name.clone()),
        Expr::Select(select) => match path(expression).or_else(|| tested(select)) {
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
            let variables =
                [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref(), Some(&comprehension.accu_var)];
            let is_variable = |name: &str| variables.iter().flatten().any(|variable| *variable == name);
            inner.retain(|path| !is_variable(path.split_once('.').map_or(path, |(name, _)| name)));
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

/// The field of a custom resource in `has(resource.spec.mode)`.
fn tested(select: &SelectExpr) -> Option<String> {
    let path = format!("{}.{}", path(&select.operand)?, select.field);
    path.strip_prefix(RESOURCE)?.starts_with('.').then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of this length in `s.list`.
    struct Long(usize);

    impl Fields for Long {
        fn value(&self, _: &Path) -> Cow<'_, Value> {
            Cow::Owned(Value::List((0..self.0).map(|n| n.to_string()).collect()))
        }

        fn object(&self) -> String {
            format!("List of {}", self.0)
        }
    }

    #[test]
    fn condition_that_would_take_too_long_is_not_evaluated() {
        let nested = Expression::compile("s.list.exists(x, s.list.exists(y, x == y))").unwrap();
        assert!(nested.holds(&Long(20)));
        assert_eq!(nested.over_budget(), None);
        assert!(!nested.holds(&Long(2000)), "four million comparisons");
        assert!(!nested.holds(&Long(3000)));
        assert_eq!(nested.over_budget(), Some("List of 2000"), "the first one");
    }

    #[test]
    fn loops_that_multiply_are_refused() {
        let list = |path: &str| (path == "s.list").then_some(FieldType::List);
        let faults = |source: &str| Expression::compile(source).unwrap().faults(source, &list);
        assert!(faults("s.list.exists(x, s.list.exists(y, x == y))").is_empty());
        let [fault] = &*faults("s.list.exists(x, s.list.exists(y, s.list.exists(z, x == y && y == z)))") else {
            panic!("it is refused")
        };
        assert!(fault.message.starts_with("it can take ") && fault.message.ends_with(" steps, and 20000 are allowed"));
    }

    /// A test runs in a thread with 2 MiB of stack.
    #[test]
    fn hostile_expressions_are_refused_and_overflow_no_stack() {
        let repeated = |part: &str, end: &str| format!("{}{end}", part.repeat(LENGTH_MAX / part.len()));
        for (part, end) in [
            ("!", "true"),
            ("-", "1"),
            ("(", ""),
            ("[", ""),
            ("{", ""),
            ("a?", ""),
            ("a+", "a"),
            ("a.", "b"),
            ("a&&", "a"),
            ("a[0]", ""),
            ("x?true:", "false"),
            ("'", ""),
            ("\\", ""),
        ] {
            let source: String = repeated(part, end).chars().take(LENGTH_MAX).collect();
            if let Ok(expression) = Expression::compile(&source) {
                let _ = expression.faults(&source, &|_| Some(FieldType::Flag));
                assert!(!expression.holds(&Long(1)) || part == "!", "{part}");
            }
        }
        let long = "a".repeat(LENGTH_MAX + 1);
        assert_eq!(Expression::compile(&long).unwrap_err().message, "it has 1001 characters, and 1000 are allowed");
    }
}
