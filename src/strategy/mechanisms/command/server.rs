//! A server of the user's: one POST of JSON for each message, each with the id
//! of the session that it belongs to.
//!
//! Redirects are not followed, nothing is sent twice, and no more is read of a
//! body than an answer may be long.

use crate::strategy::mechanism::BuildError;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::timeout;

use super::process::LONGEST;
use crate::text::first_cause;

/// Time that a server gets for the last message.
const MOMENT: Duration = Duration::from_secs(1);

/// Bytes that are read of the body of an error response.
const KEPT: usize = 1_000;

/// The address of a server.
#[derive(Clone, Debug)]
pub(super) struct Address(Url);

impl Address {
    /// Parses an address, which must use HTTP or HTTPS.
    pub fn new(url: &str) -> Result<Self, BuildError> {
        // The address is not quoted: it may contain a password.
        let url = Url::parse(url).map_err(|why| format!("`url` is no address: {why}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("`url` must begin with http:// or https:// and name a host".into());
        }
        Ok(Self(url))
    }

    /// Whether it is on this machine: then no proxy is used.
    fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback() || ip.is_unspecified(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }
}

impl fmt::Display for Address {
    /// Without user, password, query and fragment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.origin().ascii_serialization(), self.0.path())
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("HTTPS cannot be set up: {0}")]
    Tls(String),
    #[error("no connection: {0}")]
    Unreachable(String),
    #[error("no whole answer within {0} s")]
    Late(f64),
    #[error("it answered with status {status}{}", redirected(*.status))]
    Status {
        status: StatusCode,
        /// The beginning of the response's body.
        words: String,
    },
    #[error("its answer is longer than {} MB", LONGEST >> 20)]
    Long,
    #[error("its answer is not UTF-8")]
    Encoding,
    #[error("the connection broke off: {0}")]
    Broken(String),
}

fn redirected(status: StatusCode) -> &'static str {
    if status.is_redirection() { "; redirects are not followed" } else { "" }
}

/// A session of a server.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    url: Url,
    session: String,
}

impl Server {
    /// Opens a session; nothing is sent yet.
    pub fn open(address: &Address) -> Result<Self, Fault> {
        let mut builder = Client::builder()
            .user_agent(concat!("recap/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never());
        if address.is_local() {
            builder = builder.no_proxy();
        }
        if address.0.scheme() == "http" {
            // No certificates are needed, which a small system may not have.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|why| Fault::Tls(first_cause(&why)))?;
        Ok(Self { client, url: address.0.clone(), session: session() })
    }

    /// Sends a message and reads the answer.
    pub async fn ask(&mut self, line: &str, limit: Duration) -> Result<String, Fault> {
        let asked = timeout(limit, self.exchange(line)).await;
        asked.unwrap_or(Err(Fault::Late(limit.as_secs_f64())))
    }

    /// Sends the last message, and ignores the result.
    pub async fn close(self, line: &str) {
        let _ = timeout(MOMENT, self.post(line)).await;
    }

    async fn exchange(&self, line: &str) -> Result<String, Fault> {
        let mut response = self.post(line).await?;
        let status = response.status();
        if status != StatusCode::OK {
            // The rest of an error response, or one that is late, is not waited for.
            let read = timeout(MOMENT, body(&mut response, KEPT)).await;
            let (words, _) = read.ok().and_then(Result::ok).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            return Err(Fault::Status { status, words });
        }
        match body(&mut response, LONGEST as usize).await? {
            (_, true) => Err(Fault::Long),
            (body, false) => String::from_utf8(body).map_err(|_| Fault::Encoding),
        }
    }

    async fn post(&self, line: &str) -> Result<Response, Fault> {
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        request.body(within(&self.session, line)).send().await.map_err(|why| {
            let cause = first_cause(&why);
            if why.is_connect() { Fault::Unreachable(cause) } else { Fault::Broken(cause) }
        })
    }
}

/// The message with its session.
fn within(session: &str, line: &str) -> String {
    let fields = line.strip_prefix('{').expect("a message is an object");
    format!("{{\"session\":\"{session}\",{fields}")
}

/// At most `most` bytes of a body, and whether there are more.
async fn body(response: &mut Response, most: usize) -> Result<(Vec<u8>, bool), Fault> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await.map_err(|why| Fault::Broken(first_cause(&why)))? {
            None => return Ok((body, false)),
            Some(chunk) => body.extend_from_slice(&chunk),
        }
        if body.len() > most {
            body.truncate(most);
            return Ok((body, true));
        }
    }
}

/// An id that no other session has, in this run or another.
fn session() -> String {
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number}", RandomState::new().hash_one(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_password_nor_query_is_told() {
        let address = Address::new("https://user:canary@host:9/compact?token=canary#x").unwrap();
        assert_eq!(address.to_string(), "https://host:9/compact");
    }

    #[test]
    fn only_http_is_an_address() {
        for wrong in ["", "host/path", "ftp://host/canary", "file:///canary", "http://"] {
            let why = Address::new(wrong).unwrap_err().to_string();
            assert!(why.starts_with("`url`") && !why.contains("canary"), "{why}");
        }
    }

    #[test]
    fn this_machine_is_reached_past_the_proxy() {
        let local = |url: &str| Address::new(url).unwrap().is_local();
        assert!(
            local("http://localhost:1") && local("http://127.0.0.9") && local("http://[::1]:1")
        );
        assert!(!local("http://10.0.0.1") && !local("http://localhost.com"));
    }

    #[test]
    fn each_session_has_an_id_of_its_own_in_every_message() {
        assert_ne!(session(), session());
        assert_eq!(within("a-1", r#"{"type":"close"}"#), r#"{"session":"a-1","type":"close"}"#);
    }

    /// A server on this machine that gives these responses, each to a connection
    /// of its own, and then returns the bodies that it was sent.
    fn serving(responses: Vec<Vec<u8>>) -> (Server, std::thread::JoinHandle<Vec<String>>) {
        use std::io::{BufRead, BufReader, Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/compact", listener.local_addr().unwrap());
        let serve = move |response: Vec<u8>| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(told) = line.to_lowercase().strip_prefix("content-length:") {
                    length = told.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(&response).unwrap();
            String::from_utf8(body).unwrap()
        };
        let heard = std::thread::spawn(move || responses.into_iter().map(serve).collect());
        (Server::open(&Address::new(&address).unwrap()).unwrap(), heard)
    }

    fn response(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n");
        [format!("{head}connection: close\r\n\r\n").as_bytes(), body].concat()
    }

    #[tokio::test]
    async fn the_body_of_a_response_is_the_answer_and_every_message_names_the_session() {
        let ok = |body: &str| response("200 OK", body.len(), body.as_bytes());
        let (mut server, heard) = serving(vec![ok("hello"), ok("")]);
        let limit = Duration::from_secs(60);
        assert_eq!(server.ask("{\"type\":\"open\"}", limit).await.unwrap(), "hello");
        let id = server.session.clone();
        server.close("{\"type\":\"close\"}").await;
        let sent = |kind: &str| format!("{{\"session\":\"{id}\",\"type\":\"{kind}\"}}");
        assert_eq!(heard.join().unwrap(), [sent("open"), sent("close")]);
    }

    #[tokio::test]
    async fn a_response_that_is_no_answer_is_told_by_its_kind() {
        let large = response("500 Oh", 1_500, &[b'x'; 1_500]);
        let empty = response("201 Created", 2, b"no");
        let bytes = response("200 OK", 1, &[0xff]);
        let broken = response("200 OK", 9, b"half");
        let (server, heard) = serving(vec![large, empty, bytes, broken]);
        let mut faults = Vec::new();
        for _ in 0..4 {
            faults.push(server.exchange("{}").await.unwrap_err());
        }
        heard.join().unwrap();
        let words = |at: usize| match &faults[at] {
            Fault::Status { status, words } => (status.as_u16(), words.len()),
            fault => panic!("{fault}"),
        };
        assert_eq!((words(0), words(1)), ((500, 1_000), (201, 2)));
        assert!(matches!(faults[2], Fault::Encoding) && matches!(faults[3], Fault::Broken(_)));
    }

    #[tokio::test]
    async fn no_more_is_read_of_a_body_than_allowed() {
        let (server, heard) = serving(vec![response("200 OK", 5, b"hello"); 2]);
        for (most, read) in [(5, (b"hello".to_vec(), false)), (4, (b"hell".to_vec(), true))] {
            let mut response = server.post("{}").await.unwrap();
            assert_eq!(body(&mut response, most).await.unwrap(), read);
        }
        heard.join().unwrap();
    }
}
