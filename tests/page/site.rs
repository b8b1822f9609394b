//! A site of one page on loopback, with the strictest policy that the page's own
//! scripts can live under, and a log of what else was asked of it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The site; its thread ends with the test's process.
pub struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub fn of(page: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, policy) = (Arc::clone(&asked), policy(page));
        let page: Arc<str> = page.into();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, page, policy) = (Arc::clone(&log), Arc::clone(&page), policy.clone());
                // A browser that hangs up is no failure of the site.
                thread::spawn(move || answer(stream, &log, &page, &policy));
            }
        });
        Self { address, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Paths other than the page's that were asked for. The icon is the
    /// browser's own idea.
    pub fn strays(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|p| !matches!(p.as_str(), "/" | "/favicon.ico")).cloned().collect()
    }
}

/// Nothing but the scripts that the page itself allows, and no text as markup.
fn policy(page: &str) -> String {
    let own = page.split_once("Content-Security-Policy\" content=\"").expect("it has a policy").1;
    let own = own.split_once('"').expect("an attribute ends").0;
    let own = own.replace("&#39;", "'").replace("&#x27;", "'");
    let scripts = own.split(';').map(str::trim).find(|part| part.starts_with("script-src"));
    format!(
        "default-src 'none'; {}; style-src 'unsafe-inline'; img-src 'none'; connect-src 'none'; \
         frame-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
        scripts.unwrap_or("script-src 'none'")
    )
}

fn answer(
    stream: TcpStream,
    log: &Mutex<Vec<String>>,
    page: &str,
    policy: &str,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let found = path == "/";
    log.lock().unwrap().push(path);
    let (status, body) = if found { ("200 OK", page) } else { ("204 No Content", "") };
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         content-security-policy: {policy}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
