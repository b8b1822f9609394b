//! The provider behind a saver: it takes what arrives and gives the recorded response.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::wire::{Api, Response as Recorded};
use recap_core::model::Message;
use recap_core::text::density;

/// Bytes that a saver may add to a request.
const MOST_ADDED: usize = 8 << 20;

/// What the provider answers next, and what arrived for it.
#[derive(Default)]
struct Exchange {
    response: Option<Message>,
    model: String,
    /// Bytes of the request that the saver was sent.
    sent: usize,
    arrived: Vec<Result<(Api, Json), String>>,
}

/// A provider on loopback. It ends with the value.
pub(super) struct Upstream {
    /// Its address, without a path.
    pub url: String,
    exchange: Arc<Mutex<Exchange>>,
    server: JoinHandle<()>,
}

impl Upstream {
    /// Starts it at a port of 127.0.0.1; 0: at a free one.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn start(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let exchange = Arc::new(Mutex::new(Exchange::default()));
        let shared = Arc::clone(&exchange);
        let server = tokio::spawn(async move {
            // Connections end with the server: the set is dropped with it.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| serve(Arc::clone(&shared), request));
                connections
                    .spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, exchange, server })
    }

    /// Sets the response that the next request gets; `sent`: the bytes of that request.
    pub fn expect(&self, response: &Message, model: &str, sent: usize) {
        *self.lock() = Exchange {
            response: Some(response.clone()),
            model: model.to_owned(),
            sent,
            arrived: Vec::new(),
        };
    }

    /// What arrived since then. One request is asked for, and one has to arrive.
    ///
    /// # Errors
    /// Another number of requests, or one that is none.
    pub fn taken(&self) -> Result<(Api, Json), String> {
        let mut arrived = std::mem::take(&mut self.lock().arrived);
        match arrived.len() {
            1 => arrived.remove(0),
            0 => Err("it answered without asking the provider".to_owned()),
            more => Err(format!("it asked the provider {more} times for one request of the agent")),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Exchange> {
        self.exchange.lock().expect("nothing panics while it holds this")
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Answered = Response<Full<Bytes>>;

const JSON: &str = "application/json";

fn respond(status: StatusCode, content_type: &str, body: String) -> Answered {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

async fn serve(
    shared: Arc<Mutex<Exchange>>,
    request: Request<Incoming>,
) -> Result<Answered, Infallible> {
    let path = request.uri().path().to_owned();
    let api = Api::at(&path).filter(|_| request.method() == Method::POST);
    let Some(api) = api else {
        let error = json!({"error": {"type": "not_found_error", "message": format!("{path} is not served")}});
        return Ok(respond(StatusCode::NOT_FOUND, JSON, error.to_string()));
    };
    let lock = || shared.lock().expect("nothing panics while it holds this");
    let most = lock().sent + MOST_ADDED;
    let read = Limited::new(request.into_body(), most).collect().await;
    let body = match read {
        Ok(body) => density::parsed(&body.to_bytes()).map_err(|why| format!("its request {why}")),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(format!("it adds more than {} MB to a request", MOST_ADDED >> 20))
        }
        Err(error) => Err(format!("its request ended early: {error}")),
    };
    let mut exchange = lock();
    let answered = match (&body, &exchange.response) {
        (Ok(body), Some(response)) => {
            let stream = body["stream"].as_bool().unwrap_or(false);
            let usage = response.usage.unwrap_or_default();
            let response = Recorded { message: response, model: &exchange.model, usage };
            let content_type = if stream { "text/event-stream" } else { JSON };
            respond(StatusCode::OK, content_type, api.answer(&response, stream))
        }
        _ => {
            let error = json!({"error": {"type": "invalid_request_error", "message": "refused"}});
            respond(StatusCode::BAD_REQUEST, JSON, error.to_string())
        }
    };
    exchange.arrived.push(body.map(|body| (api, body)));
    Ok(answered)
}
