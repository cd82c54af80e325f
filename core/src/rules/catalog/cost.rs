//! What a condition can cost. CEL has no endless loops, but nested ones over long lists take long.
//!
//! A step is an operator, or 64 bytes of text that one reads.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use serde_json::Value as Json;

use super::expression::path;
use crate::signals::{FieldType, Value};

/// Most steps of one condition for one occurrence, about a millisecond.
pub(super) const BUDGET: u64 = 20_000;
const BYTES_OF_STEP: u64 = 64;

/// The size of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    elements: u64,
    bytes: u64,
    /// The number of elements of all lists and maps in it, at any depth; 0 if its elements are no lists.
    nested: u64,
    /// Whether it is a part of an element of a list, so that only its average size is known.
    is_part: bool,
}

impl Size {
    /// The size that a value of this type usually does not exceed.
    pub(super) fn usual(kind: Option<FieldType>) -> Self {
        match kind {
            Some(FieldType::Text) => Self::plain(1, 1024),
            Some(FieldType::List) => Self::plain(20, 1280),
            Some(FieldType::Number | FieldType::Flag) | None => Self::plain(1, 8),
        }
    }

    /// The size that a field of a custom resource usually does not exceed: a list of maps.
    pub(super) fn usual_of_resource() -> Self {
        Self { nested: 160, ..Self::plain(20, 1280) }
    }

    fn plain(elements: u64, bytes: u64) -> Self {
        Self { elements, bytes, ..Self::default() }
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Text(text) => Self::plain(1, text.len() as u64),
            Value::List(list) => Self::plain(list.len() as u64, list.iter().map(|text| text.len() as u64).sum()),
            Value::None | Value::Number(_) | Value::Flag(_) => Self::plain(1, 8),
            Value::Json(json) => {
                Self { nested: 1 + nested(json), ..Self::plain(length(json), json.to_string().len() as u64) }
            }
        }
    }

    fn steps(self) -> u64 {
        1 + self.bytes / BYTES_OF_STEP
    }

    /// An element of average size. It can be a list too.
    fn element(self) -> Self {
        let of_all = |all: u64| all.div_ceil(self.elements.max(1));
        Self { elements: of_all(self.nested).max(1), bytes: self.bytes / self.elements.max(1), is_part: true, ..self }
    }

    /// A part of a value that is not known more exactly.
    fn part(self) -> Self {
        Self { elements: self.elements.max(self.nested), ..self }
    }

    fn and(self, other: Self) -> Self {
        Self {
            elements: self.elements.saturating_add(other.elements),
            bytes: self.bytes.saturating_add(other.bytes),
            nested: self.nested.saturating_add(other.nested),
            is_part: self.is_part || other.is_part,
        }
    }
}

fn length(json: &Json) -> u64 {
    match json {
        Json::Array(items) => items.len() as u64,
        Json::Object(map) => map.len() as u64,
        _ => 1,
    }
}

/// The number of elements at any depth.
fn nested(json: &Json) -> u64 {
    match json {
        Json::Array(items) => items.iter().map(|item| 1 + nested(item)).sum(),
        Json::Object(map) => map.values().map(|value| 1 + nested(value)).sum(),
        _ => 0,
    }
}

/// Most steps of an expression, given the sizes of the fields.
pub(super) fn estimate(expression: &IdedExpr, size: &dyn Fn(&str) -> Size) -> u64 {
    Estimate { size, loops: Vec::new(), loops_over_parts: 0 }.of(expression).0
}

struct Estimate<'e> {
    size: &'e dyn Fn(&str) -> Size,
    /// The variables of the loops around, with the sizes of their values.
    loops: Vec<(&'e str, Size)>,
    /// How many of them are loops over a part of an element.
    loops_over_parts: usize,
}

impl<'e> Estimate<'e> {
    /// The steps, and the size of the result.
    fn of(&mut self, expression: &'e IdedExpr) -> (u64, Size) {
        match &expression.expr {
            Expr::Ident(name) => (1, self.variable(name)),
            Expr::Select(select) => {
                if let Some(path) = path(expression) {
                    return (1, self.field(&path));
                }
                let (steps, size) = self.of(&select.operand);
                (steps, size.part())
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => self.all(list.elements.iter()),
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some([&entry.key, &entry.value]),
                    EntryExpr::StructField(_) => None,
                });
                self.all(entries.flatten())
            }
            Expr::Literal(LiteralValue::String(text)) => (1, Size::plain(1, text.inner().len() as u64)),
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => (1, Size::plain(1, 8)),
        }
    }

    fn variable(&self, name: &str) -> Size {
        self.of_loop(name).unwrap_or_else(|| (self.size)(name))
    }

    fn of_loop(&self, name: &str) -> Option<Size> {
        self.loops.iter().rev().find(|(known, _)| *known == name).map(|(_, size)| *size)
    }

    /// A field of a signal, or of the variable of a loop.
    fn field(&self, path: &str) -> Size {
        let of_loop = path.split_once('.').and_then(|(variable, _)| self.of_loop(variable));
        of_loop.unwrap_or_else(|| (self.size)(path))
    }

    fn all(&mut self, parts: impl Iterator<Item = &'e IdedExpr>) -> (u64, Size) {
        let mut total = (1_u64, Size::default());
        for part in parts {
            let (steps, size) = self.of(part);
            let size = Size { elements: 1, ..size };
            total = (total.0.saturating_add(steps), total.1.and(size));
        }
        total
    }

    /// An operator or function reads its operands, and the result is at most as large as all of them.
    fn call(&mut self, call: &'e CallExpr) -> (u64, Size) {
        let operands = call.target.iter().map(|target| &**target).chain(&call.args);
        let mut total = (0_u64, Size::default());
        for operand in operands {
            let (steps, size) = self.of(operand);
            total = (total.0.saturating_add(steps), total.1.and(size));
        }
        let result = if call.func_name == operators::INDEX { total.1.part() } else { total.1 };
        (total.0.saturating_add(total.1.steps()), result)
    }

    fn comprehension(&mut self, of: &'e ComprehensionExpr) -> (u64, Size) {
        let (steps, mut range) = self.of(&of.iter_range);
        // One element can contain all that is nested. Loops over parts of different elements add up to that, and loops
        // within each other over the same part do not.
        if range.is_part && self.loops_over_parts > 0 {
            range = range.part();
        }
        self.loops_over_parts += usize::from(range.is_part);
        let (initial, kept) = self.of(&of.accu_init);
        // A list grows with each element; a flag or a number does not.
        let kept = if matches!(of.accu_init.expr, Expr::List(_)) { range } else { kept };
        let depth = self.loops.len();
        let variables = std::iter::once(&of.iter_var).chain(&of.iter_var2);
        self.loops.extend(variables.map(|name| (name.as_str(), range.element())));
        self.loops.push((&of.accu_var, kept));
        let each = self.of(&of.loop_cond).0.saturating_add(self.of(&of.loop_step).0);
        let (result, _) = self.of(&of.result);
        self.loops.truncate(depth);
        self.loops_over_parts -= usize::from(range.is_part);
        let looped = each.saturating_mul(range.elements);
        (steps.saturating_add(initial).saturating_add(looped).saturating_add(result), range)
    }
}
