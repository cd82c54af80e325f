//! What a condition can cost. CEL has no endless loops, but nested ones over long lists take long.
//!
//! A step is an operator, or 64 bytes of text that one reads.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

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
}

impl Size {
    /// The size that a value of this type usually does not exceed.
    pub(super) fn usual(kind: Option<FieldType>) -> Self {
        match kind {
            Some(FieldType::Text) => Self { elements: 1, bytes: 1024 },
            Some(FieldType::List) => Self { elements: 20, bytes: 1280 },
            Some(FieldType::Number | FieldType::Flag) | None => Self { elements: 1, bytes: 8 },
        }
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Text(text) => Self { elements: 1, bytes: text.len() as u64 },
            Value::List(list) => {
                Self { elements: list.len() as u64, bytes: list.iter().map(|text| text.len() as u64).sum() }
            }
            Value::None | Value::Number(_) | Value::Flag(_) => Self { elements: 1, bytes: 8 },
        }
    }

    fn steps(self) -> u64 {
        1 + self.bytes / BYTES_OF_STEP
    }

    fn element(self) -> Self {
        Self { elements: 1, bytes: self.bytes / self.elements.max(1) }
    }

    fn and(self, other: Self) -> Self {
        Self { elements: self.elements.saturating_add(other.elements), bytes: self.bytes.saturating_add(other.bytes) }
    }
}

/// Most steps of an expression, given the sizes of the fields.
pub(super) fn estimate(expression: &IdedExpr, size: &dyn Fn(&str) -> Size) -> u64 {
    Estimate { size, loops: Vec::new() }.of(expression).0
}

struct Estimate<'e> {
    size: &'e dyn Fn(&str) -> Size,
    /// The variables of the loops around, with the sizes of their values.
    loops: Vec<(&'e str, Size)>,
}

impl<'e> Estimate<'e> {
    /// The steps, and the size of the result.
    fn of(&mut self, expression: &'e IdedExpr) -> (u64, Size) {
        match &expression.expr {
            Expr::Ident(name) => (1, self.variable(name)),
            Expr::Select(select) => match path(expression) {
                Some(path) => (1, (self.size)(&path)),
                None => self.of(&select.operand),
            },
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
            Expr::Literal(LiteralValue::String(text)) => (1, Size { elements: 1, bytes: text.inner().len() as u64 }),
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => (1, Size { elements: 1, bytes: 8 }),
        }
    }

    fn variable(&self, name: &str) -> Size {
        let of_loop = self.loops.iter().rev().find(|(known, _)| *known == name).map(|(_, size)| *size);
        of_loop.unwrap_or_else(|| (self.size)(name))
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
        (total.0.saturating_add(total.1.steps()), total.1)
    }

    fn comprehension(&mut self, of: &'e ComprehensionExpr) -> (u64, Size) {
        let (steps, range) = self.of(&of.iter_range);
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
        let looped = each.saturating_mul(range.elements);
        (steps.saturating_add(initial).saturating_add(looped).saturating_add(result), range)
    }
}
