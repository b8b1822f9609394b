//! The offline compactor: the lines and sentences of the conversation that name something, newest
//! first, then the others, in the asked shape.
//!
//! It replaces a model so that everything around a compaction can be replayed and
//! billed without one. Its rows are never ranked: what they keep describes this
//! compactor, not the strategy (reference §6).

use std::sync::Arc;

use async_trait::async_trait;
use rustc_hash::FxHashSet;

use crate::findable::sentences;
use recap_core::text::{IdentifierOptions, identifiers};
use recap_core::tokens::Counter;
use recap_llm::DryRunCalls;
use recap_strategy::{
    CallUsage, Compactor, CompactorError, Digest, FailedCall, MESSAGES, Produced, Reply,
    SessionState, Task, TaskMessage,
};

/// Length in bytes of the longest copied line: a longer one is cut.
const LONGEST: usize = 240;

/// Largest number of lines that become memories of a digest.
const MEMORIES: usize = 3;

/// The program's own compactor.
#[derive(Debug)]
pub struct Offline {
    counter: Arc<Counter>,
}

impl Offline {
    /// A compactor that limits its replies by this counter.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter }
    }

    /// The asked shape with as many lines as fit.
    fn produce(&self, task: &Task) -> Result<(Produced, String), CompactorError> {
        let bound = task.max_tokens();
        let is_headed = self.has_room_for_headings(task);
        let mut lines = self.lines(task);
        let is_silent = lines.is_empty();
        loop {
            let produced = shaped(task, &lines, is_headed);
            let text = text(&produced);
            if self.counter.count(&text) <= bound && (is_silent || !text.is_empty()) {
                return Ok((produced, text));
            }
            match lines.as_mut_slice() {
                [] => {
                    return Err(CompactorError::Malformed(format!(
                        "the asked shape does not fit into {bound} tokens"
                    )));
                }
                // Of the newest line at least the beginning.
                [line] if line.len() > 1 => line.truncate(cut(line, line.len() / 2).len()),
                lines_left => {
                    let less = lines_left.len() / 16 + 1;
                    lines.truncate(lines.len() - less);
                }
            }
        }
    }

    /// Whether headings take no more than half of the bound, as they do at small
    /// windows.
    fn has_room_for_headings(&self, task: &Task) -> bool {
        let headings = text(&shaped(task, &[], true));
        self.counter.count(&headings) * 2 <= task.max_tokens()
    }

    /// The lines that name something that no newer line names, newest first, up to the
    /// bound; then, where it leaves room, the others.
    fn lines(&self, task: &Task) -> Vec<String> {
        let before = before(task);
        let newest_first = task.messages().iter().rev().map(|message| &*message.text);
        let all = newest_first.chain([&*before]).flat_map(newest_lines);
        let mut named: FxHashSet<&str> = FxHashSet::default();
        let mut said: FxHashSet<&str> = FxHashSet::default();
        // The lines that name something and the others, each with their tokens.
        let (mut naming, mut others) = ((Vec::new(), 0), (Vec::new(), 0));
        for line in all.map(|line| line.trim_start_matches("- ")) {
            let mut is_new = false;
            for identifier in identifiers(line, IdentifierOptions { code: false }) {
                is_new |= named.insert(identifier.text);
            }
            let (lines, spent) = if is_new { &mut naming } else { &mut others };
            let line = cut(line, LONGEST);
            if *spent <= task.max_tokens() && said.insert(line) && !is_known(task, line) {
                *spent += self.counter.count(line) + 2;
                lines.push(line.to_owned());
            }
            if naming.1 > task.max_tokens() {
                break;
            }
        }
        naming.0.into_iter().chain(others.0).collect()
    }

    /// The input tokens of a call: the prompt, and the messages or the live
    /// conversation before it.
    fn input(&self, task: &Task) -> u64 {
        let sum = |messages: &[TaskMessage]| messages.iter().map(|m| m.tokens).sum::<u64>();
        let (prompt, read) = match task {
            Task::Continuation { prompt, messages, live, .. } => {
                (prompt, live.as_ref().map_or_else(|| sum(messages), |live| live.tokens))
            }
            Task::SessionState { prompt, messages, .. } | Task::Digest { prompt, messages, .. } => {
                (prompt, sum(messages))
            }
        };
        self.counter.count(&prompt.replace(MESSAGES, "")) + read
    }
}

#[async_trait]
impl Compactor for Offline {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let (produced, text) = self.produce(task)?;
        let written = self.counter.count(&text);
        let usage = CallUsage { input: self.input(task), output: written };
        Ok(Reply::unmodelled(produced, usage, written))
    }

    fn name(&self) -> &str {
        "offline"
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(Offline::new(Arc::clone(counter))))
    }
}

/// The lines and sentences of a text, the last first.
fn newest_lines(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).into_iter().rev().map(|place| &text[place])
}

/// What was written before this task, which is older than every message.
fn before(task: &Task) -> String {
    match task {
        Task::SessionState { previous: Some(state), .. } => {
            let lists = [&state.abstract_, &state.pathos, &state.logos];
            // Entries are newest first; lines are read from the end.
            let lines = lists.into_iter().flat_map(|list| list.iter().rev());
            lines.map(String::as_str).collect::<Vec<_>>().join("\n")
        }
        Task::Digest { rolling: Some(rolling), .. } => {
            rolling.lines().rev().collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn is_known(task: &Task, line: &str) -> bool {
    matches!(task, Task::Digest { known, .. } if known.iter().any(|memory| memory == line))
}

/// At most this many bytes of a text, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    text[..text.floor_char_boundary(bytes)].trim_end()
}

/// The lines in the asked shape.
fn shaped(task: &Task, lines: &[String], is_headed: bool) -> Produced {
    let newest = || lines.first().cloned().unwrap_or_default();
    match task {
        Task::SessionState { .. } => Produced::SessionState(SessionState {
            logos: lines.to_vec(),
            conversation_summary: newest(),
            ..SessionState::default()
        }),
        Task::Continuation { headings, .. } => {
            let headings = headings.iter().filter(|_| is_headed).map(|head| format!("## {head}\n"));
            let text = headings.collect::<Vec<_>>().join("\n") + &listed(lines);
            Produced::Continuation(text.trim_end().to_owned())
        }
        Task::Digest { .. } => {
            let (memories, others) = lines.split_at(MEMORIES.min(lines.len()));
            let summary = listed(others).trim_end().to_owned();
            Produced::Digest(Digest { summary, memories: memories.to_vec() })
        }
    }
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// A reply as text, as a model would have written it.
fn text(produced: &Produced) -> String {
    match produced {
        Produced::SessionState(state) => {
            serde_json::to_string(state).expect("plain data serialises")
        }
        Produced::Continuation(text) => text.clone(),
        Produced::Digest(Digest { summary, memories }) => {
            let memories = listed(memories);
            format!("<summary>\n{summary}\n</summary>\n\n<memories>\n{memories}</memories>")
        }
    }
}

/// The compactor of a rehearsal, which estimates a cost: the first compactor counts the requests
/// that it would make and refuses them; the second one then writes the summaries, and their
/// lengths are recorded. Summaries of different repetitions differ, as those of a model do, so
/// that the questions to each are counted.
pub struct Rehearsed {
    first: Arc<dyn Compactor>,
    second: Arc<dyn Compactor>,
    foreseen: Arc<DryRunCalls>,
    replicate: u32,
}

impl Rehearsed {
    /// Combines the two compactors: `second` writes what `first` refuses.
    pub fn new(
        first: Arc<dyn Compactor>,
        second: Arc<dyn Compactor>,
        foreseen: Arc<DryRunCalls>,
    ) -> Self {
        Self { first, second, foreseen, replicate: 0 }
    }
}

#[async_trait]
impl Compactor for Rehearsed {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        match self.first.run(task).await {
            Err(FailedCall { error: CompactorError::Refused(_), .. }) => {
                let mut reply = self.second.run(task).await?;
                self.foreseen.add_summary(reply.usage.output);
                let text = match &mut reply.produced {
                    Produced::SessionState(state) => &mut state.conversation_summary,
                    Produced::Continuation(text) => text,
                    Produced::Digest(digest) => &mut digest.summary,
                };
                if self.replicate > 0 {
                    text.push_str(&format!(" ({})", self.replicate));
                }
                Ok(reply)
            }
            outcome => outcome,
        }
    }

    fn name(&self) -> &str {
        self.first.name()
    }

    fn reads_live(&self) -> bool {
        self.first.reads_live() || self.second.reads_live()
    }

    fn repeated(&self, replicate: u32) -> Option<Arc<dyn Compactor>> {
        let first = self.first.repeated(replicate)?;
        let (second, foreseen) = (Arc::clone(&self.second), Arc::clone(&self.foreseen));
        Some(Arc::new(Self { first, second, foreseen, replicate }))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        let own = |shared: &Arc<dyn Compactor>| {
            shared.counting(counter).unwrap_or_else(|| Arc::clone(shared))
        };
        let (first, second) = (own(&self.first), own(&self.second));
        let (foreseen, replicate) = (Arc::clone(&self.foreseen), self.replicate);
        Some(Arc::new(Self { first, second, foreseen, replicate }))
    }
}
