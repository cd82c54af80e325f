//! Codes of errors: of gRPC, of HTTP and of the kernel.

/// The codes that a message states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codes {
    pub grpc: Option<Grpc>,
    pub http: Option<u16>,
    /// Name of the kernel's error, such as `ENOSPC`.
    pub errno: Option<&'static str>,
}

macro_rules! grpc {
    ($($name:ident: $($word:literal)*;)*) => {
        /// A status code of gRPC other than OK.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Grpc { $($name),* }

        impl Grpc {
            pub fn parse(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Words in lower case that state the same as the code.
            fn words(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($word),*]),* }
            }
        }
    };
}

grpc! {
    Canceled: "cancel";
    Unknown: "";
    InvalidArgument: "invalid" "must" "missing" "require" "not support";
    DeadlineExceeded: "deadline" "timeout" "timed out" "timeout";
    NotFound: "not found" "no such" "not exist" "doesn't exist" "missing";
    AlreadyExists: "exist" "already";
    PermissionDenied: "denied" "permission" "forbidden" "not authorized" "unauthorized" "privilege" "403";
    ResourceExhausted: "exhausted" "too many" "limit" "quota" "no space" "not enough" "insufficient" "exceed" "full";
    FailedPrecondition: "precondition" "not ready" "already" "not available" "in use" "must";
    Aborted: "abort" "already" "in progress" "pending";
    OutOfRange: "range" "too large" "too small" "exceed" "limit" "capacity" "size";
    Unimplemented: "implement" "support";
    Internal: "";
    Unavailable: "unavailable" "refused" "connection" "closed" "dial" "unreachable" "timeout";
    DataLoss: "loss" "corrupt";
    Unauthenticated: "unauth" "not auth" "credential" "expired" "login" "401";
}

impl Grpc {
    /// Whether the code adds something to an error: it is specific, and the error does not state the same in words.
    pub(super) fn adds_to(self, error: &str) -> bool {
        let error = error.to_ascii_lowercase();
        !self.words().iter().any(|word| error.contains(word))
    }
}

/// What the C library prints for the kernel's errors, in lower case, and their names.
const ERRNOS: &[(&str, &str)] = &[
    ("no such file or directory", "ENOENT"),
    ("permission denied", "EACCES"),
    ("operation not permitted", "EPERM"),
    ("no space left on device", "ENOSPC"),
    ("connection refused", "ECONNREFUSED"),
    ("connection reset by peer", "ECONNRESET"),
    ("connection timed out", "ETIMEDOUT"),
    ("no route to host", "EHOSTUNREACH"),
    ("network is unreachable", "ENETUNREACH"),
    ("host is down", "EHOSTDOWN"),
    ("address already in use", "EADDRINUSE"),
    ("cannot assign requested address", "EADDRNOTAVAIL"),
    ("invalid argument", "EINVAL"),
    ("device or resource busy", "EBUSY"),
    ("resource temporarily unavailable", "EAGAIN"),
    ("resource busy", "EBUSY"),
    ("not a directory", "ENOTDIR"),
    ("is a directory", "EISDIR"),
    ("file exists", "EEXIST"),
    ("directory not empty", "ENOTEMPTY"),
    ("read-only file system", "EROFS"),
    ("stale nfs file handle", "ESTALE"),
    ("stale file handle", "ESTALE"),
    ("transport endpoint is not connected", "ENOTCONN"),
    ("input/output error", "EIO"),
    ("exec format error", "ENOEXEC"),
    ("argument list too long", "E2BIG"),
    ("too many open files", "EMFILE"),
    ("too many levels of symbolic links", "ELOOP"),
    ("disk quota exceeded", "EDQUOT"),
    ("cannot allocate memory", "ENOMEM"),
    ("no such device or address", "ENXIO"),
    ("no such device", "ENODEV"),
    ("no such process", "ESRCH"),
    ("protocol not supported", "EPROTONOSUPPORT"),
    ("operation not supported", "EOPNOTSUPP"),
];

/// The kernel's error that a clause ends with.
pub(super) fn errno(clause: &str) -> Option<&'static str> {
    let clause = clause.trim_end_matches(['.', '"', ')', '\'']);
    let ends = |words: &str| {
        let from = clause.len().checked_sub(words.len());
        from.and_then(|from| clause.get(from..)).is_some_and(|end| end.eq_ignore_ascii_case(words))
    };
    ERRNOS.iter().find(|(words, _)| ends(words)).map(|(_, name)| *name)
}

/// Whether a word is the name of a kernel's error, such as `eacces`.
pub(super) fn is_errno(word: &str) -> bool {
    ERRNOS.iter().any(|(_, name)| word.eq_ignore_ascii_case(name))
}

/// Words of the kernel's errors that programs report by number.
const NUMBERED: &[(u32, &str)] = &[
    (1, "operation not permitted"),
    (2, "no such file or directory"),
    (5, "input/output error"),
    (6, "no such device or address"),
    (12, "cannot allocate memory"),
    (13, "permission denied"),
    (16, "device or resource busy"),
    (17, "file exists"),
    (19, "no such device"),
    (22, "invalid argument"),
    (28, "no space left on device"),
    (95, "operation not supported"),
    (101, "network is unreachable"),
    (107, "transport endpoint is not connected"),
    (108, "host is down"),
    (110, "connection timed out"),
    (111, "connection refused"),
    (112, "host is down"),
    (113, "no route to host"),
    (115, "operation now in progress"),
    (116, "stale file handle"),
    (122, "disk quota exceeded"),
    (126, "required key not available"),
];

/// What the C library prints for an error of Linux.
pub(super) fn words_of(number: u32) -> Option<&'static str> {
    NUMBERED.iter().find(|(of, _)| *of == number).map(|(_, words)| *words)
}

/// The HTTP status at the start of a text: `403 Forbidden`, `403`.
pub(super) fn http(text: &str) -> Option<u16> {
    let digits = text.get(..3)?;
    let is_alone = text.as_bytes().get(3).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'.');
    digits.parse().ok().filter(|status| is_alone && (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_shown_only_where_no_word_states_it() {
        let adds = |code: &str, error: &str| Grpc::parse(code).unwrap().adds_to(error);
        assert!(!adds("ResourceExhausted", "Too many volumes attached to the node"));
        assert!(adds("Aborted", "volume pvc-1 is being resized"));
        assert!(!adds("Internal", "Attach failed"));
        assert_eq!(Grpc::parse("OK"), None);
    }

    #[test]
    fn finds_errno_and_status() {
        assert_eq!(errno("mkdir /x: Read-only file system."), Some("EROFS"));
        assert_eq!(errno("not a directory entry"), None);
        assert_eq!(http("403 Forbidden"), Some(403));
        assert_eq!(http("4034"), None);
        assert_eq!(http("500m"), None);
        assert_eq!(http("診"), None);
    }
}
