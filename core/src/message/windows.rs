//! Status codes of Windows: NTSTATUS of programs, and codes of the Host Compute Service (HCS).

#![allow(clippy::unreadable_literal, reason = "the codes are printed as they are written here, as Windows prints them")]

/// A status code of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u32,
    /// Name in the headers of Windows, such as `STATUS_DLL_NOT_FOUND`.
    pub(crate) name: &'static str,
    /// Code and name: `0xC0000135 STATUS_DLL_NOT_FOUND`.
    pub(crate) title: &'static str,
    pub(crate) meaning: &'static str,
}

macro_rules! status {
    ($code:literal, $name:literal, $meaning:literal) => {
        Status { code: $code, name: $name, title: concat!(stringify!($code), " ", $name), meaning: $meaning }
    };
}

/// Statuses that a program ends with. Source: ntstatus.h.
const PROGRAM: &[Status] = &[
    status!(0xC0000005, "STATUS_ACCESS_VIOLATION", "an invalid memory access"),
    status!(0xC0000017, "STATUS_NO_MEMORY", "no memory is left"),
    status!(0xC000001D, "STATUS_ILLEGAL_INSTRUCTION", "an instruction that this CPU does not know"),
    status!(0xC0000022, "STATUS_ACCESS_DENIED", "access is denied"),
    status!(0xC000007B, "STATUS_INVALID_IMAGE_FORMAT", "a program or DLL is of another architecture or damaged"),
    status!(0xC0000094, "STATUS_INTEGER_DIVIDE_BY_ZERO", "a division by zero"),
    status!(0xC00000FD, "STATUS_STACK_OVERFLOW", "a stack overflow"),
    status!(0xC000012D, "STATUS_COMMITMENT_LIMIT", "the memory limit is reached"),
    status!(0xC0000135, "STATUS_DLL_NOT_FOUND", "a DLL is missing"),
    status!(0xC0000138, "STATUS_ORDINAL_NOT_FOUND", "a DLL lacks a function"),
    status!(0xC0000139, "STATUS_ENTRYPOINT_NOT_FOUND", "a DLL lacks a function"),
    status!(0xC000013A, "STATUS_CONTROL_C_EXIT", "ended by Ctrl+C or a close event"),
    status!(0xC0000142, "STATUS_DLL_INIT_FAILED", "a DLL cannot be initialized"),
    status!(0xC0000374, "STATUS_HEAP_CORRUPTION", "a damaged heap"),
    status!(0xC0000409, "STATUS_STACK_BUFFER_OVERRUN", "it aborted itself"),
    status!(0xC0000602, "STATUS_FAIL_FAST_EXCEPTION", "it aborted itself"),
    status!(0xE0434352, "CLR_EXCEPTION", "an unhandled .NET exception"),
];

/// Codes of HCS; as errors of Go they begin with 0xC037. Source: HCSHResult of Microsoft's API reference.
const COMPUTE: &[Status] = &[
    status!(0x80370100, "HCS_E_TERMINATED_DURING_START", "the container exited unexpectedly while starting"),
    status!(0x80370101, "HCS_E_IMAGE_MISMATCH", "the container's Windows version does not match the host's"),
    status!(0x80370102, "HCS_E_HYPERV_NOT_INSTALLED", "Hyper-V is not installed"),
    status!(0x80370103, "HCS_E_OPERATION_PENDING", "the operation is still pending"),
    status!(0x80370105, "HCS_E_INVALID_STATE", "the operation is not valid in the container's current state"),
    status!(0x80370106, "HCS_E_UNEXPECTED_EXIT", "the container exited unexpectedly"),
    status!(0x80370107, "HCS_E_TERMINATED", "the container was forcefully exited"),
    status!(0x80370108, "HCS_E_CONNECT_FAILED", "the compute service cannot connect to the container"),
    status!(0x80370109, "HCS_E_CONNECTION_TIMEOUT", "the container does not answer in time"),
    status!(0x8037010A, "HCS_E_CONNECTION_CLOSED", "the connection to the container was closed"),
    status!(0x8037010D, "HCS_E_INVALID_JSON", "the configuration document is invalid"),
    status!(0x8037010E, "HCS_E_SYSTEM_NOT_FOUND", "the container does not exist"),
    status!(0x8037010F, "HCS_E_SYSTEM_ALREADY_EXISTS", "the container exists already"),
    status!(0x80370110, "HCS_E_SYSTEM_ALREADY_STOPPED", "the container is stopped already"),
];

/// Statuses of programs that crash.
const CRASHES: &[&str] = &[
    "STATUS_ACCESS_VIOLATION",
    "STATUS_ILLEGAL_INSTRUCTION",
    "STATUS_INTEGER_DIVIDE_BY_ZERO",
    "STATUS_STACK_OVERFLOW",
    "STATUS_HEAP_CORRUPTION",
    "STATUS_STACK_BUFFER_OVERRUN",
    "STATUS_FAIL_FAST_EXCEPTION",
];

/// The status that a program crashed with.
pub(crate) fn crash(code: i32) -> Option<Status> {
    of_exit(code).filter(|status| CRASHES.contains(&status.name))
}

/// The status that a program ended with. Exit codes of Windows are 32 bits, which the API shows as a negative number.
pub(crate) fn of_exit(code: i32) -> Option<Status> {
    PROGRAM.iter().find(|status| status.code == code.cast_unsigned()).copied()
}

/// The status of HCS that a text names only by its code: `failure in a Windows system call (0xc0370106)`.
pub(crate) fn of_compute(text: &str) -> Option<Status> {
    text.match_indices("0x").chain(text.match_indices("0X")).find_map(|(at, _)| {
        let digits = text.get(at + 2..at + 10)?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        COMPUTE.iter().find(|status| status.code == code & !0x4000_0000).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_found_by_exit_code_and_in_texts() {
        assert_eq!(of_exit(-1_073_741_515).map(|status| status.name), Some("STATUS_DLL_NOT_FOUND"));
        assert_eq!(of_exit(-1), None);
        let found = |text| of_compute(text).map(|status| status.name);
        assert_eq!(found("failure in a Windows system call (0xc0370106)"), Some("HCS_E_UNEXPECTED_EXIT"));
        assert_eq!(found("it ends with 0x80370110 and 0x57"), Some("HCS_E_SYSTEM_ALREADY_STOPPED"));
        assert_eq!(found("failed in Win32: no (0x57)"), None);
    }
}
