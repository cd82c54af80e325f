//! Descriptions of exit codes, signals and final log lines.

use super::end::display_name;
use super::log_line;
use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{Container, Terminated, format_bytes};
use crate::language::{Language, phrase, translate};
use crate::message::windows;
use crate::signals::restarts;

/// A signal that a process causes itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signal {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

pub(crate) fn native_signal(language: Language, number: i32) -> Option<Signal> {
    let (name, meaning) = match number {
        4 => ("SIGILL", phrase!(language, "an instruction that this CPU does not know", "この CPU が知らない命令")),
        5 => ("SIGTRAP", phrase!(language, "a trap of its own", "自らの trap")),
        6 => ("SIGABRT", phrase!(language, "it aborted itself", "自ら abort した")),
        7 => ("SIGBUS", phrase!(language, "memory behind a mapping was gone", "マップしたメモリの実体が失われた")),
        8 => ("SIGFPE", phrase!(language, "an arithmetic error", "算術エラー")),
        11 => ("SIGSEGV", phrase!(language, "an invalid memory access", "不正なメモリアクセス")),
        13 => ("SIGPIPE", phrase!(language, "it wrote to a closed pipe", "閉じた pipe に書き込んだ")),
        31 => ("SIGSYS", phrase!(language, "a system call that seccomp forbids", "seccomp が禁じるシステムコール")),
        _ => return None,
    };
    Some(Signal { name, meaning })
}

/// The common meaning of an exit code.
fn meaning(language: Language, code: i32) -> Option<&'static str> {
    Some(match code {
        1 => phrase!(language, "general error", "一般的なエラー"),
        2 => phrase!(language, "wrong usage, or a Go panic", "誤った使い方、または Go の panic"),
        64 => phrase!(language, "wrong usage", "誤った使い方"),
        65 => phrase!(language, "bad input data", "入力データの誤り"),
        66 => phrase!(language, "input missing", "入力がない"),
        69 => phrase!(language, "a service is unavailable", "サービスが利用できない"),
        70 => phrase!(language, "internal error", "内部エラー"),
        71 => phrase!(language, "operating system error", "OS のエラー"),
        73 => phrase!(language, "cannot create a file", "ファイルを作成できない"),
        74 => phrase!(language, "input/output error", "入出力エラー"),
        77 => phrase!(language, "permission denied", "権限なし"),
        78 => phrase!(language, "configuration error", "設定エラー"),
        124 => phrase!(language, "timed out", "タイムアウト"),
        126 => phrase!(language, "a command is not executable", "コマンドを実行できない"),
        127 => phrase!(language, "a command or library was not found", "コマンドまたはライブラリが見つからない"),
        128 => phrase!(language, "an invalid exit code", "無効な終了コード"),
        129 => "SIGHUP",
        130 => "SIGINT",
        131 => "SIGQUIT",
        137 => "SIGKILL",
        143 => "SIGTERM",
        255 => phrase!(language, "exit(-1), or a file that cannot be executed", "exit(-1)、または実行できないファイル"),
        _ => return None,
    })
}

/// The common meaning of the run's exit code, or the name of its signal.
pub(crate) fn meaning_of(language: Language, run: &Terminated) -> Option<&'static str> {
    let signal = || Some(native_signal(language, run.ending_signal()?)?.name);
    meaning(language, run.exit_code).or_else(signal)
}

/// A Windows status in words: `0xC0000135 STATUS_DLL_NOT_FOUND, a DLL is missing`.
pub(crate) fn windows_words(code: i32) -> Option<String> {
    let status = windows::of_exit(code)?;
    Some(format!("{}, {}", status.title, status.meaning))
}

/// Formats the exit code: `code 1 (general error)`.
pub(crate) fn ended_with(language: Language, run: &Terminated) -> String {
    let meaning = meaning_of(language, run).map(str::to_owned);
    match meaning.or_else(|| windows_words(run.exit_code)) {
        Some(meaning) => {
            translate!(language, "code {code} ({meaning})", "コード {code} ({meaning})", code = run.exit_code, meaning)
        }
        None => translate!(language, "code {code}", "コード {code}", code = run.exit_code),
    }
}

/// Formats the time: ` 9 s after each start`, with its leading space.
fn when(case: &Case<'_>, container: &Container) -> String {
    restarts::rhythm(case, container).map_or_else(String::new, |words| format!(" {words}"))
}

/// Formats the termination: `web exits with code 1 (general error) 3 s after each start: "..."; 7 restarts, back-off
/// 5m`.
pub(crate) fn ended(case: &Case<'_>, container: &Container, run: &Terminated) -> String {
    translate!(
        case,
        "{container} exits with {end}{when}{line}{tail}",
        "{container} が{when}終了する: {end}{line}{tail}",
        container = display_name(container),
        end = ended_with(case.language(), run),
        when = when(case, container),
        line = log_line::quoted(case, container, run, 130),
        tail = restarts::tail(case, container)
    )
}

/// The container's memory limit, as evidence.
pub(crate) fn memory_limit(container: &Container) -> Evidence {
    evidence::field(
        format!("{}.resources.limits.memory", container.spec_path()),
        container.limits.memory.map_or_else(|| "none".to_owned(), format_bytes),
    )
}
