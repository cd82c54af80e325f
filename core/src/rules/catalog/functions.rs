//! The functions of CEL that conditions can call. A call of another one would be an error at each evaluation.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::problem::Fault;

/// Functions and macros. There are no regular expressions, as their cost has no bound that `check` could compute, and no times.
pub(super) const FUNCTIONS: [&str; 18] = [
    "all",
    "bool",
    "bytes",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "exists",
    "exists_one",
    "filter",
    "has",
    "int",
    "map",
    "size",
    "startsWith",
    "string",
    "type",
    "uint",
];

/// Calls of functions that do not exist.
pub(super) fn unknown(expression: &IdedExpr, source: &str) -> Vec<Fault> {
    let mut names = Vec::new();
    called(expression, &mut names);
    names.retain(|name| !FUNCTIONS.contains(name));
    let fault = |name: &str| Fault::unknown("function", name, FUNCTIONS.into_iter()).at_part(source, name);
    names.first().map(|name| fault(name)).into_iter().collect()
}

/// The names of the called functions. Operators have names that are no words.
fn called<'e>(expression: &'e IdedExpr, out: &mut Vec<&'e str>) {
    match &expression.expr {
        Expr::Call(call) => {
            let is_word = call.func_name.starts_with(|c: char| c.is_ascii_alphabetic());
            out.extend(is_word.then_some(call.func_name.as_str()));
            call.target.iter().for_each(|target| called(target, out));
            call.args.iter().for_each(|argument| called(argument, out));
        }
        Expr::Select(select) => called(&select.operand, out),
        Expr::List(list) => list.elements.iter().for_each(|element| called(element, out)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    called(&entry.key, out);
                    called(&entry.value, out);
                }
            }
        }
        Expr::Comprehension(of) => {
            for part in [&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result] {
                called(part, out);
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::Expression;

    #[test]
    fn only_functions_that_exist_can_be_called() {
        let faults = |source: &str| Expression::compile(source).unwrap().faults(source, &|_| None);
        for source in [
            "resource.a.all(x, x > 1) || resource.a.exists_one(x, x > 1)",
            "size(resource.a.filter(x, x > 1).map(x, x + 1)) > 0",
            "int(resource.a) > 1 && double(resource.a) > 0.5 && string(resource.a) == '1'",
            "type(resource.a) == int && dyn(resource.a) == 1 && uint(resource.a) == 1u && bool(resource.b)",
            "bytes(resource.a) == b'x' && resource.a.endsWith('b') && resource.a.contains('c')",
        ] {
            assert_eq!(faults(source), [], "{source}");
        }
        let [fault] = &*faults("resource.a.matches('x.*')") else { panic!("it is refused") };
        assert_eq!((fault.message.as_str(), fault.at), ("unknown function `matches`", Some(12)));
    }
}
