//! Chat histories of Aider, Markdown (`.aider.chat.history.md`): a session
//! begins with a heading, what the user said stands behind `#### `, what aider
//! itself printed behind `> `, and all else is the model's. Read from the
//! agent's public source (Aider-AI/aider, `aider/io.py`: `append_chat_history`
//! and its callers), without recordings at hand. Every line of an input is
//! marked, blank ones too, and ends in two spaces, which headings of a response do
//! not; so any other line ends it. A response ends where aider printed its tokens.
//! The file has no calls, and of the
//! usage rounded sizes and the dollars that aider reckons.
//!
//! What begins with `/` or `!` is a command to aider and no message; some hand on
//! what stands behind them. `/clear` and `/reset` empty the context: what follows
//! is a session of its own.

use std::collections::BTreeMap;

use jiff::civil::DateTime;

use super::content::usage_of;
use super::prelude::*;
use recap_core::text::{Pattern, counted, pattern};

/// The first words of a session.
const START: &str = "# aider chat started at ";

/// What a line of the user begins with, and what it ends in.
const USER: &str = "####";
const SPACES: &str = "  ";

/// The format of Aider's chat histories.
pub(super) const FORMAT: Format = Format {
    name: "aider",
    describe: "Aider chat history (Markdown, .aider.chat.history.md)",
    tried: Tried::Documentation,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let text = head.text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with(START)
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let stem = source.stem().to_owned();
    let text = source.text()?;
    let text = text.trim_start_matches('\u{feff}');
    let whole = without_torn_mark(text);
    let torn = u64::from(whole.len() < text.len());
    // A program may have taken the spaces away, then of all lines.
    let is_spaced = |line: &str| line.starts_with(USER) && line.ends_with(SPACES);
    let spaced = whole.lines().any(is_spaced);
    let last = whole.split_inclusive('\n').next_back().filter(|line| !line.ends_with('\n'));
    // A history may hold very many sessions in which nothing was said.
    let (mut count, mut heading, mut open) = (0, None, None::<WireSession>);
    let mut early = 0;
    let mut take_all = |session: Option<WireSession>, torn: u64| {
        let mut drafts = session.map_or_else(Vec::new, WireSession::finish);
        if let Some(last) = drafts.last_mut() {
            last.leave_out("torn last line", torn);
        }
        drafts.into_iter().try_for_each(|draft| take(source, draft))
    };
    for (number, line) in (1..).zip(whole.lines()) {
        if let Some(at) = line.strip_prefix(START) {
            take_all(open.take(), 0)?;
            count += 1;
            heading = Some(at);
        } else if let Some(session) = &mut open {
            session.line(line, !spaced || is_spaced(line) || last == Some(line));
            let held = session.draft.check_memory();
            held.map_err(|problem| source.error(Some(number), problem))?;
        } else if let Some(at) = heading.filter(|_| !line.trim().is_empty()) {
            let session = open.insert(WireSession::new(&format!("{stem}-{count}"), at));
            session.line(line, !spaced || is_spaced(line) || last == Some(line));
        } else if !line.trim().is_empty() {
            early += 1;
        }
    }
    take_all(open, torn)?;
    if early > 0 {
        source.warn(format!("left out: {} before the first session", counted(early, "line")));
    }
    Ok(())
}

/// The text without a last line that is cut within the mark it begins with,
/// which would be taken for the model's. Aider ends every line that it writes.
fn without_torn_mark(text: &str) -> &str {
    let (before, last) = text.split_at(text.rfind('\n').map_or(0, |at| at + 1));
    let is_torn = !last.is_empty()
        && ["#### ", "> ", START]
            .iter()
            .any(|mark| mark.len() > last.len() && mark.starts_with(last));
    if is_torn { before } else { text }
}

#[derive(Default)]
struct WireSession {
    id: String,
    draft: Draft,
    /// Parts of it that `/clear` or `/reset` ended.
    ended: Vec<Draft>,
    at: Option<Timestamp>,
    model: Option<String>,
    /// What aider printed of each model's requests.
    totals: BTreeMap<Option<String>, SessionTotal>,
    /// Whose lines are open, and their text.
    open: Option<(Role, String)>,
}

/// Commands that hand on what stands behind them as a message.
const ASKING: [&str; 5] = ["/ask", "/code", "/architect", "/context", "/help"];

impl WireSession {
    fn new(id: &str, at: &str) -> WireSession {
        // The local time of the user, whose zone is not written.
        let at = DateTime::strptime("%Y-%m-%d %H:%M:%S", at.trim());
        let at = at.ok().and_then(in_utc);
        WireSession { id: id.to_owned(), draft: Draft::named(id), at, ..WireSession::default() }
    }

    /// Takes a line, which is the user's only if `may_be_input`.
    fn line(&mut self, line: &str, may_be_input: bool) {
        let input = line.strip_prefix(USER).filter(|text| may_be_input && !text.starts_with('#'));
        if let Some(text) = input {
            self.add(Role::User, text.strip_prefix(' ').unwrap_or(text).trim_end());
        } else if line.starts_with("> ") || line.trim_end() == ">" {
            self.model = model(line).or(self.model.take());
            self.used(line);
            self.draft.leave_out("line that aider itself printed", 1);
            if self.is_open(Role::User) || line.starts_with("> Tokens: ") {
                self.close();
            }
        } else {
            if self.is_open(Role::User) {
                self.close();
            }
            self.add(Role::Assistant, line);
        }
    }

    fn add(&mut self, role: Role, line: &str) {
        match &mut self.open {
            Some((open, text)) if *open == role => {
                text.push('\n');
                text.push_str(line);
            }
            // Blank lines stand around what the user says.
            _ if line.trim().is_empty() => {}
            _ => {
                self.close();
                self.open = Some((role, line.to_owned()));
            }
        }
    }

    fn is_open(&self, role: Role) -> bool {
        self.open.as_ref().is_some_and(|(open, ..)| *open == role)
    }

    fn close(&mut self) {
        let Some((role, text)) = self.open.take() else { return };
        let text = match role {
            Role::User => match self.prompt_of(text.trim()) {
                Some(text) => text,
                None => return,
            },
            _ => text,
        };
        let mut turn = Turn::new(role);
        turn.model.clone_from(&self.model);
        // Only the first message has a time.
        turn.at = self.at.take_if(|_| self.draft.next_index() == 0);
        turn.text(text.trim_end());
        self.draft.turn(turn);
    }

    /// What the model is asked; nothing where it is a command to aider.
    fn prompt_of(&mut self, text: &str) -> Option<String> {
        if !text.starts_with(['/', '!']) {
            return Some(text.to_owned());
        }
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if ASKING.contains(&command) && !rest.trim().is_empty() {
            return Some(rest.trim().to_owned());
        }
        self.draft.leave_out("command to aider", 1);
        if matches!(command, "/clear" | "/reset") && self.draft.next_index() > 0 {
            let id = format!("{}-{}", self.id, self.ended.len() + 2);
            let ended = std::mem::replace(&mut self.draft, Draft::named(id));
            self.end(ended);
        }
        None
    }

    fn finish(mut self) -> Vec<Draft> {
        self.close();
        let last = std::mem::take(&mut self.draft);
        self.end(last);
        self.ended
    }

    fn end(&mut self, mut draft: Draft) {
        draft.session.totals = std::mem::take(&mut self.totals).into_values().collect();
        draft.leading_system_to_preamble();
        self.ended.push(draft);
    }

    /// What aider printed behind a request: "Tokens: 2.4k sent, 1k cache write, 2k cache
    /// hit, 300 received. Cost: $0.01 message, $0.02 session." Costs may have a line of
    /// their own.
    fn used(&mut self, line: &str) {
        let printed = line.strip_prefix("> ").unwrap_or_default();
        let is_request = printed.starts_with("Tokens: ");
        if !is_request && !printed.starts_with("Cost: $") {
            return;
        }
        let size = |of: &str| {
            let mut sizes = SIZE.captures_iter(printed);
            let found = sizes.find(|found| &found[3] == of)?;
            let unit = if found[2].is_empty() { 1.0 } else { 1_000.0 };
            Some((found[1].parse::<f64>().ok()? * unit).round() as u64)
        };
        let [sent, hit, written, received] =
            ["sent", "cache hit", "cache write", "received"].map(|of| size(of).unwrap_or(0));
        let total = self.totals.entry(self.model.clone()).or_default();
        total.model.clone_from(&self.model);
        let usd = COST.captures(printed).and_then(|found| found[1].parse().ok());
        total.add(u64::from(is_request), &usage_of(sent, [hit, written], received), usd);
    }
}

/// A size as aider prints it: 830, 2.4k, 31k.
static SIZE: Pattern = pattern!(r"[:,] ([0-9.]+)(k?) (sent|cache write|cache hit|received)");

/// What the newest message cost.
static COST: Pattern = pattern!(r"Cost: \$([0-9.]*[0-9])");

/// The model that aider says it works with: "Model: X with diff edit format",
/// "Main model: X with …", "Models: X with …, weak model Y".
fn model(line: &str) -> Option<String> {
    let printed = line.strip_prefix("> ")?;
    let named = ["Model: ", "Main model: ", "Models: "];
    let name = named.iter().find_map(|start| printed.strip_prefix(start))?;
    let name = name.split([' ', ',']).next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}
