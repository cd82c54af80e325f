//! The difference between two objects, as lines of YAML.

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// The changed lines with the lines around them.
pub(super) fn lines(before: &str, after: &str, is_colored: bool) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let mut out = Vec::new();
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            out.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, color) = match change.tag() {
                ChangeTag::Delete => ("-", Some(AnsiColor::Red)),
                ChangeTag::Insert => ("+", Some(AnsiColor::Green)),
                ChangeTag::Equal => (" ", None),
            };
            let style = color.filter(|_| is_colored).map_or_else(Style::new, AnsiColor::on_default);
            out.push(format!("{style}{sign} {}{style:#}", change.value().trim_end_matches('\n')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn changed_lines_are_marked() {
        let before = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n";
        assert_eq!(
            lines(before, &before.replace("f: 6", "f: 7"), false),
            ["  c: 3", "  d: 4", "  e: 5", "- f: 6", "+ f: 7"]
        );
    }
}
