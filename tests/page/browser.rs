//! A headless Chromium, controlled by the DevTools protocol over a pipe, without a port or a library.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Timeout of one response, including a start on a busy machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout until a page has the expected content, in ms.
const SOON: u32 = 20_000;

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// Received events that were not awaited yet.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads from descriptor 3 and writes to 4, which a shell can open.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "chromium"])
            .args(["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run"])
            // No requests except those of the page: there may be no network.
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu"])
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--lang=en"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("FONTCONFIG_FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/fonts.conf"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            loop {
                let mut message = Vec::new();
                match reader.read_until(0, &mut message) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {
                        message.pop();
                    }
                }
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { child, to, from, last_id: 0, session: None, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = session.clone().into();
        }
        let mut line = request.to_string().into_bytes();
        line.push(0);
        self.to.write_all(&line).expect("chromium is there: apt-get install chromium");
        loop {
            let message = self.next(method);
            if message["id"] == self.last_id {
                return if message["error"].is_null() {
                    Ok(message["result"].clone())
                } else {
                    Err(message["error"].clone())
                };
            }
            self.events.push(message);
        }
    }

    fn next(&self, what: &str) -> Value {
        let message = self.from.recv_timeout(RESPONSE_TIMEOUT);
        message.unwrap_or_else(|e| panic!("chromium does not respond to {what} ({e}): is it installed?"))
    }

    /// Waits until an event comes that has not been waited for.
    fn event(&mut self, method: &str) {
        if let Some(at) = self.events.iter().position(|event| event["method"] == method) {
            self.events.remove(at);
            return;
        }
        loop {
            let message = self.next(method);
            if message["method"] == method {
                return;
            }
            self.events.push(message);
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        let navigation = self.call("Page.navigate", &json!({"url": url}));
        assert!(navigation["errorText"].is_null(), "{url}: {}", navigation["errorText"]);
        self.event("Page.loadEventFired");
    }

    /// Evaluates an expression in the page; awaits a promise.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let params =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let result = self.try_call("Runtime.evaluate", &params)?;
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        Ok(result["result"]["value"].clone())
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// Waits in the page until an expression is true.
    pub(crate) fn until(&mut self, what: &str) {
        let waits = format!(
            "new Promise((done) => {{ const end = Date.now() + {SOON}; const look = () => {{
               if ({what}) done(true); else if (Date.now() > end) done(false); else setTimeout(look, 30); }}; look(); }})"
        );
        // A navigation during the wait aborts it; it is then repeated in the new page.
        const PAGES: usize = 5;
        let result = (0..PAGES).find_map(|_| self.try_eval(&waits).ok());
        if result != Some(true.into()) {
            let page = self.text("document.body.innerText");
            panic!("never so: {what}\n{page}");
        }
    }

    /// Sets the size of the window and the preferred colour scheme.
    pub(crate) fn window(&mut self, width: u32, height: u32, colours: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Presses keys; special keys such as `Enter` by name.
    pub(crate) fn keys(&mut self, keys: &[&str]) {
        for key in keys {
            let text = if *key == "Enter" { "\r" } else { key };
            self.call("Input.dispatchKeyEvent", &json!({"type": "keyDown", "key": key, "text": text}));
            self.call("Input.dispatchKeyEvent", &json!({"type": "keyUp", "key": key}));
        }
    }

    pub(crate) fn picture(&mut self) -> Vec<u8> {
        use base64::Engine;
        let taken = self.call("Page.captureScreenshot", &json!({"format": "png", "optimizeForSpeed": false}));
        base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Errors and warnings of the console, violations of the policy, and exceptions of scripts.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // All earlier events have arrived before this response.
        self.eval("1");
        let bad = |event: &Value| match event["method"].as_str()? {
            "Log.entryAdded" => Some(event["params"]["entry"].to_string()),
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(event["params"].to_string()),
            _ => None,
        };
        self.events.iter().filter_map(bad).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Kills the process group with all helper processes.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
