//! `recap show`: the exact context of one request, or the one after a cut with
//! the facts there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::Args;

use super::work::Work;
use super::{inputs, wire};
use crate::bench::{self, share_native_windows};
use crate::failure::{Exit, Failure};
use recap_billing::pricing::{BillingModels, PriceList};
use recap_core::model::{
    CutExam, Fact, LedgerState, NO_SUMMARY, Reference, ReferenceState, Session, suggest,
};
use recap_core::text::{counted, form_for, grouped};
use recap_core::tokens::Counter;
use recap_exam::facts::{CutPlace, Cuts};
use recap_replay::run::{ModelRoles, Windows, compactor};
use recap_replay::{
    CutSegment, NativeWindow, Plan, PreparedSession, ReplaySession, RequestInspector, WindowSpec,
    carrier, examine,
};
use recap_report::document::{Part, TableOf, figures, names, words};
use recap_strategy::{AskedFrom, Compactor, Context, Scaling, StoredFile, Strategy};

/// Characters of a message that say which one it is.
const BEGINNING: usize = 80;

/// Options of `recap show`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A file, a folder, or a bundled data set
    input: String,

    /// Which session, where the input holds several
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// The strategy; with --cut also `no-summary:NAME`, the same without its summaries
    #[arg(long, value_name = "NAME|FILE")]
    strategy: String,

    /// Ordinal of the request, from 0 [default: the last; with --cut the first after it]
    #[arg(long, value_name = "N")]
    request: Option<u32>,

    /// Show the context right after a cut, or with --request that of a later request, and what of
    /// the facts is left at the requests that use them: the number of the cut, from 1, in the order
    /// of cuts.csv
    #[arg(long, value_name = "K", conflicts_with_all = ["window", "files"])]
    cut: Option<u32>,

    /// Where cuts are, as in `recap bench`
    #[arg(long, value_name = "N|all|recorded", default_value = "5", requires = "cut")]
    cuts: Cuts,

    /// 1 is the first compaction of the session; 3 a session three times as large as the window,
    /// compacted along the way
    #[arg(long, value_name = "N", default_value_t = 1, requires = "cut",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: u32,

    /// Context limit to assume: tokens, a share of the messages, or native [default: as in `recap
    /// bench`]
    #[arg(long, value_name = "TOKENS|SHARE|native")]
    window: Option<WindowSpec>,

    /// Keep numbers of tokens and characters as written instead of scaling them to the window
    #[arg(long)]
    no_scale: bool,

    /// How tokens are counted [default: calibrated]
    #[arg(long, value_enum)]
    tokens: Option<wire::TokenCounting>,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    reading: inputs::ReadOptions,

    /// Print only what differs from the whole conversation
    #[arg(long)]
    diff: bool,

    /// Write what the system would keep on its own disk by then into this folder, which must be new
    /// or empty
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let strategy = strategy(arguments)?;
    if strategy.asked_from == AskedFrom::Evidence {
        return Err(Failure::usage(format!(
            "`{}` is put to each question's own evidence and sends no requests",
            strategy.name
        ))
        .help("show another strategy; `recap bench` lists its answers in questions.csv"));
    }
    let mut datasets =
        inputs::load(std::slice::from_ref(&arguments.input), &arguments.reading.options())?;
    let windows = Windows::or_default(Vec::from_iter(arguments.window.clone()), &datasets);
    let billing_models = billing_models();
    share_native_windows(&mut datasets, &windows, &billing_models);
    let dataset = datasets.remove(0);
    let window =
        windows.of(&dataset.name).first().expect("it has one of its own, or that asked for");
    let session = pick(dataset.sessions, arguments.session.as_deref())?;
    let counter = wire::counter(arguments.tokens);
    let roles = ModelRoles::offline(&counter);
    let parts = match arguments.cut {
        Some(cut) => at_cut((arguments, cut), &dataset.name, session, (strategy, roles), counter)?,
        None => {
            let prepared = PreparedSession::new(&dataset.name, session, counter);
            at_request(arguments, &prepared, (window, &billing_models), (strategy, roles))?
        }
    };
    wire::print_document(&parts)?;
    Ok(Exit::Done)
}

/// What is printed for a request: what is sent, and the strategy's notices and files by then.
fn at_request(
    arguments: &Arguments,
    prepared: &PreparedSession,
    (window, billing_models): (&WindowSpec, &BillingModels),
    (strategy, roles): (Strategy, ModelRoles),
) -> Result<Vec<Part>, Failure> {
    let last = prepared.facts.requests.len() as u32;
    let request = arguments.request.unwrap_or(last.saturating_sub(1));
    if request >= last {
        return Err(Failure::usage(format!(
            "request {request} is not there: the session has {last}, from 0"
        ))
        .help("give an ordinal below that number to --request"));
    }
    let native = NativeWindow::of(&prepared.recording.session, billing_models).tokens;
    let tokens = window.tokens(&prepared.recording.sizes, native).map_err(wire::too_small)?;
    let scaling = window.scaling(!arguments.no_scale);
    let plan = plan(arguments, prepared, strategy, (window.label(), tokens, scaling));
    let compactor = compactor(&roles, prepared, &plan.key);
    let mut replay = ReplaySession::open(prepared, &plan, compactor.as_ref())
        .map_err(|e| Failure::with_code(Exit::Incomplete, e.to_string()))?;
    Work::new(1)?
        .run(replay.run_to_request(request))?
        .map_err(|e| Failure::with_code(Exit::Incomplete, e.to_string()))?;
    let context = replay.context();
    let facts = &prepared.facts.requests[request as usize];
    let at = format!("window {} ({} tokens)", plan.key.window, plan.window);
    let sent = format!(
        "sent: {} in {}; the whole conversation: {} in {}",
        counted(context.weight().tokens, "token"),
        counted(context.message_count(), "message"),
        counted(facts.tokens_full, "token"),
        facts.message,
    );
    let mut parts = vec![title(prepared, &plan, &at, request), Part::Text(sent)];
    parts.extend(context_parts(context, prepared, arguments.diff));
    parts.extend(notice_parts(replay.notices()));
    if let Some(folder) = &arguments.files {
        parts.extend(kept(folder, &replay.stored(), &plan.strategy.name)?);
    }
    Ok(parts)
}

/// The models of recordings, by their names in the price list.
fn billing_models() -> BillingModels {
    BillingModels::new(Arc::new(PriceList::bundled()), Vec::new())
}

/// The strategy that the user named.
fn strategy(arguments: &Arguments) -> Result<Strategy, Failure> {
    let Some(name) = arguments.strategy.strip_prefix(NO_SUMMARY) else {
        return bench::strategy(&arguments.strategy, &[]);
    };
    if arguments.cut.is_none() {
        return Err(Failure::usage(format!(
            "`{}` can be shown after a cut only",
            arguments.strategy
        ))
        .help("add --cut 1"));
    }
    let strategy = bench::strategy(name, &[])?;
    strategy.without_summary().ok_or_else(|| {
        Failure::usage(format!(
            "no model writes text for `{name}`, so there is nothing to leave out"
        ))
        .help(format!("show `{name}` itself"))
    })
}

/// Writes the files of a system, and lists them.
fn kept(folder: &Path, files: &[StoredFile], strategy: &str) -> Result<[Part; 2], Failure> {
    if files.is_empty() {
        return Err(Failure::usage(format!(
            "`{strategy}` has not written any files at this point"
        ))
        .help("leave out --files; its context is what is shown"));
    }
    let refused = |path: &Path, problem: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {problem}", path.display()))
            .help("give --files a folder that can be made, or an empty one")
    };
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(refused(folder, &"the folder is not empty"));
    }
    let mut rows = Vec::new();
    for file in files {
        // Ids of a recording may be any text: no part of a path may lead elsewhere.
        let parts = file.path.split('/').map(file_name);
        let path = parts.fold(folder.to_owned(), |path, part| path.join(part));
        let parent = path.parent().expect("it lies in the folder");
        std::fs::create_dir_all(parent).map_err(|e| refused(parent, &e))?;
        std::fs::write(&path, &file.content).map_err(|e| refused(&path, &e))?;
        rows.push([grouped(file.content.len() as u64), path.display().to_string()]);
    }
    let table = TableOf::new("files", rows).columns([figures("bytes"), words("file")]);
    Ok([Part::heading(format!("files that {strategy} has written")), table.part()])
}

/// A part of a path, changed so that it is a valid name on every system.
fn file_name(part: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    match part.chars().map(safe).take(120).collect::<String>() {
        dots if dots.chars().all(|c| c == '.') => "-".to_owned(),
        name => name,
    }
}

fn pick(sessions: Vec<Session>, wanted: Option<&str>) -> Result<Session, Failure> {
    let ids: Vec<String> = sessions.iter().map(|t| t.id.clone()).collect();
    let several = wanted.is_none() && ids.len() > 1;
    let mut found = sessions.into_iter().filter(|t| wanted.is_none_or(|w| w == t.id));
    match found.next() {
        Some(session) if !several => Ok(session),
        _ => {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let problem = match wanted {
                Some(wanted) => format!("session `{wanted}` is not in the input"),
                None => "the input holds several sessions; name one with --session".to_owned(),
            };
            Err(Failure::usage(problem).help(suggest(wanted.unwrap_or_default(), ids)))
        }
    }
}

/// A replay of the session under the strategy, as the model of the recording has it.
fn plan(
    arguments: &Arguments,
    prepared: &PreparedSession,
    strategy: Strategy,
    (label, tokens, scaling): (&str, u64, Scaling),
) -> Plan {
    let facts = &prepared.facts;
    let model = facts.model.as_deref().map(|name| billing_models().named(name).model);
    let strategy = Strategy::for_model(&Arc::new(strategy), &model.unwrap_or_default());
    let session = (&*facts.dataset, &*facts.session);
    let plan = Plan::new(session, strategy, (label, tokens));
    Plan { seed: arguments.seed, scaling, ..plan }
}

/// What the strategy has told the user by then.
fn notice_parts(notices: &[String]) -> Vec<Part> {
    let heading = Part::heading("told to the user by then");
    let each = notices.iter().zip(1..);
    let each = each.map(|(text, number)| Part::Quoted(format!("notice {number}"), text.clone()));
    if notices.is_empty() { Vec::new() } else { std::iter::once(heading).chain(each).collect() }
}

/// What is sent, message by message unless only the differences are wanted, and
/// what differs from the whole conversation as recorded.
fn context_parts(
    context: &Context,
    prepared: &PreparedSession,
    only_differences: bool,
) -> Vec<Part> {
    let hidden = prepared.facts.hidden_tokens;
    let mut parts = vec![Part::Text(format!(
        "preamble: {}, of which {} {} counted by the provider and not in the recording",
        counted(context.preamble_weight().tokens, "token"),
        grouped(hidden),
        form_for(hidden, "was", "were"),
    ))];
    if !only_differences {
        parts.extend(entries(context, prepared));
    }
    parts.push(Part::heading("differences from the whole conversation"));
    parts.push(differences(context, prepared));
    parts
}

fn entries(context: &Context, prepared: &PreparedSession) -> Vec<Part> {
    let preamble = prepared.recording.session.preamble.sent();
    let preamble = (!preamble.is_empty()).then(|| Part::Quoted("preamble".to_owned(), preamble));
    let notes = context.notes();
    let notes = notes.map(|(key, note)| Part::Quoted(format!("note {key}"), note.to_owned()));
    let entries = context.visible().filter_map(|id| context.entry(id)).map(|entry| {
        let recorded = entry.id.index().map(|index| &*prepared.facts.messages[index as usize].id);
        let edited = if entry.edited && recorded.is_some() { ", edited" } else { "" };
        let what = recorded.unwrap_or("written by the strategy");
        let tokens = counted(entry.weight.tokens, "token");
        let head = format!("{} · {what}{edited} · {tokens}", entry.role.as_str());
        Part::Quoted(head, entry.text.to_string())
    });
    preamble.into_iter().chain(notes).chain(entries).collect()
}

/// The messages that are not sent as they were recorded.
fn differences(context: &Context, prepared: &PreparedSession) -> Part {
    let changed = (0..context.seen_count()).filter_map(|index| {
        let word = match context.state(index) {
            LedgerState::Verbatim => return None,
            LedgerState::Edited => "edited",
            LedgerState::Folded => "summarised",
            LedgerState::Gone => "gone",
        };
        let facts = &prepared.facts.messages[index as usize];
        let sent = prepared.recording.session.messages[index as usize].sent();
        Some([
            word.to_owned(),
            facts.role.as_str().to_owned(),
            grouped(facts.tokens),
            facts.id.clone(),
            sent.chars().take(BEGINNING).collect(),
        ])
    });
    let rows: Vec<[String; 5]> = changed.collect();
    if rows.is_empty() {
        return Part::text("none: every message is sent as recorded");
    }
    let heads =
        [words("change"), words("role"), figures("tokens"), words("message"), names("text")];
    TableOf::new("differences from the whole conversation", rows).columns(heads).part()
}

// The context directly after a cut, and the state of everything that the
// recorded agent used next and could know only from before it.

/// Characters of a quote on either side of the fact.
const AROUND: usize = 60;

/// What is printed for a cut: the facts first, then the context.
fn at_cut(
    (arguments, number): (&Arguments, u32),
    dataset: &str,
    session: Session,
    (strategy, roles): (Strategy, ModelRoles),
    counter: Arc<Counter>,
) -> Result<Vec<Part>, Failure> {
    let Arguments { cuts, depth, .. } = *arguments;
    if cuts == Cuts::Recorded && depth > 1 {
        return Err(
            Failure::usage("recorded compactions only support --depth 1").help("leave out --depth")
        );
    }
    let prepared = PreparedSession::with_cuts(dataset, session, counter, cuts, depth);
    let (place, facts) = picked(number, depth, &prepared)?;
    if strategy.replays_recording() && place.recorded.is_none() {
        return Err(Failure::usage("the recorded agent did not compact at this cut")
            .help("add --cuts recorded"));
    }
    let part = CutSegment::new(&prepared, place, facts, &[]);
    let scaling = if arguments.no_scale { Scaling::AsWritten } else { Scaling::All };
    let plan = plan(arguments, &prepared, strategy, ("cut", 0, scaling));
    let shown = arguments.request.unwrap_or(place.request);
    let requests = place.request..place.request + place.requests;
    if !requests.contains(&shown) {
        let range = format!("--request takes {} to {}", requests.start, requests.end - 1);
        return Err(
            Failure::usage(format!("request {shown} is not looked at after this cut")).help(range)
        );
    }
    let compactor = compactor(&roles, &prepared, &plan.key);
    let replay = (&plan, &*compactor);
    let (exam, seen) = examined(&part, replay, facts, (shown, arguments))?;
    let cut = part.cut(place, facts);
    let sent = format!(
        "sent right after the cut: {} in {} at a window of {}; uncompressed: {}",
        counted(exam.tokens_after, "token"),
        counted(seen.messages.unwrap_or(0), "message"),
        counted(exam.window, "token"),
        counted(cut.tokens_before, "token"),
    );
    let at = format!("cut {number} of {}, depth {depth}", prepared.cuts.len());
    let mut parts = vec![title(&prepared, &plan, &at, place.request), Part::Text(sent)];
    let (prepared, facts) = (&prepared, &cut.facts[..]);
    let listed = FactList { prepared, part: &part, place, facts, exam: &exam, seen: &seen };
    parts.extend(listed.parts());
    parts.push(Part::Heading(format!("the context of request {shown}")));
    parts.extend(seen.context);
    Ok(parts)
}

/// The strategy at the cut, and what its contexts show.
fn examined(
    part: &CutSegment,
    (plan, compactor): (&Plan, &dyn Compactor),
    facts: &[Reference],
    (shown, arguments): (u32, &Arguments),
) -> Result<(CutExam, SeenStates), Failure> {
    let seen = Mutex::new(SeenStates::default());
    let look: RequestInspector<'_> = &|request, context| {
        let mut seen = seen.lock().expect("no look panics");
        seen.messages.get_or_insert_with(|| context.message_count());
        if request == shown {
            seen.context = context_parts(context, &part.prepared, arguments.diff);
        }
        for (number, _) in facts.iter().enumerate().filter(|(_, fact)| fact.request == request) {
            if let Some((text, place)) = carrier(number, context, &part.prepared) {
                seen.quotes.insert(number, quote(&text, place));
            }
        }
    };
    let examined = Work::new(1)?.run(examine(part, plan, arguments.depth, compactor, look))?;
    let exam = examined.map_err(|e| Failure::with_code(Exit::Incomplete, e.to_string()))?.exam;
    Ok((exam, seen.into_inner().expect("no look panics")))
}

/// The requested cut, with the facts there.
fn picked(
    number: u32,
    depth: u32,
    prepared: &PreparedSession,
) -> Result<&(CutPlace, Vec<Reference>), Failure> {
    let count = prepared.cuts.len();
    let found = (number as usize).checked_sub(1).and_then(|at| prepared.cuts.get(at));
    found.ok_or_else(|| match (count, &prepared.facts.no_cut) {
        (0, Some(why)) => Failure::usage(format!("the session has no cut: {why}"))
            .help("--request N shows the context of a request"),
        (0, None) => {
            Failure::usage("`--cuts none` leaves no cut").help("give a number, `all` or `recorded`")
        }
        _ => Failure::usage(format!(
            "cut {number} is not there: the session has {} at depth {depth}, from 1",
            counted(count, "cut"),
        ))
        .help(format!("give a number up to {count} to --cut, or more places to --cuts")),
    })
}

/// What is shown: whose context, where, and before which request.
fn title(prepared: &PreparedSession, plan: &Plan, at: &str, request: u32) -> Part {
    let facts = &prepared.facts.requests[request as usize];
    Part::Title(format!(
        "{} · {} · {at} · request {request} of {}, before message {}",
        plan.key.session,
        plan.key.strategy,
        prepared.facts.requests.len(),
        prepared.facts.messages[facts.message as usize].id,
    ))
}

/// What the contexts after a cut showed.
#[derive(Default)]
struct SeenStates {
    /// The context of the request that is shown.
    context: Vec<Part>,
    /// Number of messages in the first context.
    messages: Option<u32>,
    /// By position of the fact: the strategy's text that names it, at the
    /// request that uses it.
    quotes: BTreeMap<usize, String>,
}

/// A line of a text around a place in it.
fn quote(text: &str, place: Range<usize>) -> String {
    let start = text[..place.start].char_indices().rev().nth(AROUND).map_or(0, |(at, _)| at);
    let after = text[place.end..].char_indices().nth(AROUND);
    let end = after.map_or(text.len(), |(at, _)| place.end + at);
    let line = text[start..end].split_whitespace().collect::<Vec<&str>>().join(" ");
    let cut = |there: bool| if there { "…" } else { "" };
    format!("\"{}{line}{}\"", cut(start > 0), cut(end < text.len()))
}

/// The facts that the agent needed, with the state of each.
struct FactList<'a> {
    prepared: &'a PreparedSession,
    part: &'a CutSegment,
    place: &'a CutPlace,
    facts: &'a [Fact],
    exam: &'a CutExam,
    seen: &'a SeenStates,
}

/// States, the worst first, with what they mean.
const STATES: [(ReferenceState, &str); 6] = [
    (ReferenceState::Lost, "nothing of it is sent any more"),
    (ReferenceState::Recovered, "not sent; the strategy's own search finds it"),
    (ReferenceState::Partial, "only its last component is sent"),
    (ReferenceState::Bare, "written by the strategy in a list, or with nothing said of it"),
    (ReferenceState::Carried, "written by the strategy with something said of it"),
    (ReferenceState::Verbatim, "its message is sent as recorded, or the part of it that holds it"),
];

impl FactList<'_> {
    fn parts(&self) -> Vec<Part> {
        let mut parts = vec![Part::heading("facts that the agent needed")];
        let requests = counted(self.place.requests, "request");
        if self.facts.is_empty() {
            parts.push(Part::Text(format!(
                "none: nothing that the agent used in the {requests} after the cut came only from \
                 before it"
            )));
            return parts;
        }
        let kept = self.exam.states.iter().filter(|state| state.is_kept()).count();
        parts.push(Part::Text(format!(
            "the agent used {} in the {requests} after the cut that stood only before it; {kept} \
             kept: verbatim or carried at the request that uses it (add --request N to see its \
             context)",
            counted(self.facts.len(), "identifier"),
        )));
        for (state, meaning) in STATES {
            let those: Vec<usize> =
                (0..self.facts.len()).filter(|at| self.exam.states[*at] == state).collect();
            if !those.is_empty() {
                let count = those.len();
                parts.push(Part::Heading(format!("{} ({count}): {meaning}", state.as_str())));
                parts.push(Part::List(those.into_iter().map(|at| self.fact(at, state)).collect()));
            }
        }
        parts
    }

    fn fact(&self, number: usize, state: ReferenceState) -> String {
        let fact = &self.facts[number];
        let after = fact.request - self.place.request + 1;
        let mut lines = vec![format!(
            "{} · {} · used by request {}, number {after} after the cut",
            fact.text,
            fact.class.as_str(),
            fact.request,
        )];
        if self.exam.refused.contains(&(number as u32)) {
            lines.push("the provider would refuse that request: over the window".to_owned());
        } else if let Some(quote) = self.seen.quotes.get(&number)
            && matches!(state, ReferenceState::Carried | ReferenceState::Bare)
        {
            lines.push(format!("written: {quote}"));
        }
        if state != ReferenceState::Carried {
            lines.push(self.last_position(number));
        }
        lines.join("; ")
    }

    /// Where a fact occurred last before the cut.
    fn last_position(&self, number: usize) -> String {
        let fact = &self.facts[number];
        let at = fact.last_seen as usize;
        let message = &self.prepared.facts.messages[at];
        let sent = self.prepared.recording.session.messages[at].sent();
        let tool = message.tool.as_ref().map(|tool| format!(" · {tool}")).unwrap_or_default();
        let place = self.part.prepared.survival.place_in(number, &sent);
        let quoted = place.map(|place| format!(": {}", quote(&sent, place)));
        format!(
            "last stood in {} · {}{tool} · {} tokens before the cut{}",
            message.id,
            message.role.as_str(),
            fact.newest_tokens,
            quoted.unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_part_leads_out_of_folder() {
        assert_eq!(file_name(".."), "-");
        assert_eq!(file_name(""), "-");
        assert_eq!(file_name("a\\b:c\u{0}"), "a-b-c-");
        assert_eq!(file_name("2026-03-01.md"), "2026-03-01.md");
        assert_eq!(file_name(&"x".repeat(500)).len(), 120);
    }

    #[test]
    fn files_are_written_only_into_an_empty_folder() {
        let base = std::env::temp_dir().join(format!("recap-kept-{}", std::process::id()));
        let file = |path: &str| StoredFile { path: path.to_owned(), content: b"x".to_vec() };
        kept(&base, &[file("sessions/../a.json")], "gencode").unwrap();
        assert!(base.join("sessions/-/a.json").is_file());
        assert!(kept(&base, &[file("b")], "gencode").is_err(), "it is not empty");
        assert!(!base.join("b").exists());
        assert!(kept(&base.join("c"), &[], "fifo").is_err(), "nothing is kept");
        std::fs::remove_dir_all(&base).unwrap();
    }
}
