//! The HTTP client: sends one request, reads one response, and measures its
//! time.
//!
//! Connections are driven by a thread of their own, so that a replay that keeps
//! every worker busy does not add to the latency of a model.

#![allow(clippy::disallowed_types, reason = "the HTTP client")]

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::stream;
use reqwest::Client;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

pub(super) use reqwest::Url;

use super::Endpoint;
use recap_core::text::first_cause;

/// Bytes of a response that are always read; also the base of the limit for a
/// reply of a given number of tokens: its text takes some four bytes for each,
/// its reasoning as many, and JSON may spell each as six.
const SMALLEST_BOUND: usize = 1 << 20;
const BYTES_PER_TOKEN: u64 = 64;
/// Most bytes that are read of a response without a limit in tokens: embeddings.
const WITHOUT_BOUND: usize = 32 << 20;

/// How long an idle connection is kept. Servers close theirs after 60 s or
/// more (nginx, Node behind it); one that closes earlier is noticed.
const IDLE: Duration = Duration::from_secs(55);

/// A request, ready to be sent and sent again.
#[derive(Clone)]
pub(super) struct Outgoing {
    url: Url,
    headers: HeaderMap,
    /// What is posted.
    body: Vec<u8>,
    /// Most bytes of the response that are read.
    largest: usize,
}

impl Outgoing {
    /// A request to a server.
    pub(super) fn new(endpoint: &Endpoint, request: &super::Request) -> Self {
        let provider = endpoint.provider();
        let body = provider.encode(request).to_string().into_bytes();
        let mut headers = HeaderMap::new();
        for (name, value) in provider.headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = endpoint.key() {
            let (name, before) = provider.key_header();
            let mut value = HeaderValue::try_from(format!("{before}{}", key.value()))
                .expect("a key is of visible characters");
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The body is a stream, which would be sent in chunks otherwise; not
        // every server accepts these.
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let largest = largest_body(request.max_tokens);
        Self { url: endpoint.url(request), headers, body, largest }
    }

    /// The body, which identifies the request.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Most bytes of a response that are read, if the reply may have `max_tokens` tokens.
fn largest_body(max_tokens: u64) -> usize {
    match max_tokens {
        0 => WITHOUT_BOUND,
        most => {
            let bytes = usize::try_from(most.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
            bytes.saturating_add(SMALLEST_BOUND).min(WITHOUT_BOUND)
        }
    }
}

/// A response with any status.
#[derive(Debug)]
pub(super) struct Response {
    /// The HTTP status code.
    pub(super) status: u16,
    /// The headers, of which some say when to come back.
    pub(super) headers: HeaderMap,
    /// Origin of the `location` header: the rest of it may contain secrets.
    pub(super) redirects_to: Option<String>,
    /// The body, up to the limit of bytes.
    pub(super) body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub(super) too_long: bool,
    /// The timing of the response.
    pub(super) taken: ResponseTiming,
}

/// The timing of a response, measured on the client's own thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseTiming {
    /// When the request was written to the connection.
    pub(super) sent: Instant,
    /// Time from there to the response's headers, in milliseconds.
    pub(super) first_byte_ms: f64,
    /// Time from there to the last byte, in milliseconds.
    pub(super) total_ms: f64,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) struct TransportError {
    /// The error, in words.
    pub(super) why: String,
    /// Whether the request had been written: it may be billed.
    pub(super) sent: bool,
}

/// The HTTP client of a run: one thread.
pub(super) struct Http {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    connect: Duration,
}

impl Http {
    pub(super) fn new(connect: Duration) -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("recap-http").enable_all().build()?;
        Ok(Self { runtime: Some(runtime), connect })
    }

    /// The connections to a server: on this machine never through a proxy, and by HTTP without
    /// certificates; elsewhere through the proxy that the environment names, if any. The error is
    /// why TLS cannot be set up: most often the system has no root certificates.
    pub(super) fn client(&self, endpoint: &Endpoint) -> Result<Client, String> {
        // An error says that the process has a provider of cryptography already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("recap/", env!("CARGO_PKG_VERSION")))
            // Following a redirect would send the key to a host that the user did not name.
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .tcp_nodelay(true)
            .connect_timeout(self.connect)
            .pool_idle_timeout(IDLE);
        if endpoint.is_local() {
            builder = builder.no_proxy();
        }
        if endpoint.is_local() && !endpoint.is_encrypted() {
            builder = builder.tls_certs_only([]);
        }
        builder.build().map_err(|why| first_cause(&why))
    }

    /// Sends a request and reads the response, within `limit`. Dropping the
    /// future cancels the request.
    pub(super) async fn send(
        &self,
        client: &Client,
        outgoing: Outgoing,
        limit: Duration,
    ) -> Result<Response, TransportError> {
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        // Its tasks end with the set.
        let mut task = JoinSet::new();
        task.spawn_on(attempt(client.clone(), outgoing, limit), runtime.handle());
        let shut = || TransportError { why: "the client was shut down".to_owned(), sent: false };
        task.join_next().await.and_then(Result::ok).unwrap_or_else(|| Err(shut()))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // Dropping a runtime waits for its tasks, which is not allowed inside async code.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// One attempt. Runs on the client's own thread.
async fn attempt(
    client: Client,
    outgoing: Outgoing,
    limit: Duration,
) -> Result<Response, TransportError> {
    let written = Arc::new(OnceLock::new());
    let exchanged = tokio::time::timeout(limit, exchange(client, outgoing, Arc::clone(&written)));
    let late = |_| Err(format!("no whole response within {limit:?}"));
    let exchanged = exchanged.await.unwrap_or_else(late);
    exchanged.map_err(|why| TransportError { why, sent: written.get().is_some() })
}

async fn exchange(
    client: Client,
    outgoing: Outgoing,
    written: Arc<OnceLock<Instant>>,
) -> Result<Response, String> {
    let asked = Instant::now();
    let mark = Arc::clone(&written);
    let (body, largest) = (outgoing.body, outgoing.largest);
    // The client polls the body when it has a connection and has written the
    // headers: finding or making a connection does not count as latency of the
    // model.
    let body = stream::once(async move {
        let _ = mark.set(Instant::now());
        Ok::<_, std::convert::Infallible>(body)
    });
    let request = client.post(outgoing.url).headers(outgoing.headers);
    let request = request.body(reqwest::Body::wrap_stream(body));
    let mut response = request.send().await.map_err(|why| describe(&why))?;
    let sent = written.get().copied().unwrap_or(asked);
    let first_byte_ms = ms(sent.elapsed());
    let mut body = Vec::new();
    let mut too_long = false;
    while let Some(chunk) = response.chunk().await.map_err(|why| describe(&why))? {
        body.extend_from_slice(&chunk);
        if body.len() > largest {
            body.truncate(largest);
            too_long = true;
            break;
        }
    }
    let taken = ResponseTiming { sent, first_byte_ms, total_ms: ms(sent.elapsed()) };
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    Ok(Response {
        status: response.status().as_u16(),
        redirects_to: location.and_then(|to| origin(response.url(), to)),
        headers: std::mem::take(response.headers_mut()),
        body,
        too_long,
        taken,
    })
}

/// Scheme, host and port of an address, which may be relative.
fn origin(base: &Url, to: &str) -> Option<String> {
    Some(base.join(to).ok()?.origin().ascii_serialization())
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// The error without the address, which may contain a password.
fn describe(why: &reqwest::Error) -> String {
    let what = if why.is_connect() { "cannot connect" } else { "the connection broke off" };
    format!("{what}: {}", first_cause(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_size_bound_follows_reply_bound() {
        assert_eq!(largest_body(1), (1 << 20) + 64);
        assert_eq!(largest_body(8_192), (1 << 20) + (1 << 19));
        assert_eq!([0, u64::MAX].map(largest_body), [32 << 20; 2]);
    }

    #[test]
    fn a_redirect_is_told_by_its_origin_alone() {
        let base = Url::parse("http://host:1/v1").unwrap();
        let shown = |to| origin(&base, to);
        assert_eq!(shown("https://me:pw@other/x?k=1").as_deref(), Some("https://other"));
        assert_eq!(shown("/login?k=1").as_deref(), Some("http://host:1"));
    }
}
