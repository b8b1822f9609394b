//! A headless Chromium, driven over the WebDriver protocol (W3C, WebDriver 2)
//! through chromedriver: the handful of its commands that the tests need.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

/// Longest wait for one command, and for something to happen on the page.
const PATIENCE: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(100);

/// A browser with one page open; it ends when it is dropped.
pub struct Browser {
    driver: Child,
    runtime: Runtime,
    client: reqwest::Client,
    base: String,
}

/// Whether a driver is on the path. In CI there has to be one.
pub fn is_there() -> bool {
    let version = Command::new("chromedriver").arg("--version").output();
    let there = version.is_ok_and(|output| output.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(there || !in_ci, "CI has no chromedriver: install chromium and chromium-driver");
    if !there {
        eprintln!("skipped: chromedriver is not installed");
    }
    there
}

impl Browser {
    pub fn start() -> Self {
        // The port is free again by the time that the driver takes it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let mut browser =
            Self { driver, runtime, client, base: format!("http://127.0.0.1:{port}") };
        browser.wait_for("the driver", |b| b.sent("GET", "/status", None).is_ok());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--hide-scrollbars",
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "timeouts": {"script": PATIENCE.as_millis() as u64},
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
        }}});
        let session = browser.post("/session", &wanted);
        browser.base += &format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser
    }

    /// Sends a command; the error is that of the protocol.
    fn sent(&self, method: &str, path: &str, body: Option<&Json>) -> Result<Json, String> {
        let url = format!("{}{path}", self.base);
        let mut request = self.client.request(method.parse().unwrap(), url);
        if let Some(body) = body {
            request = request.json(body);
        }
        self.runtime.block_on(async {
            let answer = request.send().await.map_err(|why| why.to_string())?;
            let failed = !answer.status().is_success();
            let mut answer: Json = answer.json().await.map_err(|why| why.to_string())?;
            let value = answer["value"].take();
            if failed {
                Err(value["error"].as_str().unwrap_or_default().to_owned())
            } else {
                Ok(value)
            }
        })
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Json) -> Json {
        self.sent("POST", path, Some(body)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    fn devtools(&self, command: &str, parameters: Json) {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// Size of the page in CSS pixels, and its theme.
    pub fn look(&self, width: u32, height: u32, theme: &str) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size);
        let theme = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.devtools("Emulation.setEmulatedMedia", theme);
    }

    /// Whether scripts of the page run.
    pub fn scripts(&self, run: bool) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": !run}));
    }

    pub fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// The value of a function's body, run in the page.
    #[track_caller]
    pub fn run(&self, script: &str) -> Json {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression of the page is true.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        self.wait_for(expression, |b| b.run(&script) == true);
    }

    #[track_caller]
    fn wait_for(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let tries = PATIENCE.as_millis() / TICK.as_millis();
        for _ in 0..tries {
            if done(self) {
                return;
            }
            std::thread::sleep(TICK);
        }
        panic!("never happened: {what}");
    }

    /// Presses and releases a key.
    pub fn press(&self, key: char) {
        let keys =
            [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "k", "actions": keys}]}));
    }

    /// Whether a dialogue is open.
    pub fn is_alerted(&self) -> bool {
        self.sent("GET", "/alert/text", None).is_ok()
    }

    /// Warnings and errors of the page, policies that it broke among them.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let entries = log.as_array().unwrap().iter();
        let bad = entries.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        bad.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// What is seen now.
    pub fn screenshot(&self, file: &Path) {
        let image = self.sent("GET", "/screenshot", None).unwrap();
        std::fs::write(file, decoded(image.as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser that it started.
        let _ = self.sent("DELETE", "", None);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Bytes of a text in base64 (RFC 4648 §4).
fn decoded(text: &str) -> Vec<u8> {
    let six = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let signs: Vec<u32> = text.bytes().filter(|&c| c != b'=').map(|c| u32::from(six(c))).collect();
    let mut bytes = Vec::with_capacity(signs.len() * 3 / 4);
    for four in signs.chunks(4) {
        let bits = four.iter().fold(0, |bits, six| bits << 6 | six) << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
