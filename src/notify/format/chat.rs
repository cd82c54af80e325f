//! Slack, Microsoft Teams and Discord.

use serde_json::{Value, json};
use shindan_core::api::Severity;
use shindan_core::message::text;

use super::incidents;
use crate::notify::message::{Change, digest_lines, digest_title, joined};
use crate::notify::queue::Delivery;

/// Maximum characters of a line.
const LINE_MAX: usize = 900;

/// Title, lines and severity of a message. The severity of a resolved incident is `None`.
struct Text {
    title: String,
    lines: Vec<(&'static str, String)>,
    severity: Option<Severity>,
}

fn text(delivery: &Delivery, cluster: Option<&str>) -> Text {
    let (all, is_digest) = incidents(delivery);
    let severity =
        all.iter().filter(|(change, _)| *change != Change::Resolved).map(|(_, notice)| notice.severity).min();
    let (title, lines) = match all.first() {
        Some((change, notice)) if !is_digest => (notice.title(*change, cluster), notice.lines(*change)),
        _ => (digest_title(&all, cluster), digest_lines(&all).into_iter().map(|line| ("", line)).collect()),
    };
    let lines = lines.into_iter().map(|(name, line)| (name, text::cut(&line, LINE_MAX))).collect();
    Text { title, lines, severity }
}

/// A message of an incoming webhook. All text is `plain_text`, in which Slack reads no markup.
pub(super) fn slack(delivery: &Delivery, cluster: Option<&str>) -> Value {
    let Text { title, lines, .. } = text(delivery, cluster);
    let plain = |text: &str| json!({"type": "plain_text", "text": escape_slack(text), "emoji": false});
    json!({
        // For notifications of the system, where blocks are not shown.
        "text": escape_slack(&title),
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": [
            // A header takes 150 characters, and escapes count.
            {"type": "header", "text": plain(&text::cut(&title, 120))},
            {"type": "section", "text": plain(&text::cut(&joined(&lines), 2500))},
        ],
    })
}

/// Replaces the three characters that Slack reads as control characters. `<!channel>` and links need `<`.
fn escape_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A message with an Adaptive Card. A `TextRun` has no Markdown, and a mention would need an entity of its own.
pub(super) fn teams(delivery: &Delivery, cluster: Option<&str>) -> Value {
    let Text { title, lines, severity } = text(delivery, cluster);
    let color = match severity {
        Some(Severity::Critical) => "attention",
        Some(Severity::Warning) => "warning",
        Some(Severity::Info) => "default",
        None => "good",
    };
    let run = |text: &str, bold: bool| json!({"type": "TextRun", "text": text, "weight": if bold { "bolder" } else { "default" }});
    let title = json!({
        "type": "RichTextBlock",
        "inlines": [{"type": "TextRun", "text": title, "weight": "bolder", "size": "medium", "color": color}],
    });
    let line = |(name, text): &(&str, String)| {
        let name = (!name.is_empty()).then(|| run(&format!("{name}: "), true));
        let inlines: Vec<_> = name.into_iter().chain([run(text, false)]).collect();
        json!({"type": "RichTextBlock", "inlines": inlines})
    };
    let body: Vec<_> = [title].into_iter().chain(lines.iter().map(line)).collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": {"width": "Full"},
                "body": body,
            },
        }],
    })
}

/// A message with an embed. The lines are in a code block, in which Discord reads no markup, and mentions are off.
pub(super) fn discord(delivery: &Delivery, cluster: Option<&str>) -> Value {
    let Text { title, lines, severity } = text(delivery, cluster);
    let color = match severity {
        Some(Severity::Critical) => 0x00d9_2d20,
        Some(Severity::Warning) => 0x00f7_9009,
        Some(Severity::Info) => 0x0066_7085,
        None => 0x0012_b76a,
    };
    json!({
        "allowed_mentions": {"parse": []},
        "embeds": [{
            "title": escape_discord(&text::cut(&title, 120)),
            "description": format!("```\n{}\n```", text::cut(&joined(&lines), 3500).replace('`', "'")),
            "color": color,
        }],
    })
}

/// Escapes Markdown. A space without width keeps an address from becoming a link and a name from being a mention.
fn escape_discord(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '<' | '[' | ']' | '(' | ')' | '#') {
            out.push('\\');
        }
        out.push(c);
        if matches!(c, '@' | ':') {
            out.push('\u{200b}');
        }
    }
    out
}
