//! Replaces serialized objects in a text: JSON by the message in it, Go structs by nothing.

use std::borrow::Cow;

/// Keys of JSON errors that hold the message, the best first.
const MESSAGES: &[&str] = &["message", "Message", "msg", "error_description", "errorMessage", "detail", "error"];

/// Keys that hold a code: a word, shown before the message.
const CODES: &[&str] = &["code", "Code"];

/// Objects that are examined: each may be as long as the text.
const EXAMINED: usize = 16;

/// Bytes from which braces with several colons count as a struct, not as a word such as `{key: value}`.
const STRUCT_LENGTH: usize = 60;

/// The text with its serialized objects replaced. Takes linear time.
pub(crate) fn without_objects(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find('{') else { return text.into() };
    let mut out = String::from(&text[..first]);
    let mut from = first;
    for _ in 0..EXAMINED {
        let Some(found) = text[from..].find('{') else { break };
        let start = from + found;
        out.push_str(&text[from..start]);
        let end = end_of(text, start);
        let object = &text[start..end];
        if is_json(object) {
            trim_prefix(&mut out);
            let message = message_of(object);
            if !message.is_empty() {
                // A line of its own stays one.
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push(' ');
                }
                out.push_str(&message);
            }
            from = end + text[end..].len() - text[end..].trim_start_matches([']', '}']).len();
            // The value of a field: `Invalid value: {...}: it is immutable`.
            if message.is_empty() && out.ends_with(':') && text[from..].starts_with(": ") {
                from += 1;
            }
        } else if is_struct(object) {
            trim_prefix(&mut out);
            if let Some(message) = localized_message(object) {
                out.push(' ');
                out.push_str(message);
            }
            from = end;
            // Objects as go-spew prints them stand in brackets and quotes.
            if object.contains(": (types.") {
                from = text.len() - text[end..].trim_start_matches([')', '\n', '"']).len();
            }
        } else {
            // A nested object is examined on its own.
            out.push('{');
            from = start + 1;
        }
    }
    out.push_str(&text[from..]);
    out.into()
}

/// Where the object ends that begins at `start`; the end of the text where it is cut off.
fn end_of(text: &str, start: usize) -> usize {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'{' if !is_quoted => depth += 1,
            b'}' if !is_quoted => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            // Too long to be examined for each brace.
            _ if at - start > 4 << 10 => return text.len(),
            _ => {}
        }
    }
    text.len()
}

fn is_json(object: &str) -> bool {
    object[1..].trim_start().starts_with('"') && object.contains("\":")
}

fn is_struct(object: &str) -> bool {
    let is_long = object.len() > STRUCT_LENGTH && object.bytes().filter(|b| *b == b':').count() > 2;
    is_long && !object[1..].starts_with(' ')
        || object.contains(": (types.")
        || object.contains(LOCALIZED)
        || object.starts_with("{0xc0")
        || object.contains("RespMetadata:")
}

/// The key of the message of a fault of vSphere, as Go prints structs.
const LOCALIZED: &str = "LocalizedMessage:";

/// The message of a fault of vSphere in a struct: `LocalizedMessage: (string) (len=6) "denied"`, or without the type. A
/// fault that another one caused has its message before that of the other.
fn localized_message(object: &str) -> Option<&str> {
    let messages = object.split(LOCALIZED).skip(1).filter_map(|rest| {
        let value = rest.trim_start();
        let value =
            value.strip_prefix("(string) (len=").and_then(|rest| Some(rest.split_once(") ")?.1)).unwrap_or(value);
        let (message, _) = value.strip_prefix('"')?.split_once('"')?;
        Some(message.trim().trim_end_matches('.'))
    });
    messages.into_iter().find(|message| !message.is_empty())
}

/// Removes what introduces an object: `&v1.Pod`, `[`, `body: `.
fn trim_prefix(out: &mut String) {
    let word = out.rfind([' ', '\n']).map_or(0, |at| at + 1);
    let is_printed = out[word..].trim_start_matches('"').starts_with("(*");
    if out[word..].starts_with('&') || is_printed {
        out.truncate(word);
    } else if let Some(at) = out[word..].find("/&") {
        // The selector of a metric: `shop/s0-kafka/&LabelSelector{...}`.
        out.truncate(word + at);
    }
    if is_printed && out.ends_with("createSpec: ") {
        out.truncate(out.len() - "createSpec: ".len());
    }
    out.truncate(out.trim_end_matches([' ', '[']).len());
}

/// Code and message of a JSON object, `DENIED: requested access is denied`; empty where it has none.
fn message_of(object: &str) -> String {
    let code = CODES.iter().find_map(|key| string(object, key)).filter(|code| !code.contains(' '));
    let message = MESSAGES.iter().find_map(|key| string(object, key)).filter(|message| !message.is_empty());
    match (code, message) {
        (Some(code), Some(message)) if !message.starts_with(&*code) => format!("{code}: {message}"),
        (_, Some(message)) => message.into_owned(),
        (code, None) => code.unwrap_or_default().into_owned(),
    }
}

/// The string of a key, without its escapes.
fn string<'t>(object: &'t str, key: &str) -> Option<Cow<'t, str>> {
    let mut rest = object;
    loop {
        let at = rest.find(key)?;
        let is_key = rest[..at].ends_with('"');
        rest = &rest[at + key.len()..];
        let value = rest.strip_prefix('"').and_then(|rest| rest.trim_start().strip_prefix(':')).map(str::trim_start);
        if let Some(value) = value.filter(|_| is_key).and_then(|value| value.strip_prefix('"')) {
            let mut is_escaped = false;
            let end = value.find(|c| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            let value = value[..end.unwrap_or(value.len())].trim();
            let value = without_lines_of_azure(value);
            return Some(if value.contains('\\') {
                value.replace("\\\"", "\"").replace("\\n", " ").into()
            } else {
                value
            });
        }
    }
}

/// The first line of an error of several lines, with the resource that another line names. Source: Azure role assignments.
fn without_lines_of_azure(value: &str) -> Cow<'_, str> {
    let Some((first, rest)) = value.split_once("\\r\\n").or_else(|| value.split_once("\\r\n")) else {
        return value.into();
    };
    let resource = rest.split_once("Resource: ").and_then(|(_, rest)| rest.split("\\r").next());
    match resource.map(str::trim) {
        Some(resource) if first.ends_with("resource.") => format!("{} {resource}", first.trim_end_matches('.')).into(),
        _ => first.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_objects;

    #[test]
    fn json_is_replaced_by_its_message() {
        for (text, expected) in [
            (
                r#"failed: {"error":{"code":"AuthorizationFailed","message":"The client 'a' may not read"}}"#,
                "failed: AuthorizationFailed: The client 'a' may not read",
            ),
            (
                r#"denied: {"errors":[{"code":"DENIED","message":"requested access to the resource is denied","detail":[]}]}"#,
                "denied: DENIED: requested access to the resource is denied",
            ),
            (r#"cut: {"code":"X","message":"it ends he"#, "cut: X: it ends he"),
            (
                r#"403: {"error":{"code":"Forbidden","message":"Caller is not authorized to perform action on resource.\r\nIf role assignments were changed recently, wait.\r\nAction: 'a'\r\nResource: '/vaults/kv-shop/secrets/db'\r\nAssignment: (not found)"}}"#,
                "403: Forbidden: Caller is not authorized to perform action on resource '/vaults/kv-shop/secrets/db'",
            ),
            (r#"failed, body: {"a": 1}"#, "failed, body:"),
            ("had taint {node.kubernetes.io/not-ready: }, that", "had taint {node.kubernetes.io/not-ready: }, that"),
            ("${HOME} is unset", "${HOME} is unset"),
            (
                "Error: fault: &{{} 0xc0005b6a80 LocalizedMessage: \"Insufficient disk space on datastore 'vsan'.\"}",
                "Error: fault: Insufficient disk space on datastore 'vsan'",
            ),
            (
                "fault: \"(*types.LocalizedMethodFault)(0xc000b2c100)({\n DynamicData: (types.DynamicData) {\n },\n Fault: (*types.ResourceInUse)(0xc0)({\n FaultCause: (*types.LocalizedMethodFault)(<nil>)\n }),\n LocalizedMessage: (string) (len=11) \"It is busy.\"\n})\n\", opId: \"1\"",
                "fault: It is busy, opId: \"1\"",
            ),
            (
                "cannot use &v1.Pod{TypeMeta:v1.TypeMeta{Kind:\"\", APIVersion:\"\"}, ObjectMeta:v1.ObjectMeta{Name:\"a\"}}: no",
                "cannot use: no",
            ),
        ] {
            assert_eq!(without_objects(text), expected);
        }
    }
}
