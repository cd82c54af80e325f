//! Removes what SDKs and runtimes put around an error: request IDs, status fields, encoded messages, mount flags.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::code;

/// What becomes of a mark and the text after it.
#[derive(Clone, Copy)]
enum Change {
    /// The mark is removed.
    Mark,
    /// The mark and its value are removed. The value ends at a comma or a blank.
    Field,
    /// The same, and the value is an HTTP status.
    Status,
    /// The same, if a request ID follows; else it belongs to the sentence.
    StatusOfRequest,
    /// `operation error EC2: AttachVolume, ` becomes `EC2 AttachVolume: `.
    Operation,
    /// `Code="X" Message="Y" Target="z"` becomes `X: Y`.
    CodeAndMessage,
    /// The mark is removed up to a closing bracket.
    Bracket,
    /// The mark is removed up to the end of a list.
    List,
    /// The mark becomes a colon, because the message follows.
    Colon,
    /// `, flags: 0x5001, data: x` is removed up to the next clause.
    Flags,
}

/// The marks. Sources: aws-sdk-go-v2 (smithy-go), aws-sdk-go, azure-sdk-for-go, google-api-go-client, runc.
const MARKS: &[(&str, Change)] = &[
    ("operation error ", Change::Operation),
    ("https response error ", Change::Mark),
    ("exceeded maximum number of attempts, ", Change::Field),
    ("api error ", Change::Mark),
    ("StatusCode: ", Change::Status),
    ("HTTPStatusCode: ", Change::Status),
    ("StatusCode=", Change::Status),
    ("status code: ", Change::StatusOfRequest),
    ("RequestID: ", Change::Field),
    ("RequestId: ", Change::Field),
    ("Request ID: ", Change::Field),
    ("request id: ", Change::Field),
    ("request ID: ", Change::Field),
    ("HostID: ", Change::Field),
    ("host id: ", Change::Field),
    ("Trace ID: ", Change::Field),
    ("Correlation ID: ", Change::Field),
    ("Encoded authorization failure message: ", Change::Field),
    ("Retriable: ", Change::Field),
    ("RetryAfter: ", Change::Field),
    ("RawError: ", Change::Mark),
    ("-- Original Error: ", Change::Mark),
    ("googleapi: Error ", Change::Status),
    ("googleapi: got HTTP response code ", Change::Status),
    (" occurred while running rbd args: [", Change::List),
    ("Code=\"", Change::CodeAndMessage),
    ("(via /proc/self/fd/", Change::Bracket),
    (", flags: 0x", Change::Flags),
    ("ErrorCode=", Change::Mark),
    (", ErrorMessage=", Change::Colon),
    ("opId: ", Change::Field),
    (", opId: ", Change::Field),
    (". opId: ", Change::Field),
    ("get identity: get credentials: ", Change::Mark),
    ("get identity: ", Change::Mark),
    ("failed to refresh cached credentials, ", Change::Mark),
    ("failed to retrieve credentials, ", Change::Mark),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    // A DFA takes ten times the memory, 700 kB.
    let builder = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(MARKS.iter().map(|(mark, _)| mark));
    builder.ok()
});

/// The text without the parts that describe a request, and the HTTP status among them. Takes linear time.
pub(super) fn without_requests(text: &str) -> (Cow<'_, str>, Option<u16>) {
    let Some(finder) = &*FINDER else { return (text.into(), None) };
    let (mut out, mut status, mut from) = (String::new(), None, 0);
    for found in finder.find_iter(text) {
        if found.start() < from {
            continue;
        }
        let (_, change) = MARKS[found.pattern().as_usize()];
        let rest = &text[found.end()..];
        let (kept, length): (Cow<'_, str>, usize) = match change {
            Change::Mark => ("".into(), 0),
            Change::Colon => (": ".into(), 0),
            Change::Field => ("".into(), value_length(rest)),
            Change::Status => {
                status = status.or(code::http(rest));
                ("".into(), value_length(rest))
            }
            Change::StatusOfRequest => {
                let length = value_length(rest);
                if !rest[length..].trim_start().starts_with("request id: ") {
                    continue;
                }
                status = status.or(code::http(rest));
                ("".into(), length)
            }
            Change::Operation => match operation(rest) {
                Some(found) => found,
                None => continue,
            },
            Change::CodeAndMessage => match code_and_message(rest) {
                Some(found) => found,
                None => continue,
            },
            Change::Bracket => ("".into(), rest.find(')').map_or(0, |at| at + 1)),
            Change::List => ("".into(), rest.find(']').map_or(0, |at| at + 1)),
            Change::Flags => ("".into(), rest.find(": ").filter(|at| *at < 80).unwrap_or(0)),
        };
        out.push_str(&text[from..found.start()]);
        // An SDK wraps the error of another service after a comma.
        if matches!(change, Change::Operation) && out.ends_with(", ") {
            out.truncate(out.len() - 2);
            out.push_str(": ");
        }
        out.push_str(&kept);
        from = found.end() + length;
        if text[from..].trim().is_empty() || rest[length..].starts_with('\n') || matches!(change, Change::Bracket) {
            out.truncate(out.trim_end_matches([' ', ',', ';', '\n', '(']).len());
        }
    }
    if from == 0 {
        return (text.into(), status);
    }
    out.push_str(&text[from..]);
    out.truncate(out.trim_end().len());
    (out.into(), status)
}

/// Bytes of a value and of the comma or the blank after it.
fn value_length(rest: &str) -> usize {
    let end = rest.find([',', ' ', '\n', ';', ')']).unwrap_or(rest.len());
    let after = &rest[end..];
    end + if after.starts_with(", ") { 2 } else { usize::from(after.starts_with([' ', ','])) }
}

/// Service and operation of `EC2: AttachVolume, ...`.
fn operation(rest: &str) -> Option<(Cow<'_, str>, usize)> {
    let (service, after) = rest.split_once(": ")?;
    let is_word = |word: &str| word.len() < 60 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b" -".contains(&b));
    let name = after.split([',', ' ']).next()?;
    if !is_word(service) || !is_word(name) {
        return None;
    }
    let length = service.len() + 2 + name.len();
    let comma = if rest[length..].starts_with(", ") { 2 } else { 0 };
    Some((format!("{service} {name}: ").into(), length + comma))
}

/// Code and message of Azure's older SDK.
fn code_and_message(rest: &str) -> Option<(Cow<'_, str>, usize)> {
    let (code, after) = rest.split_once('"')?;
    let message = after.strip_prefix(" Message=\"")?;
    let end = message.find("\" Target=").or_else(|| message.find("\" Details=")).or_else(|| message.rfind('"'));
    let text = &message[..end.unwrap_or(message.len())];
    // What follows is the target of the request, and a list that repeats the message.
    Some((format!("{code}: {text}").into(), rest.len()))
}

#[cfg(test)]
mod tests {
    use super::without_requests;

    #[test]
    fn requests_are_removed_and_the_error_stays() {
        for (text, expected, status) in [
            (
                "could not attach volume \"vol-1\" to node \"i-1\": operation error EC2: AttachVolume, https response error StatusCode: 400, RequestID: 6f2a-1, api error VolumeInUse: vol-1 is already attached to an instance",
                "could not attach volume \"vol-1\" to node \"i-1\": EC2 AttachVolume: VolumeInUse: vol-1 is already attached to an instance",
                Some(400),
            ),
            (
                "UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: rDx0J8 \n\tstatus code: 403, request id: 0f1e",
                "UnauthorizedOperation: You are not authorized to perform this operation.",
                Some(403),
            ),
            (
                r#"compute.DisksClient#Get: Failure responding to request: StatusCode=404 -- Original Error: autorest/azure: Service returned an error. Status=404 Code="ResourceNotFound" Message="The Resource 'disks/d1' was not found." Target="x""#,
                "compute.DisksClient#Get: Failure responding to request: autorest/azure: Service returned an error. Status=404 ResourceNotFound: The Resource 'disks/d1' was not found.",
                Some(404),
            ),
            (
                "could not create volume in EC2: operation error EC2: CreateVolume, get identity: get credentials: failed to refresh cached credentials, failed to retrieve credentials, operation error STS: AssumeRoleWithWebIdentity, https response error StatusCode: 403, RequestID: 5b0e-1, api error AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity",
                "could not create volume in EC2: EC2 CreateVolume: STS AssumeRoleWithWebIdentity: AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity",
                Some(403),
            ),
            ("fault: The volume is in use.. opId: \"67d6\"", "fault: The volume is in use.", None),
            ("mount /a:/b (via /proc/self/fd/6), flags: 0x5001: not a directory", "mount /a:/b: not a directory", None),
            ("server answered with status code: 500 at /x", "server answered with status code: 500 at /x", None),
        ] {
            let (found, code) = without_requests(text);
            assert_eq!((&*found, code), (expected, status));
        }
    }
}
