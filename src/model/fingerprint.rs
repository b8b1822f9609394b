//! Short hashes by which two runs find out whether they have the same transcript.

use super::TranscriptFacts;

/// Hash of a list of parts. Their lengths are hashed too, so that the boundaries count.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(blake3::Hasher);

/// Characters of a fingerprint: enough to tell two sessions apart.
const LENGTH: usize = 16;

impl Fingerprint {
    /// Adds one part to the hash.
    pub fn add(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }

    /// The hash in hexadecimal, shortened to the length of a fingerprint.
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
