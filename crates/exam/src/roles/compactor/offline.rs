//! The offline compactor: the lines and sentences of the conversation that name something, newest
//! first, then the others, in the asked shape.
//!
//! It replaces a model so that everything around a compaction can be replayed and
//! billed without one. Its rows are never ranked: what they keep describes this
//! compactor, not the strategy (reference §6).

use std::hash::BuildHasher;
use std::iter::successors;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::findable::sentences;
use recap_core::text::{IdentifierOptions, identifiers};
use recap_core::tokens::Counter;
use recap_llm::DryRunCalls;
use recap_strategy::{
    Asked, CallUsage, Compactor, CompactorError, Digest, FailedCall, MESSAGES, Produced, Reply,
    SentText, SessionState, Task,
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

    /// The asked shape with as many lines as fit, and its tokens as text.
    fn produce(&self, task: &Task) -> Result<(Produced, u64), CompactorError> {
        let bound = task.max_tokens;
        let before = SentText::new(before(task));
        let headings = self.headings(task);
        let is_headed = headings * 2 <= bound;
        let room = bound.saturating_sub(if is_headed { headings } else { 0 });
        let (lines, tokens): (Vec<&str>, Vec<u64>) = self.lines(task, &before).into_iter().unzip();
        let is_silent = lines.is_empty();
        let fitting = |lines: &[&str]| {
            let produced = shaped(task, lines, is_headed);
            let text = text(&produced);
            let tokens = self.counter.count(&text);
            let fits = tokens <= bound && (is_silent || !text.is_empty());
            fits.then_some((produced, tokens))
        };
        let lengths: Vec<usize> =
            successors(Some(lines.len()), |&n| (n > 1).then(|| n - n / 16 - 1)).collect();
        let likely = lengths.partition_point(|&n| tokens[..n].iter().sum::<u64>() > room);
        // Of the newest line at least the beginning.
        let newest = successors(lines.first().copied(), |line| {
            (line.len() > 1).then(|| cut(line, line.len() / 2))
        });
        first_that_fits(lengths.len(), likely, |at| fitting(&lines[..lengths[at]]))
            .or_else(|| newest.skip(1).find_map(|line| fitting(&[line])))
            .or_else(|| fitting(&[]))
            .ok_or_else(|| {
                let why = format!("the asked shape does not fit into {bound} tokens");
                CompactorError::Malformed(why)
            })
    }

    /// Tokens of headings alone: they have to leave half of the bound, which they do not at small
    /// windows.
    fn headings(&self, task: &Task) -> u64 {
        self.counter.count(&text(&shaped(task, &[], true)))
    }

    /// The lines that name something that no newer line names, newest first, up to the
    /// bound; then, where it leaves room, the others. Each with its tokens.
    fn lines<'t>(&self, task: &'t Task, before: &'t SentText) -> Vec<(&'t str, u64)> {
        let newest_first = task.messages.iter().rev().map(|message| &*message.text);
        let all = newest_first.chain([before]).flat_map(|text| {
            text.derived(Line::newest_first).iter().map(move |line| (&**text, line))
        });
        let mut named: FxHashSet<u64> = FxHashSet::default();
        let mut said: FxHashSet<&str> = FxHashSet::default();
        let (mut naming, mut others) = ((Vec::new(), 0), (Vec::new(), 0));
        for (text, line) in all {
            let mut is_new = false;
            for name in line.names(text) {
                is_new |= named.insert(*name);
            }
            let (lines, spent) = if is_new { &mut naming } else { &mut others };
            let copied = cut(&text[line.place.clone()], LONGEST);
            if *spent <= task.max_tokens && said.insert(copied) && !is_known(task, copied) {
                let unscaled = line.tokens.get_or_init(|| self.counter.unscaled(copied));
                let tokens = self.counter.scale(*unscaled) + 2;
                *spent += tokens;
                lines.push((copied, tokens));
            }
            if naming.1 > task.max_tokens {
                break;
            }
        }
        naming.0.into_iter().chain(others.0).collect()
    }

    /// The input tokens of a call: the prompt, and the messages or the live
    /// conversation before it.
    fn input(&self, task: &Task) -> u64 {
        let read = match &task.asked {
            Asked::Continuation { live: Some(live), .. } => live.tokens,
            _ => task.messages.iter().map(|message| message.tokens).sum(),
        };
        self.counter.count(&task.prompt.replace(MESSAGES, "")) + read
    }
}

#[async_trait]
impl Compactor for Offline {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let (produced, written) = self.produce(task)?;
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

/// A line or sentence of a text.
struct Line {
    place: Range<usize>,
    /// Hashes of what it names, found when first needed: 64 bits, so that two names of one session
    /// share one with a chance below one in a billion.
    names: OnceLock<Box<[u64]>>,
    /// Tokens of what is copied of it, by the vocabulary alone.
    tokens: OnceLock<u64>,
}

impl Line {
    /// The lines and sentences of a text, the last first, without bullets.
    fn newest_first(text: &str) -> Vec<Line> {
        let place = |place: Range<usize>| {
            let length = text[place.clone()].trim_start_matches("- ").len();
            let place = place.end - length..place.end;
            Line { place, names: OnceLock::new(), tokens: OnceLock::new() }
        };
        sentences(text).into_iter().rev().map(place).collect()
    }

    fn names(&self, text: &str) -> &[u64] {
        self.names.get_or_init(|| {
            let found = identifiers(&text[self.place.clone()], IdentifierOptions { code: false });
            found.iter().map(|identifier| FxBuildHasher.hash_one(identifier.text)).collect()
        })
    }
}

/// The result of the first of `count` trials, each of less than the one before, that has one: where
/// one has, all after it would. `likely`: about where it is.
fn first_that_fits<T>(
    count: usize,
    likely: usize,
    trial: impl Fn(usize) -> Option<T>,
) -> Option<T> {
    let likely = likely.min(count - 1);
    match trial(likely) {
        None => (likely + 1..count).find_map(trial),
        found => (0..likely).rev().map_while(trial).last().or(found),
    }
}

/// What was written before this task, which is older than every message.
fn before(task: &Task) -> String {
    match &task.asked {
        Asked::SessionState { previous: Some(state) } => {
            let lists = [&state.abstract_, &state.pathos, &state.logos];
            // Entries are newest first; lines are read from the end.
            let lines = lists.into_iter().flat_map(|list| list.iter().rev());
            lines.map(String::as_str).collect::<Vec<_>>().join("\n")
        }
        Asked::Digest { rolling: Some(rolling), .. } => {
            rolling.lines().rev().collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn is_known(task: &Task, line: &str) -> bool {
    matches!(&task.asked, Asked::Digest { known, .. } if known.iter().any(|memory| memory == line))
}

/// At most this many bytes of a text, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    text[..text.floor_char_boundary(bytes)].trim_end()
}

/// The lines in the asked shape.
fn shaped(task: &Task, lines: &[&str], is_headed: bool) -> Produced {
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    match &task.asked {
        Asked::SessionState { .. } => Produced::SessionState(SessionState {
            logos: owned(lines),
            conversation_summary: lines.first().copied().unwrap_or_default().to_owned(),
            ..SessionState::default()
        }),
        Asked::Continuation { headings, .. } => {
            let headings = headings.iter().filter(|_| is_headed).map(|head| format!("## {head}\n"));
            let text = headings.collect::<Vec<_>>().join("\n") + &listed(lines);
            Produced::Continuation(text.trim_end().to_owned())
        }
        Asked::Digest { .. } => {
            let (memories, others) = lines.split_at(MEMORIES.min(lines.len()));
            let summary = listed(others).trim_end().to_owned();
            Produced::Digest(Digest { summary, memories: owned(memories) })
        }
    }
}

fn listed(lines: &[impl AsRef<str>]) -> String {
    lines.iter().flat_map(|line| ["- ", line.as_ref(), "\n"]).collect()
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

/// The compactor of a dry run, which estimates a cost: a model counts the requests that it would
/// get and refuses them; the offline compactor then writes the summaries, and their lengths are
/// recorded. Summaries of different repetitions differ, as those of a model do, so that the
/// questions to each are counted.
pub struct DryRunCompactor {
    counted: Arc<dyn Compactor>,
    offline: Offline,
    foreseen: Arc<DryRunCalls>,
    replicate: u32,
}

impl DryRunCompactor {
    /// A dry run of a model whose calls are `counted`.
    pub fn new(
        counted: Arc<dyn Compactor>,
        counter: &Arc<Counter>,
        foreseen: Arc<DryRunCalls>,
    ) -> Self {
        Self { counted, offline: Offline::new(Arc::clone(counter)), foreseen, replicate: 0 }
    }
}

#[async_trait]
impl Compactor for DryRunCompactor {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        match self.counted.run(task).await {
            Err(FailedCall { error: CompactorError::Refused(_), .. }) => {
                let mut reply = self.offline.run(task).await?;
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
        self.counted.name()
    }

    fn reads_live(&self) -> bool {
        self.counted.reads_live()
    }

    fn repeated(&self, replicate: u32) -> Option<Arc<dyn Compactor>> {
        let counted = self.counted.repeated(replicate)?;
        let one = Self::new(counted, &self.offline.counter, Arc::clone(&self.foreseen));
        Some(Arc::new(Self { replicate, ..one }))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        let counted = self.counted.counting(counter).unwrap_or_else(|| Arc::clone(&self.counted));
        let one = Self::new(counted, counter, Arc::clone(&self.foreseen));
        Some(Arc::new(Self { replicate: self.replicate, ..one }))
    }
}

#[cfg(test)]
mod tests {
    use recap_core::model::Role;
    use recap_strategy::TaskMessage;

    use super::*;

    /// The asked shape with as many lines as fit, after each step with a sixteenth of them less.
    fn step_by_step(offline: &Offline, task: &Task, is_headed: bool) -> Option<(Produced, u64)> {
        let before = SentText::new(before(task));
        let mut lines: Vec<&str> =
            offline.lines(task, &before).into_iter().map(|(line, _)| line).collect();
        let is_silent = lines.is_empty();
        loop {
            let produced = shaped(task, &lines, is_headed);
            let text = text(&produced);
            let tokens = offline.counter.count(&text);
            if tokens <= task.max_tokens && (is_silent || !text.is_empty()) {
                return Some((produced, tokens));
            }
            match lines.as_mut_slice() {
                [] => return None,
                [line] if line.len() > 1 => *line = cut(line, line.len() / 2),
                left => {
                    let less = left.len() / 16 + 1;
                    lines.truncate(lines.len() - less);
                }
            }
        }
    }

    #[test]
    fn as_many_lines_fit_as_are_found_step_by_step() {
        let offline = Offline::new(Arc::new(Counter::default()));
        let line = |n: usize| match n % 4 {
            0 => format!("Wrote src/part{n}.rs, {}", "and so on ".repeat(n % 7)),
            1 => format!("\"{n}\\\\\"\t{}", "}))]".repeat(n % 5)),
            2 => "The next step follows.".repeat(n % 3),
            _ => format!("port {n}: 40{n} ✓ 在这里 {}", "=".repeat(n)),
        };
        for count in [0, 1, 2, 17, 90] {
            let text = (0..count).map(line).collect::<Vec<_>>().join("\n");
            let text = SentText::new(text);
            let messages = vec![TaskMessage { role: Role::User, text, images: 0, tokens: 0 }];
            for max_tokens in (0..60).chain((60..1_500).step_by(37)) {
                let (prompt, messages) = (String::new(), messages.clone());
                let headings = vec!["Done".to_owned(), "Open".to_owned()];
                let (live, previous, rolling, known) = (None, None, None, Vec::new());
                for asked in [
                    Asked::Continuation { headings, live },
                    Asked::SessionState { previous },
                    Asked::Digest { rolling, known },
                ] {
                    let (prompt, messages) = (prompt.clone(), messages.clone());
                    let task = Task { prompt, messages, max_tokens, asked };
                    let is_headed = offline.headings(&task) * 2 <= max_tokens;
                    let slow = step_by_step(&offline, &task, is_headed);
                    assert_eq!(offline.produce(&task).ok(), slow, "{task:?}");
                }
            }
        }
    }
}
