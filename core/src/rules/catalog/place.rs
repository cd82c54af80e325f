//! Finds the line and column of a value in a YAML file.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

/// A node of a YAML document, with its position.
struct Node {
    place: (usize, usize),
    content: Content,
}

enum Content {
    /// The style of the scalar, and whether it is on one line.
    Scalar(ScalarStyle, bool),
    Map(Vec<(String, Node)>),
    List(Vec<Node>),
    Other,
}

/// Line and column, counted from 1, of the value at a path such as `remedies.0.when`, or of one character in it. If the
/// path does not exist, the position of the nearest parent.
pub(super) fn find(text: &str, path: &str, character: Option<usize>) -> (usize, usize) {
    // Comments and document markers are not nodes.
    let mut events = Parser::new_from_str(text).map_while(Result::ok).filter(|(event, _)| {
        matches!(
            event,
            Event::Scalar(..)
                | Event::Alias(_)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd
        )
    });
    let Some(mut node) = read(&mut events) else { return (1, 1) };
    for step in path.split('.') {
        let below = match &mut node.content {
            Content::Map(entries) => {
                let at = entries.iter().position(|(key, _)| key == step);
                at.map(|at| entries.swap_remove(at).1)
            }
            Content::List(items) => {
                let at = step.parse().ok().filter(|at| *at < items.len());
                at.map(|at: usize| items.swap_remove(at))
            }
            Content::Scalar(..) | Content::Other => None,
        };
        match below {
            Some(below) => node = below,
            // A single value can stand for a list with one element, and a text for a map with only that text.
            None if step == "0" || matches!(node.content, Content::Scalar(..)) => {}
            None => break,
        }
    }
    let (line, column) = node.place;
    match (node.content, character) {
        (Content::Scalar(style, true), Some(character)) => (line, column + offset(text, node.place, style, character)),
        _ => (line, column),
    }
}

/// Number of characters in the file between the start of a value and a character of its text.
fn offset(text: &str, (line, column): (usize, usize), style: ScalarStyle, character: usize) -> usize {
    let source: Vec<char> = text.lines().nth(line - 1).unwrap_or_default().chars().skip(column - 1).collect();
    let quote = match style {
        ScalarStyle::SingleQuoted => '\'',
        ScalarStyle::DoubleQuoted => '\\',
        _ => return character - 1,
    };
    let mut at = 1;
    for _ in 1..character {
        // An escaped character takes two characters in the file.
        at += if source.get(at) == Some(&quote) { 2 } else { 1 };
    }
    at
}

fn read<'t>(events: &mut impl Iterator<Item = (Event<'t>, Span)>) -> Option<Node> {
    let (event, span) = events.next()?;
    let place = (span.start.line(), span.start.col() + 1);
    let content = match event {
        Event::Scalar(_, style, ..) => Content::Scalar(style, span.start.line() == span.end.line()),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            while let Some(item) = read(events) {
                items.push(item);
            }
            Content::List(items)
        }
        Event::MappingStart(..) => {
            let mut entries = Vec::new();
            while let Some((key, _)) = events.next() {
                let Event::Scalar(key, ..) = key else { break };
                let Some(value) = read(events) else { break };
                entries.push((key.into_owned(), value));
            }
            Content::Map(entries)
        }
        Event::SequenceEnd | Event::MappingEnd => return None,
        _ => Content::Other,
    };
    Some(Node { place, content })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
cause: A # a comment
root: {kind: Node, name: \"x{a}\"}
summary: is it's
remedies:
- text: one
- when: a == 'b'
  with:
    name: 'it''s {b}'
  text: >-
    folded
";

    #[test]
    fn path_finds_the_position_of_its_value() {
        assert_eq!(find(FILE, "cause", None), (1, 8));
        assert_eq!(find(FILE, "root.0.name", None), (2, 26));
        assert_eq!(find(FILE, "root.name", Some(3)), (2, 29));
        assert_eq!(find(FILE, "summary.0.text", Some(4)), (3, 13));
        assert_eq!(find(FILE, "remedies.1.when", Some(6)), (6, 14));
        assert_eq!(find(FILE, "remedies.1.with.name", Some(6)), (8, 18));
        assert_eq!(find(FILE, "remedies.1.text", Some(2)).0, 10);
        assert_eq!(find(FILE, "threshold", None), (1, 1));
    }
}
