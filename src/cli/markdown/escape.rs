//! Text from the cluster in Markdown: it never becomes markup, a mention or a reference.

use shindan_core::message::text;

/// Longest text.
const TEXT_MAX: usize = 2000;
/// Longest line of a command or patch. A diagnosis has shorter ones: a part of a command would do something else.
const CODE_MAX: usize = 16_000;

/// A text within a line. Escapes all characters that can begin markup.
pub(super) fn words(text: &str) -> String {
    let line = text::line(text, TEXT_MAX);
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    for c in line.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '$' | '&' => {
                out.push('\\');
                out.push(c);
            }
            // A mention would notify someone. It has no escape.
            '@' if !before.is_alphanumeric() => out.push_str("&#64;"),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A text as code.
pub(super) fn code(text: &str) -> String {
    let line = text::line(text, TEXT_MAX);
    let fence = "`".repeat(longest_run(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') || line.is_empty() { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

/// Lines of code in a block, indented as part of a list.
pub(super) fn block(lines: &str, kind: &str) -> String {
    let lines: Vec<String> = lines.lines().map(indented).collect();
    let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    format!("  {fence}{kind}\n  {}\n  {fence}\n", lines.join("\n  "))
}

/// A clean line with its indentation, which is part of a patch.
fn indented(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    format!("{}{}", &line[..line.len() - rest.len()], text::line(rest, CODE_MAX))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_markup() {
        for (text, expected) in [
            ("<script> [x](y) `z` **b** _i_ # 1", r"\<script\> \[x\](y) \`z\` \*\*b\*\* \_i\_ \# 1"),
            ("a\n# heading\n- item", r"a \# heading - item"),
            ("ask @team, image a@sha256:0", "ask &#64;team, image a@sha256:0"),
            ("token=abcdef12345", r"token=\*\*\*"),
        ] {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn code_cannot_be_ended_from_within() {
        assert_eq!(code("a b"), "`a b`");
        assert_eq!(code("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(block("a\n  ```\nb", "sh"), "  ````sh\n  a\n    ```\n  b\n  ````\n");
    }
}
