//! Opens the page in the browser of the user, without a shell.

use std::convert::Infallible;
use std::env;
use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};

/// Opens a URL, if there is one. If that fails, prints why. Does not end otherwise.
pub(super) async fn open(url: Option<String>, err: &mut dyn Write) -> io::Result<Infallible> {
    if let Some(url) = url
        && let Err(why) = start(url).await
    {
        writeln!(err, "warning: cannot open a browser: {why}. Open the URL yourself, in a browser on this machine.")?;
        err.flush()?;
    }
    std::future::pending().await
}

async fn start(url: String) -> Result<(), String> {
    if is_without_display(|name| env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Err("there is no display (DISPLAY and WAYLAND_DISPLAY are not set)".to_owned());
    }
    // The program may run as long as the browser.
    let ended = tokio::task::spawn_blocking(move || run(&url)).await;
    ended.map_err(|error| error.to_string())?
}

/// Without a display, `xdg-open` starts a browser in the terminal.
fn is_without_display(is_set: impl Fn(&str) -> bool) -> bool {
    let has_displays = cfg!(unix) && !cfg!(target_os = "macos");
    has_displays && !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set)
}

/// The program that opens a URL in the browser that the user has chosen, and its first argument.
const fn opener() -> (&'static str, Option<&'static str>) {
    if cfg!(target_os = "macos") {
        ("open", None)
    } else if cfg!(windows) {
        ("rundll32", Some("url.dll,FileProtocolHandler"))
    } else {
        ("xdg-open", None)
    }
}

fn run(url: &str) -> Result<(), String> {
    let (program, first) = opener();
    let mut command = Command::new(program);
    command.args(first).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed ({status})")),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(format!("{program} is not installed")),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_browser_needs_a_display() {
        assert!(is_without_display(|_| false));
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
            assert!(!is_without_display(|of| of == name), "{name}");
        }
    }
}
