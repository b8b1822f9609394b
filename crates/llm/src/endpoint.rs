//! The address of a provider, the key for it, and the cost of a request there.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;

use crate::http::Url;
use crate::{Provider, Reply, Request, call_usd};
use recap_billing::pricing::{ModelPrices, Moment};
use recap_core::tokens::Counter;

/// How many tokens a provider may count for one of ours.
///
/// Anthropic's and Gemini's vocabularies are not public; on code, on tables and
/// on languages other than English they count up to about 1.6 times what o200k
/// does. Twice leaves a margin: a bound that is too low would break the cap.
const DEARER: u64 = 2;

/// Tokens that a provider may add to a message for who says it and where it
/// ends. OpenAI adds 3 or 4 ("How to count tokens with tiktoken"), templates
/// of open models up to about 10.
const FRAMING: u64 = 16;

/// A server and the provider's wire format that it uses.
#[derive(Clone)]
pub struct Endpoint {
    provider: &'static dyn Provider,
    base: Url,
    key: Option<Key>,
    prices: Option<ModelPrices>,
    /// Texts that must not be shown: the key, and parts of the address besides
    /// host and path.
    secrets: Vec<Key>,
}

impl Endpoint {
    /// A server by its base address, as users give it: with or without the
    /// version that the provider's paths begin with (`/v1`), with or without a
    /// slash at the end.
    ///
    /// # Errors
    /// If the address is no HTTP URL.
    pub fn new(
        provider: &'static dyn Provider,
        base: &str,
        key: Option<Key>,
        prices: Option<ModelPrices>,
    ) -> Result<Self, String> {
        // It may hold a password, and is not repeated.
        let base = Url::parse(base.trim())
            .map_err(|why| format!("the address of the server is not a URL: {why}"))?;
        if !matches!(base.scheme(), "http" | "https") {
            let scheme = base.scheme();
            return Err(format!(
                "the address of the server begins with `{scheme}:`, not with `http:` or `https:`"
            ));
        }
        let values = base.query_pairs().map(|(_, value)| value.into_owned());
        let user = Some(base.username()).into_iter().chain(base.password());
        let parts = user.chain(base.query()).map(str::to_owned);
        let hidden = parts.chain(values).filter_map(|text| Key::new(&text).ok());
        let secrets = key.clone().into_iter().chain(hidden).collect();
        Ok(Self { provider, base, key, prices, secrets })
    }

    /// The provider's wire format that the server uses.
    pub fn provider(&self) -> &'static dyn Provider {
        self.provider
    }

    /// The prices of its tokens, where they are known.
    pub fn prices(&self) -> Option<&ModelPrices> {
        self.prices.as_ref()
    }

    /// The key that is sent, if any.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// Whether it runs on this machine: loopback addresses, `localhost` and
    /// names below it (RFC 6761 §6.3), and the unspecified address, which
    /// reaches this machine too. A private network is not this machine.
    pub fn is_local(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback() || ip.is_unspecified(),
            Err(_) => {
                let name = host.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
        }
    }

    /// Whether it is reached by HTTPS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Scheme, host and port, as shown in messages.
    pub fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// A text without the key and the hidden parts of the address.
    pub fn scrub(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.scrub(&text))
    }

    /// The URL of a request.
    pub(super) fn url(&self, request: &Request) -> Url {
        let mut url = self.base.clone();
        url.set_path(&joined(self.base.path(), &self.provider.path(request)));
        url
    }

    /// The most tokens that the provider may count for a prompt; 0 where no
    /// price is known.
    pub(super) fn prompt_bound(&self, request: &Request, counter: &Counter) -> u64 {
        if self.prices.is_none() {
            return 0;
        }
        let schema = request.schema.as_ref().map(|schema| schema.json.to_string());
        let texts = request.messages.iter().map(|message| message.text.as_str());
        let texts = texts.chain([request.system.as_str()]).chain(schema.as_deref());
        let counted: u64 = texts.map(|text| counter.count(text)).sum();
        // The system text counts as a message too.
        let framed = request.messages.len() as u64 + 1;
        DEARER * counted + FRAMING * framed
    }

    /// The most that a request can cost, in USD; `None` without prices.
    ///
    /// The whole prompt is billed at the highest rate of any tier that it may
    /// reach, and the reply is as long as it may be.
    pub(super) fn worst_usd(
        &self,
        prompt_bound: u64,
        max_tokens: u64,
        at: Timestamp,
    ) -> Option<f64> {
        let prices = self.prices.as_ref()?;
        let tiers = prices.tiers().filter(|above| *above < prompt_bound);
        let usd = tiers.chain([prompt_bound]).map(|prompt_tokens| {
            let rates = prices.rates(&Moment { prompt_tokens, at });
            let input = rates.input?.max(rates.written()?);
            Some(prompt_bound as f64 * input + max_tokens as f64 * rates.output?)
        });
        usd.reduce(|a, b| Some(a?.max(b?))).flatten()
    }

    /// The cost of a reply, in USD; `None` without prices or usage.
    pub fn usd(&self, reply: &Reply, at: Timestamp) -> Option<f64> {
        call_usd(self.prices.as_ref()?, &reply.usage.as_ref().ok()?.usage, at)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.provider.name(), self.origin())
    }
}

/// A base's path and a provider's: the provider's version is left out where
/// the base has one. That is so if it ends in one (`/v1`, `/api/paas/v4`), or
/// in `openai` after one, as gateways to several dialects do
/// (`/v1beta/openai`, `/v1/account/gateway/openai`).
fn joined(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    let mut segments = base.rsplit('/');
    let last = segments.next().unwrap_or_default();
    let versioned = is_version(last) || last == "openai" && segments.any(is_version);
    let after_version =
        path[1..].split_once('/').filter(|(first, _)| versioned && is_version(first));
    match after_version {
        Some((_, rest)) => format!("{base}/{rest}"),
        None => format!("{base}{path}"),
    }
}

/// Whether a path segment is a version, such as `v1` or `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

// An API key, which is sent and never shown.

/// The text that replaces a key.
const SCRUBBED: &str = "[key]";

/// Length up to which a key counts as a placeholder, not a secret: servers that
/// accept any key are given words such as `none`, `EMPTY` or `ollama`, and
/// texts must not lose these words.
const PLACEHOLDER: usize = 6;

/// The API key of a user at a provider. It has no [`Display`](fmt::Display),
/// and [`Debug`] hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key as read from a file or a variable, where white space around it is
    /// common.
    ///
    /// # Errors
    /// If nothing is left, or it is not of visible ASCII characters (RFC 9110
    /// §5.5 would allow more, no provider does). The error does not repeat it.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the key is empty");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the key holds spaces or other characters that no key has");
        }
        Ok(Self(text.to_owned()))
    }

    /// The key itself, to be sent in a header only.
    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Whether a text contains the key. A placeholder does not count.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_secret() && text.contains(&self.0)
    }

    /// A text without the key.
    pub fn scrub(&self, text: &str) -> String {
        if self.is_in(text) { text.replace(&self.0, SCRUBBED) } else { text.to_owned() }
    }

    fn is_secret(&self) -> bool {
        self.0.len() > PLACEHOLDER
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCRUBBED)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::{Anthropic, Gemini, OpenAiChat};
    use crate::{Finish, NoUsage, Schema, Tokens};
    use recap_billing::pricing::PriceList;
    use recap_core::model::Usage;

    fn request() -> Request {
        Request { model: "some".to_owned(), ..Request::of("hello world", "hello world", 100) }
    }

    fn at(provider: &'static dyn Provider, base: &str) -> Endpoint {
        Endpoint::new(provider, base, None, None).unwrap()
    }

    /// A version and a slash may end the address; what stands before the version is kept.
    #[test]
    fn request_goes_to_the_path_below_the_base() {
        let chat = &OpenAiChat::COMPATIBLE;
        let cases: [(&'static dyn Provider, &str, &str); 16] = [
            (chat, "https://host", "https://host/v1/chat/completions"),
            (chat, "https://host/", "https://host/v1/chat/completions"),
            (chat, "https://host/v1", "https://host/v1/chat/completions"),
            (chat, " https://host/v1/ ", "https://host/v1/chat/completions"),
            (&Anthropic, "https://host", "https://host/v1/messages"),
            (&Anthropic, " https://host/v1/ ", "https://host/v1/messages"),
            (&Gemini, "https://host", "https://host/v1beta/models/some:generateContent"),
            (&Gemini, "https://host/v1beta/", "https://host/v1beta/models/some:generateContent"),
            (chat, "http://host:8080/api/v1", "http://host:8080/api/v1/chat/completions"),
            (chat, "http://host/api/paas/v4/", "http://host/api/paas/v4/chat/completions"),
            (chat, "http://host/v1beta/openai/", "http://host/v1beta/openai/chat/completions"),
            (chat, "http://host/v1/me/it/openai", "http://host/v1/me/it/openai/chat/completions"),
            (chat, "http://host/openai", "http://host/openai/v1/chat/completions"),
            (chat, "http://host/vllm", "http://host/vllm/v1/chat/completions"),
            (chat, "http://host/v1?api-version=2", "http://host/v1/chat/completions?api-version=2"),
            (&Anthropic, "http://host/v1/me/anthropic", "http://host/v1/me/anthropic/v1/messages"),
        ];
        for (provider, base, expected) in cases {
            assert_eq!(at(provider, base).url(&request()).as_str(), expected, "{base}");
        }
    }

    #[test]
    fn only_http_has_an_address() {
        let new = |base| Endpoint::new(&Anthropic, base, None, None).unwrap_err();
        assert!(new("ftp://host").contains("begins with `ftp:`"));
        // What many mean by it: a host with a port.
        assert!(new("localhost:8080").contains("begins with `localhost:`"));
        assert!(new("host/v1").contains("is not a URL"));
        assert!(!new("http://me:canary@:1").contains("canary"));
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = "localhost LOCALHOST a.localhost 127.0.0.1 127.8.8.8 [::1] 0.0.0.0";
        let other = "10.0.0.1 192.168.1.2 notlocalhost localhost.com api.host [fe80::1]";
        for (hosts, expected) in [(local, true), (other, false)] {
            for host in hosts.split(' ') {
                let endpoint = at(&Anthropic, &format!("http://{host}:8080"));
                assert_eq!(endpoint.is_local(), expected, "{host}");
            }
        }
    }

    #[test]
    fn neither_key_nor_password_nor_query_is_told() {
        let key = Key::new("sk-canary").unwrap();
        let base = "https://user-canary:pass%2Dcanary@host:9/v1?token=query-canary&v=2";
        let endpoint = Endpoint::new(&Anthropic, base, Some(key), None).unwrap();
        assert_eq!(endpoint.origin(), "https://host:9");
        assert_eq!(format!("{endpoint:?}"), "anthropic at https://host:9");
        let shown = endpoint
            .scrub("sk-canary user-canary pass%2Dcanary query-canary token=query-canary&v=2");
        assert!(!shown.contains("canary"), "{shown}");
    }

    fn priced(id: &str) -> Endpoint {
        let prices = PriceList::bundled().find(id).unwrap().clone();
        Endpoint::new(&Anthropic, "http://host", None, Some(prices)).unwrap()
    }

    fn a_friday() -> Timestamp {
        "2026-11-20T02:00:00Z".parse().unwrap()
    }

    #[test]
    fn worst_case_is_twice_count_at_highest_rate() {
        // Twice 2 + 2 tokens, and 16 for each of two messages: 40.
        let endpoint = priced("claude-opus-5-5");
        let prompt = endpoint.prompt_bound(&request(), &Counter::default());
        assert_eq!(prompt, 40);
        // claude-opus-5-5, USD per million: written at 5, output at 20.
        let worst = endpoint.worst_usd(prompt, 100, a_friday());
        assert!((worst.unwrap() - (40.0 * 5e-6 + 100.0 * 20e-6)).abs() < 1e-12, "{worst:?}");
        let schema = Some(Schema { name: "s".to_owned(), json: json!("hello world") });
        let with_schema = Request { schema, ..request() };
        assert!(endpoint.prompt_bound(&with_schema, &Counter::default()) > 40);
        let unpriced = at(&Anthropic, "http://host");
        assert_eq!(unpriced.prompt_bound(&request(), &Counter::default()), 0);
        assert_eq!(unpriced.worst_usd(40, 100, a_friday()), None);
    }

    #[test]
    fn a_tier_that_the_bound_reaches_is_paid() {
        // claude-haiku-5-5: five times dearer above 100k: written at 0.625.
        let endpoint = priced("claude-haiku-5-5");
        let text = vec!["a"; 50_000].join(" ");
        let long = Request { system: text, max_tokens: 0, ..request() };
        let prompt = endpoint.prompt_bound(&long, &Counter::default());
        assert_eq!(prompt, 2 * 50_002 + 32);
        let worst = endpoint.worst_usd(prompt, 0, a_friday()).unwrap();
        assert!((worst - prompt as f64 * 6.25e-7).abs() < 1e-12, "{worst}");
    }

    #[test]
    fn a_reply_costs_what_its_usage_says() {
        let usage = Usage { input: 1_000, output: 10, ..Usage::default() };
        let reply = |usage| Reply { text: String::new(), finish: Finish::Done, usage, model: None };
        let endpoint = priced("claude-opus-5-5");
        let usd = endpoint.usd(&reply(Ok(Tokens { usage, reasoning: None })), a_friday());
        assert!((usd.unwrap() - (0.004 + 0.0002)).abs() < 1e-12, "{usd:?}");
        assert_eq!(endpoint.usd(&reply(Err(NoUsage::Missing)), a_friday()), None);
    }

    #[test]
    fn a_key_is_scrubbed_unless_it_is_a_placeholder() {
        let key = Key::new(" sk-canary\n").unwrap();
        assert_eq!((key.value(), &*format!("{:?}", Some(&key))), ("sk-canary", "Some([key])"));
        for (key, text, expected) in [
            ("sk-canary", "<sk-canary>, sk-canarysk-canary", "<[key]>, [key][key]"),
            ("sk-canary", "Bearer sk-other", "Bearer sk-other"),
            ("sk-test", "sk-test", "[key]"),
            ("none", "none", "none"),
            ("EMPTY", "EMPTY", "EMPTY"),
            ("ollama", "ollama", "ollama"),
        ] {
            let key = Key::new(key).unwrap();
            assert_eq!((&*key.scrub(text), key.is_in(text)), (expected, expected != text));
        }
        assert_eq!(Key::new(" \n"), Err("the key is empty"));
        for text in ["two words", "line\nbreak", "schlüssel"] {
            let error = Key::new(text).unwrap_err();
            assert!(error.starts_with("the key holds") && !error.contains(text), "{error}");
        }
    }
}
