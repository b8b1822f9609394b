//! Collects what is read of an input into one data set.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, check, mend};
use super::error::{DatasetError, Problem};
use super::native;
use super::questions::{self, Placed};
use super::relations::Relations;
use super::source::Source;
use super::walk::Subagents;
use super::{Dataset, LoadOptions};
use recap_core::model::{MessageIndex, Question, SIDECHAIN, Session, SidechainRequest, Usage};

/// File name without its last extension; that of a packed file is the one before `.gz` or `.zst`.
pub(super) fn stem_of(name: &str) -> &str {
    let packed = [".gz", ".zst"].into_iter().find_map(|end| name.strip_suffix(end));
    let name = packed.unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Most names in one warning, before it says "and more".
pub(super) const NAMED: usize = 3;

/// The first of some names, with how many more there are.
pub(super) fn first_of<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What a subagent did, for the session that started it.
pub(super) struct Aside {
    pub(super) requests: Vec<SidechainRequest>,
    /// Number of its messages.
    pub(super) messages: u64,
}

impl Aside {
    /// What the messages of a subagent's session did from the first one that is its own.
    pub(super) fn of(session: &Session, first: MessageIndex) -> Aside {
        let own = || (0u32..).zip(&session.messages).skip(first as usize);
        let requests = own().filter_map(|(index, message)| {
            let model = session.other_models.get(&index).or(session.model.as_ref()).cloned();
            Some(SidechainRequest { at: message.at, model, usage: message.usage? })
        });
        let requests = requests.chain(session.sidechains.iter().cloned()).collect();
        Aside { requests, messages: own().count() as u64 }
    }

    /// Adds it to the session.
    pub(super) fn add_to(self, session: &mut Session) {
        if self.messages > 0 {
            let reason = "message of a subagent".to_owned();
            *session.left_out.entry(reason).or_default() += self.messages;
        }
        session.sidechains.extend(self.requests);
    }
}

/// The sessions and questions of a data set that is being read.
#[derive(Default)]
pub(super) struct Gathered {
    /// How the inputs are read.
    pub(super) options: LoadOptions,
    pub(super) sessions: Vec<Entry>,
    pub(super) warnings: Vec<String>,
    pub(super) files: Vec<(String, String)>,
    pub(super) card: Option<Dataset>,
    /// Questions of a native file, which name their sessions.
    pub(super) questions: Vec<Placed>,
    /// The problems in the lines of that file.
    pub(super) problems: Vec<DatasetError>,
    /// Files that could not be read, each with the reason.
    pub(super) set_aside: Vec<String>,
    /// The first file of no known format that looks like something.
    pub(super) first_unknown: Option<(String, String)>,
    /// Which sessions are subagents of which.
    pub(super) relations: Relations,
    /// Names of the formats that sessions were read from.
    pub(super) formats: BTreeSet<&'static str>,
    /// Which files are read with another one.
    pub(super) subagents: Subagents,
}

/// A session, its place and the questions that came with it.
pub(super) struct Entry {
    /// Path below the input.
    file: String,
    session: Session,
    questions: Vec<Question>,
    /// The name of the questions' file in errors.
    asked_in: String,
}

impl Gathered {
    pub(super) fn new(options: LoadOptions) -> Gathered {
        Gathered { options, ..Gathered::default() }
    }

    /// Takes the next session of a file. Nothing may be mended of what this program wrote
    /// (`strict`).
    ///
    /// # Errors
    /// The first rule of sessions that it breaks.
    pub(super) fn keep(
        &mut self,
        relative: &str,
        mut draft: Draft,
        source: &Source<'_>,
        strict: bool,
    ) -> Result<(), DatasetError> {
        if self.relations.defers(relative, &draft) {
            return Ok(());
        }
        if let Err(problem) = check(&draft.session) {
            // Questions name messages by their ids.
            let strict = strict || !draft.questions.is_empty();
            if strict || problem.kind().is_none() {
                return Err(source.error(draft.line, problem));
            }
            mend(&mut draft);
            check(&draft.session).map_err(|problem| source.error(draft.line, problem))?;
        }
        settle(&mut draft.session);
        match self.relations.starter(&draft) {
            Some(starter) if self.options.sidechains => {
                starter.children += 1;
                let id = &self.sessions[starter.at].session.id;
                draft.session.id = format!("{id}{SIDECHAIN}{}", starter.children);
            }
            Some(starter) => {
                let at = starter.at;
                let aside = self.relations.fold(at, &draft);
                aside.add_to(&mut self.sessions[at].session);
                return Ok(());
            }
            None if draft.parent.is_none() => {}
            None => self.warnings.push(format!(
                "{relative}: a subagent's session without that of the agent which started it: it \
                 is read by itself, with what it repeats of the other"
            )),
        }
        self.relations.note(self.sessions.len(), relative, &draft, !strict);
        let Draft { mut session, questions, asked_in, .. } = draft;
        // Readers cannot reserve the right size beforehand, and many sessions
        // are held in memory.
        session.messages.iter_mut().for_each(|message| message.blocks.shrink_to_fit());
        session.messages.shrink_to_fit();
        let asked_in = asked_in.unwrap_or_else(|| source.name().to_owned());
        self.sessions.push(Entry { file: relative.to_owned(), session, questions, asked_in });
        Ok(())
    }

    /// Adds what `read` reads of a file. A broken file is set aside with its
    /// reason, and nothing of it is kept.
    pub(super) fn or_set_aside(
        &mut self,
        relative: &str,
        read: impl FnOnce(&mut Self) -> Result<bool, DatasetError>,
    ) -> bool {
        let count = self.sessions.len();
        let (warnings, files) = (self.warnings.len(), self.files.len());
        match read(self) {
            Err(error) => {
                self.sessions.truncate(count);
                self.relations.truncate(count);
                self.warnings.truncate(warnings);
                self.files.truncate(files);
                let name = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
                // The broken file may be the one with the questions.
                let other =
                    name(&error.file).filter(|other| Some(other) != name(relative).as_ref());
                let other = other.map_or_else(String::new, |other| format!("{other}: "));
                self.set_aside.push(format!("{relative}: {other}{}", error.reason()));
                true
            }
            Ok(known) => known,
        }
    }

    /// Counts what several sessions share in one of them, and drops those that have nothing else.
    fn count_once(&mut self) {
        let (copies, warning) = self.relations.copies(|at| self.sessions[at].file.clone());
        self.warnings.extend(warning);
        let mut copies = copies.into_iter();
        self.sessions.retain_mut(|entry| {
            let copies = copies.next().unwrap_or_default();
            copies.mark(&mut entry.session);
            !copies.is_whole
        });
    }

    /// Gives every session an id of its own, and places the questions that came with it, whose
    /// ids begin with that, among the others.
    ///
    /// # Errors
    /// Two sessions of one file with the same id.
    fn name_sessions(&mut self) -> Result<(), DatasetError> {
        let ids = unique_ids(&self.sessions)?;
        for (Entry { session, questions, asked_in, .. }, id) in self.sessions.iter_mut().zip(ids) {
            self.questions.extend(questions.drain(..).map(|question| {
                let (id, session) = (format!("{id}/{}", question.id), id.clone());
                let question = Question { id, session, ..question };
                Placed { question, file: asked_in.clone(), line: None }
            }));
            session.id = id;
        }
        Ok(())
    }

    /// Adds a warning for each file that was set aside.
    pub(super) fn warn_of_set_aside(&mut self) {
        let aside = self.set_aside.drain(..);
        self.warnings.extend(aside.map(|file| format!("set aside: {file}")));
    }

    pub(super) fn warn_of_others(&mut self, others: &[&str], hidden: u64) {
        if !others.is_empty() {
            let named = first_of(others, NAMED);
            let verb =
                if others.len() == 1 { "file is no session" } else { "files are no sessions" };
            self.warnings.push(format!("{} {verb}: {named}", others.len()));
        }
        if hidden > 0 {
            self.warnings.push(format!(
                "hidden folders, links to folders and the like, not entered: {hidden}"
            ));
        }
    }

    /// The data set, without its questions: these stay, with the problems that keep it from
    /// loading, by file and line.
    pub(super) fn dataset(&mut self, name: &str) -> Result<Dataset, DatasetError> {
        self.count_once();
        self.name_sessions()?;
        let entries = std::mem::take(&mut self.sessions).into_iter();
        let sessions: Vec<Session> = entries.map(|entry| entry.session).collect();
        self.problems.extend(questions::broken(&sessions, &self.questions));
        self.problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        let name = name.to_owned();
        // The program's own format tells no agent.
        let agent = self.formats.first().filter(|name| **name != native::FORMAT.name);
        Ok(Dataset {
            agent: agent.filter(|_| self.formats.len() == 1).map(|&name| name.to_owned()),
            sessions,
            warnings: std::mem::take(&mut self.warnings),
            files: std::mem::take(&mut self.files),
            ..self.card.take().unwrap_or(Dataset { name, ..Dataset::default() })
        })
    }

    /// The data set with its questions.
    ///
    /// # Errors
    /// The first problem.
    pub(super) fn whole(mut self, name: &str) -> Result<Dataset, DatasetError> {
        let dataset = self.dataset(name)?;
        if let Some(first) = self.problems.into_iter().next() {
            return Err(first);
        }
        let questions = self.questions.into_iter().map(|placed| placed.question).collect();
        Ok(Dataset { questions, ..dataset })
    }
}

/// The ids of all sessions: one that several files use is prefixed with the path
/// of each file, with its ending where that alone tells it from another.
///
/// # Errors
/// Two sessions of one file with the same id.
fn unique_ids(sessions: &[Entry]) -> Result<Vec<String>, DatasetError> {
    let mut files_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut files_with: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Entry { file, session, .. } in sessions {
        files_of.entry(&session.id).or_default().insert(file);
        files_with.entry(stem_of(file)).or_default().insert(file);
    }
    let mut seen = BTreeSet::new();
    let unique = sessions.iter().map(|Entry { file, session, .. }| {
        let (stem, id) = (stem_of(file), &session.id);
        let is_alone = files_with.get(stem).is_none_or(|files| files.len() == 1);
        let path = if is_alone { stem } else { file };
        let is_shared = files_of.get(id.as_str()).is_some_and(|files| files.len() > 1);
        let own = if !is_shared {
            id.clone()
        } else if stem.rsplit('/').next() == Some(id) {
            path.to_owned()
        } else {
            format!("{path}/{id}")
        };
        if seen.insert(own.clone()) {
            Ok(own)
        } else {
            Err(DatasetError::whole(file.clone(), Problem::RepeatedSession(own)))
        }
    });
    unique.collect()
}

// Drops reported usage that cannot be right, so that no bill depends on it and
// none is $0.00.

/// The reason for dropping usage.
const ABSURD: &str = "reported usage beyond any context window";
const ZERO: &str = "reported usage of zero tokens in a session that reports no other";

/// Drops figures that cannot be counts of tokens, and zeros where the session
/// reports nothing else. A single request of zero tokens was not billed
/// (reference §0): it stays.
pub(super) fn settle(session: &mut Session) {
    let drop = |session: &mut Session, is_dropped: fn(&Usage) -> bool| {
        let usages = session.messages.iter_mut().map(|message| &mut message.usage);
        usages.filter_map(|usage| usage.take_if(|usage| is_dropped(usage))).count()
    };
    let absurd = drop(session, |usage| !usage.is_believable())
        + session.sidechains.extract_if(.., |request| !request.usage.is_believable()).count()
        + session.totals.extract_if(.., |total| !total.is_believable()).count();
    let mut usages = session.messages.iter().filter_map(|message| message.usage);
    let zero = if usages.all(|usage| usage.prompt() == 0) { drop(session, |_| true) } else { 0 };
    for (reason, n) in [(ABSURD, absurd), (ZERO, zero)] {
        if n > 0 {
            *session.left_out.entry(reason.to_owned()).or_default() += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Message, Role, Usage};

    /// Responses with these prompts, all of them read from a cache.
    fn reads(prompts: &[u64]) -> Session {
        let message = |(at, &cache_read): (usize, &u64)| Message {
            usage: Some(Usage { cache_read, ..Usage::default() }),
            ..Message::new(at.to_string(), Role::Assistant, None, Vec::new())
        };
        let messages = prompts.iter().enumerate().map(message).collect();
        Session { messages, ..Session::default() }
    }

    fn settled(mut session: Session) -> (Vec<Option<u64>>, Vec<(String, u64)>) {
        settle(&mut session);
        let left = session.messages.iter().map(|m| m.usage.map(|usage| usage.cache_read));
        (left.collect(), session.left_out.into_iter().collect())
    }

    #[test]
    fn all_zero_usage_is_dropped_with_reason() {
        assert_eq!(settled(reads(&[0, 0])), (vec![None, None], vec![(ZERO.to_owned(), 2)]));
        // One that was aborted among others is no reason to doubt them.
        assert_eq!(settled(reads(&[0, 9])), (vec![Some(0), Some(9)], Vec::new()));
        assert_eq!(settled(reads(&[])), (Vec::new(), Vec::new()));
    }

    #[test]
    fn reads_beyond_any_window_are_dropped_with_reason() {
        let most = recap_core::model::MOST_TOKENS;
        let absurd = |n| (ABSURD.to_owned(), n);
        let found = settled(reads(&[most, most + 1, u64::MAX]));
        assert_eq!(found, (vec![Some(most), None, None], vec![absurd(2)]));
        // Nothing is left but a zero.
        let found = settled(reads(&[0, u64::MAX]));
        assert_eq!(found, (vec![None, None], vec![absurd(1), (ZERO.to_owned(), 1)]));
        let mut aside = reads(&[5]);
        let usage = Usage { output: u64::MAX, ..Usage::default() };
        aside.sidechains = vec![SidechainRequest { at: None, model: None, usage }];
        assert_eq!(settled(aside), (vec![Some(5)], vec![absurd(1)]));
    }
}
