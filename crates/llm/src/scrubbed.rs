//! Removes secrets and e-mail addresses from what providers are sent.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde::de::IgnoredAny;

use super::{Answered, Call, CallError, Llm, Model, Request};
use recap_core::model::ModelRole;
use recap_core::text::redact::{Originals, redact, redact_known};

/// Secrets of the sessions, once they are read.
pub type KnownSecrets = Arc<OnceLock<BTreeSet<String>>>;

/// Replaces secrets and e-mail addresses in requests by placeholders, and
/// restores them in the reply: an answer that names a placeholder is graded as
/// the value behind it.
///
/// The placeholders of a request are numbered together, the system text first.
/// Everything after this wrapper, the record of calls too, sees only the
/// redacted request and its reply.
pub struct Scrubbed {
    inner: Arc<dyn Llm>,
    /// Secrets of all sessions: a request may hold one without the words that tell it.
    known: KnownSecrets,
    /// Whether a request is looked up as it is before it is redacted.
    plain_first: bool,
}

impl Scrubbed {
    /// Redacts what is sent to a model.
    pub fn new(inner: Arc<dyn Llm>, known: KnownSecrets) -> Self {
        Self { inner, known, plain_first: false }
    }

    /// Redacts only what the model, which replays a recording, does not know
    /// as it is: a recording does not say whether its requests were redacted.
    pub fn where_not_recorded(inner: Arc<dyn Llm>, known: KnownSecrets) -> Self {
        Self { inner, known, plain_first: true }
    }

    /// Redacts a request, and returns what its placeholders stand for.
    fn redacted(&self, request: &mut Request) -> Originals {
        let mut texts = vec![request.system.as_str()];
        texts.extend(request.messages.iter().map(|message| message.text.as_str()));
        let redaction = match self.known.get() {
            Some(known) => redact_known(&texts, known),
            None => redact(&texts),
        };
        let mut texts = redaction.texts.into_iter();
        request.system = texts.next().expect("as many texts as were given");
        for (message, text) in request.messages.iter_mut().zip(texts) {
            message.text = text;
        }
        redaction.originals
    }
}

#[async_trait]
impl Llm for Scrubbed {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    async fn call(&self, mut call: Call) -> Result<Answered, CallError> {
        if self.plain_first {
            match self.inner.call(call.clone()).await {
                Err(CallError::NotRecorded(_)) => {}
                outcome => return outcome,
            }
        }
        let originals = self.redacted(&mut call.request);
        let mut answered = self.inner.call(call).await?;
        let text = &mut answered.reply.text;
        *text = match serde_json::from_str::<IgnoredAny>(text) {
            // Quotes and backslashes of a secret must not end a JSON string.
            Ok(_) => originals.restore_json(text),
            Err(_) => originals.restore(text),
        };
        Ok(answered)
    }

    fn used(&self, role: ModelRole) {
        self.inner.used(role);
    }

    fn discard(&self, mut call: Call, why: &str, again: bool) {
        self.redacted(&mut call.request);
        self.inner.discard(call, why, again);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Finish, NoUsage, Reply, Request, Settings, Speaker};
    use recap_core::model::{ModelRole, Timing};

    /// Answers with a fixed text, and keeps what it was asked.
    struct Parrot {
        model: Model,
        says: &'static str,
        asked: Mutex<Vec<Call>>,
    }

    #[async_trait]
    impl Llm for Parrot {
        fn model(&self) -> &Model {
            &self.model
        }

        async fn call(&self, call: Call) -> Result<Answered, CallError> {
            self.asked.lock().unwrap().push(call);
            let text = self.says.to_owned();
            let (finish, usage) = (Finish::Done, Err(NoUsage::Missing));
            let reply = Reply { text, finish, usage, model: None };
            Ok(Answered { reply, timing: Timing::default(), recorded: false })
        }
    }

    /// What is sent, and what comes back.
    async fn exchanged(system: &str, text: &str, says: &'static str) -> (Vec<String>, String) {
        let settings = Settings::default();
        let model = Model { provider: "p".to_owned(), name: "m".to_owned(), settings };
        let parrot = Arc::new(Parrot { model: model.clone(), says, asked: Mutex::default() });
        let scrubbed = Scrubbed::new(Arc::<Parrot>::clone(&parrot), KnownSecrets::default());
        let request = model.request(Request::of(system, text, 9));
        let call = Call { role: ModelRole::Answerer, replicate: 0, request };
        let answered = scrubbed.call(call).await.unwrap();
        let asked = parrot.asked.lock().unwrap();
        assert_eq!(asked[0].request.messages[0].speaker, Speaker::User);
        let sent = vec![asked[0].request.system.clone(), asked[0].request.messages[0].text.clone()];
        (sent, answered.reply.text)
    }

    #[tokio::test]
    async fn requests_are_redacted_and_replies_are_restored() {
        let (sent, reply) = exchanged(
            "Jane is jane@example.org.",
            "password=hunter2 of jane@example.org",
            "It is <SECRET_2>; ask EMAIL_1, not <EMAIL_12>.",
        )
        .await;
        assert_eq!(sent, ["Jane is <EMAIL_1>.", "password=<SECRET_2> of <EMAIL_1>"]);
        assert_eq!(reply, "It is hunter2; ask jane@example.org, not <EMAIL_12>.");
    }

    #[tokio::test]
    async fn a_reply_in_json_stays_json() {
        let line = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z".repeat(2);
        let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----");
        let (sent, reply) = exchanged("", &key, r#"{"key": "<SECRET_1>"}"#).await;
        assert_eq!(sent[1], "<SECRET_1>");
        let json: serde_json::Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(json["key"], key);
    }

    #[tokio::test]
    async fn what_tells_nothing_passes_as_it_is() {
        let (sent, reply) = exchanged("Be brief.", "Which port?", "8080 <SECRET_1>").await;
        assert_eq!(sent, ["Be brief.", "Which port?"]);
        assert_eq!(reply, "8080 <SECRET_1>");
    }

    /// Knows one text alone.
    struct Recording(Model, &'static str);

    #[async_trait]
    impl Llm for Recording {
        fn model(&self) -> &Model {
            &self.0
        }

        async fn call(&self, call: Call) -> Result<Answered, CallError> {
            let text = call.request.messages[0].text.clone();
            if text == "halt" {
                return Err(CallError::Halted("gone".to_owned()));
            }
            if text != self.1 {
                return Err(CallError::NotRecorded("key".to_owned()));
            }
            let (finish, usage) = (Finish::Done, Err(NoUsage::Missing));
            let reply = Reply { text, finish, usage, model: None };
            Ok(Answered { reply, timing: Timing::default(), recorded: true })
        }
    }

    #[tokio::test]
    async fn a_recording_is_read_either_way() {
        let settings = Settings::default();
        let model = Model { provider: "p".to_owned(), name: "m".to_owned(), settings };
        let ask = async |known, text: &str| {
            let recording = Arc::new(Recording(model.clone(), known));
            let request = model.request(Request::of("", text, 9));
            let call = Call { role: ModelRole::Judge, replicate: 0, request };
            Scrubbed::where_not_recorded(recording, KnownSecrets::default())
                .call(call)
                .await
                .map(|a| a.reply.text)
        };
        let mail = "jane@example.org";
        assert_eq!(ask(mail, mail).await.unwrap(), mail);
        assert_eq!(ask("<EMAIL_1>", mail).await.unwrap(), mail, "it is put back");
        assert!(matches!(ask("else", mail).await, Err(CallError::NotRecorded(_))));
        assert!(matches!(ask("else", "halt").await, Err(CallError::Halted(_))));
    }
}
