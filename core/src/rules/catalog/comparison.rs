//! Simple CEL conditions, evaluated without the interpreter: comparisons of fields and literals and searches in texts,
//! combined with `&&`, `||` and `!`.
//!
//! A failing pod is compared with each cause of its signals. Nearly all conditions have this form, and the interpreter
//! first copies each field into a table of variables, which takes longer than the rest of a diagnosis. Other conditions
//! use the interpreter; a test checks that both return the same results.

use std::borrow::Cow;
use std::cmp::Ordering;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::expression::path;
use crate::case::fields::{Fields, Path};
use crate::signals::Value;

/// A simple CEL condition.
#[derive(Debug)]
pub(super) enum Comparison {
    Field(Path),
    Literal(Value),
    Not(Box<Comparison>),
    All(Box<[Comparison]>),
    Any(Box<[Comparison]>),
    Equal(Box<[Comparison; 2]>),
    /// Two values, and the orderings for which the comparison is true.
    Ordered(Box<[Comparison; 2]>, &'static [Ordering]),
    /// A value, and a list that contains it.
    In(Box<[Comparison; 2]>),
    /// Two texts, and what holds of them.
    Texts(Box<[Comparison; 2]>, fn(&str, &str) -> bool),
}

/// An operand has no value of the type that its operator requires.
#[derive(Debug, PartialEq)]
pub(super) struct NoValue;

impl Comparison {
    /// Returns `None` for an expression of another form.
    pub(super) fn of(expression: &IdedExpr) -> Option<Self> {
        match &expression.expr {
            Expr::Ident(_) | Expr::Select(_) => path(expression).map(|path| Self::Field(super::path(&path))),
            Expr::Literal(literal) => of_literal(literal).map(Self::Literal),
            Expr::List(list) => {
                let texts = list.elements.iter().map(|element| match &element.expr {
                    Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
                    _ => None,
                });
                texts.collect::<Option<Vec<_>>>().map(|texts| Self::Literal(Value::List(texts)))
            }
            Expr::Call(call) => Self::of_call(call),
            _ => None,
        }
    }

    fn of_call(call: &CallExpr) -> Option<Self> {
        if let [item, list] = &*call.args
            && call.func_name == operators::IN
            && let Expr::List(list) = &list.expr
            && let Some(Expr::Literal(LiteralValue::Int(_))) = list.elements.first().map(|first| &first.expr)
        {
            let equal = |element| pair(vec![Self::of(item)?, Self::of(element)?]).map(Self::Equal);
            return list.elements.iter().map(equal).collect::<Option<_>>().map(Self::Any);
        }
        let operands = call.args.iter().map(Self::of).collect::<Option<Vec<_>>>()?;
        if let Some(target) = &call.target {
            let holds: fn(&str, &str) -> bool = match call.func_name.as_str() {
                "contains" => |text, part| text.contains(part),
                "startsWith" => |text, part| text.starts_with(part),
                "endsWith" => |text, part| text.ends_with(part),
                _ => return None,
            };
            let both = std::iter::once(Self::of(target)?).chain(operands).collect();
            return Some(Self::Texts(pair(both)?, holds));
        }
        let ordered = |operands, orders| Some(Self::Ordered(pair(operands)?, orders));
        match call.func_name.as_str() {
            operators::LOGICAL_AND => Some(Self::All(operands.into())),
            operators::LOGICAL_OR => Some(Self::Any(operands.into())),
            operators::LOGICAL_NOT => operands.into_iter().next().map(|operand| Self::Not(Box::new(operand))),
            operators::EQUALS => Some(Self::Equal(pair(operands)?)),
            operators::NOT_EQUALS => Some(Self::Not(Box::new(Self::Equal(pair(operands)?)))),
            operators::GREATER => ordered(operands, &[Ordering::Greater]),
            operators::GREATER_EQUALS => ordered(operands, &[Ordering::Greater, Ordering::Equal]),
            operators::LESS => ordered(operands, &[Ordering::Less]),
            operators::LESS_EQUALS => ordered(operands, &[Ordering::Less, Ordering::Equal]),
            operators::IN => Some(Self::In(pair(operands)?)),
            _ => None,
        }
    }

    /// Whether the condition is true. It is false if a value is unknown.
    pub(super) fn holds(&self, fields: &dyn Fields) -> bool {
        self.flag(fields) == Ok(true)
    }

    fn value<'v>(&'v self, fields: &'v dyn Fields) -> Result<Cow<'v, Value>, NoValue> {
        match self {
            Self::Field(path) => Ok(fields.value(path)),
            Self::Literal(value) => Ok(Cow::Borrowed(value)),
            condition => condition.flag(fields).map(|flag| Cow::Owned(Value::Flag(flag))),
        }
    }

    /// As in CEL, one decisive operand suffices if another has no value.
    fn flag(&self, fields: &dyn Fields) -> Result<bool, NoValue> {
        match self {
            Self::Field(_) | Self::Literal(_) => match *self.value(fields)? {
                Value::Flag(flag) => Ok(flag),
                _ => Err(NoValue),
            },
            Self::Not(operand) => operand.flag(fields).map(|flag| !flag),
            Self::All(operands) => decided(operands, fields, false),
            Self::Any(operands) => decided(operands, fields, true),
            Self::Equal(operands) => {
                let [left, right] = &**operands;
                Ok(left.value(fields)? == right.value(fields)?)
            }
            Self::Ordered(operands, right_orders) => {
                let [left, right] = &**operands;
                let order = match (&*left.value(fields)?, &*right.value(fields)?) {
                    (Value::Number(left), Value::Number(right)) => left.cmp(right),
                    (Value::Text(left), Value::Text(right)) => left.cmp(right),
                    _ => return Err(NoValue),
                };
                Ok(right_orders.contains(&order))
            }
            Self::In(operands) => {
                let [item, list] = &**operands;
                match (&*list.value(fields)?, &*item.value(fields)?) {
                    (Value::List(list), Value::Text(item)) => Ok(list.contains(item)),
                    (Value::List(_), _) => Ok(false),
                    _ => Err(NoValue),
                }
            }
            Self::Texts(operands, holds) => {
                let [text, part] = &**operands;
                match (&*text.value(fields)?, &*part.value(fields)?) {
                    (Value::Text(text), Value::Text(part)) => Ok(holds(text, part)),
                    _ => Err(NoValue),
                }
            }
        }
    }
}

/// Returns early at the first operand that equals `deciding`.
fn decided(operands: &[Comparison], fields: &dyn Fields, deciding: bool) -> Result<bool, NoValue> {
    let mut unknown = false;
    for operand in operands {
        match operand.flag(fields) {
            Ok(flag) if flag == deciding => return Ok(deciding),
            Ok(_) => {}
            Err(NoValue) => unknown = true,
        }
    }
    if unknown { Err(NoValue) } else { Ok(!deciding) }
}

fn pair(operands: Vec<Comparison>) -> Option<Box<[Comparison; 2]>> {
    <[Comparison; 2]>::try_from(operands).ok().map(Box::new)
}

fn of_literal(literal: &LiteralValue) -> Option<Value> {
    Some(match literal {
        LiteralValue::Boolean(flag) => Value::Flag(*flag.inner()),
        LiteralValue::Int(number) => Value::Number(*number.inner()),
        LiteralValue::String(text) => Value::from(text.inner()),
        LiteralValue::Null => Value::None,
        LiteralValue::Bytes(_) | LiteralValue::Double(_) | LiteralValue::UInt(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::expression::Expression;
    use super::*;

    /// All combinations of known and unknown values of each type.
    struct Sample(usize);

    impl Fields for Sample {
        fn value(&self, path: &Path) -> Cow<'_, Value> {
            let pick =
                |bit: usize, value: Value| Cow::Owned(if self.0 & (1 << bit) == 0 { value } else { Value::None });
            match path.as_str() {
                "s.text" => pick(0, Value::from("oom")),
                "s.number" => pick(1, Value::Number(137)),
                "s.flag" => pick(2, Value::Flag(self.0 & 8 == 0)),
                "s.list" => pick(4, Value::List(vec!["oom".to_owned(), "b".to_owned()])),
                _ => Cow::Owned(Value::None),
            }
        }
    }

    #[test]
    fn simple_conditions_equal_the_interpreter() {
        const CONDITIONS: [&str; 23] = [
            "s.flag",
            "!s.flag",
            "s.text == 'oom'",
            "s.text != 'oom'",
            "s.text in ['a', 'oom']",
            "!(s.text in ['a', 'b'])",
            "s.text in s.list",
            "'b' in s.list",
            "s.number == 137",
            "s.number in [1, 137]",
            "!(s.number in [0, 143]) && s.flag",
            "s.number >= 137 && s.number < 138",
            "s.number > 137 || s.number <= 12",
            "s.flag && s.text == 'oom'",
            "s.flag || s.text == 'x'",
            "!(s.flag && s.number == 137)",
            "s.flag == false",
            "s.text == null",
            "s.number != null && s.flag",
            "s.text < 'z'",
            "s.text.contains('o')",
            "s.text.startsWith('oo') && !s.text.endsWith('x')",
            "s.number == 137 || s.text.endsWith('m')",
        ];
        for source in CONDITIONS {
            let expression = Expression::compile(source).unwrap();
            for bits in 0..32 {
                let interpreted = matches!(expression.evaluate(&Sample(bits)), Ok(cel::Value::Bool(true)));
                assert!(expression.is_plain(), "{source}");
                assert_eq!(expression.holds(&Sample(bits)), interpreted, "{source} for {bits:05b}");
            }
        }
    }

    #[test]
    fn other_forms_use_the_interpreter() {
        for source in
            ["s.text + 'x' == 'oomx'", "s.number + 1 == 138", "size(s.list) == 2", "s.list.exists(x, x == 'b')"]
        {
            let expression = Expression::compile(source).unwrap();
            assert!(!expression.is_plain(), "{source}");
            assert!(expression.holds(&Sample(0)), "{source}");
        }
    }
}
