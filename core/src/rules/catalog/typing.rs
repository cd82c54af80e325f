//! Type check of conditions against the fields of the signal.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::expression::path;
use super::problem::Fault;
use crate::signals::FieldType;

/// The type of a subexpression. `None` if it is unknown.
type Kind = Option<FieldType>;

/// Reports operands with a wrong type.
pub(super) fn check(expression: &IdedExpr, source: &str, field: &dyn Fn(&str) -> Kind) -> Vec<Fault> {
    let mut checker = Checker { source, field, faults: Vec::new() };
    let kind = checker.kind(expression);
    if checker.faults.is_empty() {
        checker.needs(expression, kind, FieldType::Flag, "a condition");
    }
    checker.faults
}

struct Checker<'c> {
    source: &'c str,
    field: &'c dyn Fn(&str) -> Kind,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn kind(&mut self, expression: &IdedExpr) -> Kind {
        match &expression.expr {
            Expr::Ident(_) | Expr::Select(_) => path(expression).and_then(|path| (self.field)(&path)),
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Some(FieldType::Flag),
                LiteralValue::Int(_) => Some(FieldType::Number),
                LiteralValue::String(_) => Some(FieldType::Text),
                _ => None,
            },
            Expr::List(_) => Some(FieldType::List),
            Expr::Call(call) => self.call(call),
            _ => None,
        }
    }

    fn call(&mut self, call: &CallExpr) -> Kind {
        let target = call.target.as_ref().map(|target| (&**target, self.kind(target)));
        let args: Vec<(&IdedExpr, Kind)> = call.args.iter().map(|argument| (argument, self.kind(argument))).collect();
        match (call.func_name.as_str(), args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT, _) => {
                for (argument, kind) in args {
                    self.needs(argument, kind, FieldType::Flag, "an operand of `&&`, `||` or `!`");
                }
                Some(FieldType::Flag)
            }
            (
                operators::EQUALS
                | operators::NOT_EQUALS
                | operators::LESS
                | operators::LESS_EQUALS
                | operators::GREATER
                | operators::GREATER_EQUALS,
                [left, right],
            ) => {
                self.same(*left, *right);
                self.not_null(*left, right.0);
                self.not_null(*right, left.0);
                Some(FieldType::Flag)
            }
            (operators::IN, [_, (list, kind)]) => {
                self.needs(list, *kind, FieldType::List, "what follows `in`");
                Some(FieldType::Flag)
            }
            ("startsWith" | "endsWith" | "contains", [(argument, kind)]) => {
                if let Some((target, kind)) = target {
                    self.needs(target, kind, FieldType::Text, &format!("what `{}` is called on", call.func_name));
                }
                self.needs(argument, *kind, FieldType::Text, &format!("the argument of `{}`", call.func_name));
                Some(FieldType::Flag)
            }
            ("size", _) => Some(FieldType::Number),
            _ => None,
        }
    }

    fn needs(&mut self, part: &IdedExpr, kind: Kind, needed: FieldType, what: &str) {
        if kind.is_some_and(|kind| kind != needed) {
            let is = kind.map_or("", FieldType::as_str);
            let fault = Fault::new(format!("{what} must be {}, and {} is {is}", needed.as_str(), shown(part)));
            self.report(part, fault);
        }
    }

    fn same(&mut self, left: (&IdedExpr, Kind), right: (&IdedExpr, Kind)) {
        if let (Some(a), Some(b)) = (left.1, right.1)
            && a != b
        {
            let message =
                format!("compares {} ({}) with {} ({})", shown(left.0), a.as_str(), shown(right.0), b.as_str());
            self.report(left.0, Fault::new(message));
        }
    }

    /// A condition that compares a text with null would never hold.
    fn not_null(&mut self, of: (&IdedExpr, Kind), other: &IdedExpr) {
        if of.1 == Some(FieldType::Text) && matches!(other.expr, Expr::Literal(LiteralValue::Null)) {
            let message = format!("{} is string, which is empty and not null where it is not known", shown(of.0));
            self.report(of.0, Fault { hint: Some("compare it with `\"\"`".to_owned()), ..Fault::new(message) });
        }
    }

    fn report(&mut self, part: &IdedExpr, fault: Fault) {
        let fault = match path(part) {
            Some(path) => fault.at_part(self.source, &path),
            None => fault,
        };
        self.faults.push(fault);
    }
}

fn shown(part: &IdedExpr) -> String {
    match (&part.expr, path(part)) {
        (_, Some(path)) => path,
        (Expr::Literal(LiteralValue::String(text)), _) => format!("{:?}", text.inner()),
        (Expr::Literal(LiteralValue::Int(number)), _) => number.inner().to_string(),
        (Expr::Literal(LiteralValue::Boolean(flag)), _) => flag.inner().to_string(),
        _ => "the other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::Expression;
    use super::*;

    fn faults(source: &str) -> Vec<String> {
        let field = |path: &str| match path {
            "s.text" => Some(FieldType::Text),
            "s.number" => Some(FieldType::Number),
            "s.flag" => Some(FieldType::Flag),
            "s.list" => Some(FieldType::List),
            _ => None,
        };
        Expression::compile(source).unwrap().faults(source, &field).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn operands_must_have_the_type_of_the_operator() {
        for right in [
            "s.flag && s.text == 'x'",
            "s.number > 3 || !s.flag",
            "s.text in ['a', 'b']",
            "'a' in s.list",
            "s.text.startsWith('x')",
            "size(s.list) > 1",
            "s.number == null",
            "s.list.exists(item, item == 'x')",
        ] {
            assert_eq!(faults(right), [""; 0], "{right}");
        }
        for (wrong, message) in [
            ("s.text", "a condition must be bool, and s.text is string"),
            ("s.number == '137'", "compares s.number (int) with \"137\" (string)"),
            ("s.flag && s.number", "an operand of `&&`, `||` or `!` must be bool, and s.number is int"),
            ("'a' in s.text", "what follows `in` must be list of strings, and s.text is string"),
            ("s.number.contains('1')", "what `contains` is called on must be string, and s.number is int"),
            ("s.text != null", "s.text is string, which is empty and not null where it is not known"),
            ("s.flag || s.text > 3", "compares s.text (string) with 3 (int)"),
        ] {
            assert_eq!(faults(wrong), [message], "{wrong}");
        }
        assert!(!faults("nofunction(s.text)").is_empty());
    }
}
