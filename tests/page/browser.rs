//! A real Chromium without a window, asked by the DevTools protocol over a pipe: no port, and no library for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long one answer may take, a start on a busy machine included.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a page may take to become what is expected of it, in ms.
const SOON: u32 = 20_000;

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    asked: u64,
    session: Option<String>,
    /// What the page was told of, and by it.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads from 3 and writes to 4; a shell can give it those.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "chromium"])
            .args(["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run"])
            // No word to anybody but the page: there may be no network, and there is nothing to be said.
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
        let mut browser = Self { child, to, from, asked: 0, session: None, events: Vec::new(), _profile: profile };
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
        self.asked += 1;
        let mut question = json!({"id": self.asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            question["sessionId"] = session.clone().into();
        }
        let mut line = question.to_string().into_bytes();
        line.push(0);
        self.to.write_all(&line).expect("chromium is there: apt-get install chromium");
        loop {
            let said = self.next(method);
            if said["id"] == self.asked {
                return if said["error"].is_null() { Ok(said["result"].clone()) } else { Err(said["error"].clone()) };
            }
            self.events.push(said);
        }
    }

    fn next(&self, what: &str) -> Value {
        let said = self.from.recv_timeout(PATIENCE);
        said.unwrap_or_else(|e| panic!("chromium does not answer {what} ({e}): is it installed?"))
    }

    /// Waits until an event comes that has not been waited for.
    fn event(&mut self, method: &str) {
        if let Some(at) = self.events.iter().position(|event| event["method"] == method) {
            self.events.remove(at);
            return;
        }
        loop {
            let said = self.next(method);
            if said["method"] == method {
                return;
            }
            self.events.push(said);
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        let gone = self.call("Page.navigate", &json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {}", gone["errorText"]);
        self.event("Page.loadEventFired");
    }

    /// What an expression is, in the page; a promise is waited for.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let answer = self.try_call("Runtime.evaluate", &asked)?;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        Ok(answer["result"]["value"].clone())
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// Waits, in the page, until something is so.
    pub(crate) fn until(&mut self, what: &str) {
        let waits = format!(
            "new Promise((done) => {{ const end = Date.now() + {SOON}; const look = () => {{
               if ({what}) done(true); else if (Date.now() > end) done(false); else setTimeout(look, 30); }}; look(); }})"
        );
        // Another page may come while one waits for it; then that is asked.
        const PAGES: usize = 5;
        let answer = (0..PAGES).find_map(|_| self.try_eval(&waits).ok());
        if answer != Some(true.into()) {
            let page = self.text("document.body.innerText");
            panic!("never so: {what}\n{page}");
        }
    }

    /// A window of this size, in the colours that are wished for.
    pub(crate) fn window(&mut self, width: u32, height: u32, colours: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let wish = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
        self.call("Emulation.setEmulatedMedia", &wish);
    }

    /// Types what is typed on a keyboard; `Enter` by its name.
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

    /// Errors and warnings of the console, what the policy stopped, and what a script threw.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // Whatever was said before this answer has come.
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
        // With all its helpers: they are of its group.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
