//! A server on loopback that answers by a script: what no provider does on
//! demand. It speaks HTTP/1.1 with connections kept alive.
#![allow(dead_code, reason = "each suite uses its part")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How often a connection that waits looks whether the server is gone.
const TICK: Duration = Duration::from_millis(5);

/// A request that came in.
#[derive(Clone, Debug)]
pub struct Received {
    /// From 0, over all connections.
    pub number: usize,
    pub method: String,
    /// With its query.
    pub path: String,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// Null if it was no JSON.
    pub body: Value,
    /// The body of what is posted and no JSON.
    pub posted: String,
    length: usize,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The last message, as OpenAI's and Anthropic's dialects write it.
    pub fn text(&self) -> String {
        let message = self.body["messages"].as_array().and_then(|all| all.last());
        let content = message.map_or(&Value::Null, |message| &message["content"]);
        let part = || content[0]["text"].as_str();
        content.as_str().or_else(part).unwrap_or_default().to_owned()
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Announces more than it sends, and closes: an orderly end too early.
    Truncate(Vec<u8>),
    /// Sends the head and a part of the body, and resets the connection.
    Reset,
    /// Closes without a word.
    Close,
    /// Never answers.
    Hang,
    /// Sends a body without an end, slowly.
    Drip,
    /// Sends a body without an end, as fast as it is read.
    Flood,
}

impl Act {
    /// An answer in JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        let headers = vec![("content-type", "application/json".to_owned())];
        Act::Answer { status, headers, body }
    }

    /// An error object, as OpenAI writes it.
    pub fn fault(status: u16, code: &str, message: &str) -> Self {
        Self::json(status, &json!({"error": {"code": code, "message": message}}))
    }

    /// A page, as proxies send it.
    pub fn html(status: u16, page: &str) -> Self {
        let headers = vec![("content-type", "text/html".to_owned())];
        Act::Answer { status, headers, body: page.as_bytes().to_vec() }
    }

    /// A completion of OpenAI's, of 10 prompt tokens and 5 others.
    pub fn chat(text: &str) -> Self {
        Self::json(200, &chat(text, "stop"))
    }

    /// With one header more.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Act::Answer { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// The body of a completion of OpenAI's.
pub fn chat(text: &str, finish: &str) -> Value {
    json!({
        "model": "mock-2026",
        "choices": [{
            "message": {"role": "assistant", "content": text},
            "finish_reason": finish,
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

type Script = dyn Fn(&Received) -> Act + Send + Sync;

/// Requests that are kept: each takes 2.5 KB, and the longest test makes very
/// many.
const LOGGED: usize = 1_000;

/// What came in so far.
#[derive(Default)]
struct Log {
    requests: usize,
    /// The first [`LOGGED`] of them.
    first: Vec<Received>,
}

/// The server; it ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    connections: Arc<AtomicUsize>,
    gone: Arc<AtomicBool>,
}

impl Server {
    /// Answers each request by a script.
    pub fn start(script: impl Fn(&Received) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let connections = Arc::new(AtomicUsize::new(0));
        let gone = Arc::new(AtomicBool::new(false));
        let script: Arc<Script> = Arc::new(script);
        let (shared, ends) = (Arc::clone(&log), Arc::clone(&gone));
        let opened = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                opened.fetch_add(1, Ordering::SeqCst);
                let (log, gone) = (Arc::clone(&shared), Arc::clone(&ends));
                let script = Arc::clone(&script);
                // A client that goes away is no failure of the server.
                thread::spawn(move || stream.map(|stream| serve(stream, &*script, &log, &gone)));
            }
        });
        Self { address, log, connections, gone }
    }

    /// Answers the n-th request with the n-th act, and what follows with the
    /// last one.
    pub fn playing(acts: Vec<Act>) -> Self {
        Self::start(move |request| acts[request.number.min(acts.len() - 1)].clone())
    }

    /// `http://127.0.0.1:port`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What came in so far.
    pub fn log(&self) -> Vec<Received> {
        let log = self.log.lock().unwrap();
        assert_eq!(log.first.len(), log.requests, "all of them were kept");
        log.first.clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many requests came in so far.
    pub fn requests(&self) -> usize {
        self.log.lock().unwrap().requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        // Lets the thread that accepts look up.
        let _ = TcpStream::connect(self.address);
    }
}

/// An address at which nobody listens.
pub fn discard() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn serve(
    stream: TcpStream,
    script: &Script,
    log: &Mutex<Log>,
    gone: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    // Nothing is read ahead: what is left unread decides how a connection ends.
    let mut reader = BufReader::with_capacity(1, stream);
    while let Some(mut request) = read(&mut reader)? {
        {
            let mut log = log.lock().unwrap();
            request.number = log.requests;
            log.requests += 1;
            if request.number < LOGGED {
                log.first.push(request.clone());
            }
        }
        let act = script(&request);
        if !matches!(act, Act::Reset) && request.length > 0 {
            reader.read_exact(&mut [0])?;
        }
        match act {
            Act::Answer { status, headers, body } => {
                head(&mut out, status, &headers, body.len())?;
                out.write_all(&body)?;
            }
            Act::Truncate(body) => {
                head(&mut out, 200, &[], body.len() + 100)?;
                return out.write_all(&body);
            }
            Act::Reset => {
                head(&mut out, 200, &[], 1_000)?;
                // With a byte unread, closing resets.
                return out.write_all(b"{\"choices\": [");
            }
            Act::Close => return Ok(()),
            Act::Hang => return until_gone(&out, gone, |_| Ok(())),
            Act::Drip => {
                head(&mut out, 200, &[], usize::MAX >> 1)?;
                return until_gone(&out, gone, |mut out| out.write_all(b" "));
            }
            Act::Flood => {
                head(&mut out, 200, &[], usize::MAX >> 1)?;
                let chunk = vec![b' '; 1 << 16];
                while !gone.load(Ordering::SeqCst) {
                    out.write_all(&chunk)?;
                }
                return Ok(());
            }
        }
    }
    Ok(())
}

fn head(
    out: &mut TcpStream,
    status: u16,
    headers: &[(&'static str, String)],
    length: usize,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    out.write_all((head + "\r\n").as_bytes())
}

/// Does something again and again until the client or the server is gone.
fn until_gone(
    stream: &TcpStream,
    gone: &AtomicBool,
    mut again: impl FnMut(&TcpStream) -> std::io::Result<()>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    let mut rest = [0; 64];
    while !gone.load(Ordering::SeqCst) {
        again(stream)?;
        let mut reader: &TcpStream = stream;
        match reader.read(&mut rest) {
            Ok(0) => return Ok(()),
            Err(why) if !matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(why);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The next request, if the client sends one. Its last byte, a brace, is left
/// unread.
fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![b'}'; length];
    reader.read_exact(&mut body[..length.saturating_sub(1)])?;
    let other = |_| (Value::Null, String::from_utf8_lossy(&body).into_owned());
    let (body, posted) =
        serde_json::from_slice(&body).map_or_else(other, |body| (body, String::new()));
    Ok(Some(Received { number: 0, method, path, headers, body, posted, length }))
}
