//! Short hashes by which another run knows a transcript again.

use super::TranscriptFacts;

/// Hash of parts, none of which can run into the next.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(blake3::Hasher);

/// Characters of a fingerprint: enough to tell two sessions apart.
const LENGTH: usize = 16;

impl Fingerprint {
    /// Adds a part.
    pub fn add(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }

    /// What the parts come to, in hexadecimal.
    pub fn short(&self) -> String {
        self.0.finalize().to_hex()[..LENGTH].to_owned()
    }
}

impl TranscriptFacts {
    /// Fingerprint of its messages, requests and references, as they were
    /// recorded.
    pub fn fingerprint(&self) -> String {
        if let Some(recorded) = &self.as_recorded {
            return recorded.clone();
        }
        let mut parts = Fingerprint::default();
        for message in &self.messages {
            [message.id.as_str(), message.role.as_str(), &message.text]
                .into_iter()
                .for_each(|part| parts.add(part));
        }
        self.requests.iter().for_each(|request| parts.add(&request.message.to_string()));
        for reference in &self.exam.references {
            parts.add(&reference.request.to_string());
            parts.add(&reference.text);
        }
        parts.short()
    }
}
