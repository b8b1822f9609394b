//! The context directly after a cut, and the state of everything that the
//! recorded agent used next and could know only from before it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use clap::Args;

use super::super::exit::{Exit, Failure};
use super::super::work::Work;
use super::Arguments;
use recap_core::model::{CutExam, Fact, NO_SUMMARY, Reference, ReferenceState, Session};
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_exam::facts::{CutPlace, Cuts};
use recap_exam::roles::compactor::EmptySummary;
use recap_replay::run::ModelRoles;
use recap_replay::{
    CutSegment, Plan, PreparedSession, RequestInspector, carrier, examine_and_inspect,
};
use recap_report::document::Part;
use recap_strategy::{Compactor, Context, Scaling, Strategy};

/// Characters of a quote on either side of the fact.
const AROUND: usize = 60;

/// Which cut is shown.
#[derive(Debug, Args)]
pub(super) struct CutSelection {
    /// Show the context right after a cut, or with --request that of a later request, and what of
    /// the facts is left at the requests that use them: the number of the cut, from 1, in the order
    /// of cuts.csv
    #[arg(long, value_name = "K", conflicts_with_all = ["window", "files"])]
    pub(super) cut: Option<u32>,

    /// Where cuts are, as in `recap bench`
    #[arg(long, value_name = "N|all|recorded", default_value = "5", requires = "cut")]
    cuts: Cuts,

    /// 1 is the first compaction of the session; 3 a session three times as large as the window,
    /// compacted along the way
    #[arg(long, value_name = "N", default_value_t = 1, requires = "cut",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: u32,
}

/// What is printed for a cut: the facts first, then the context.
pub(super) fn shown(
    arguments: &Arguments,
    dataset: &str,
    session: Session,
    (strategy, roles): (Strategy, ModelRoles),
    counter: Arc<Counter>,
) -> Result<Vec<Part>, Failure> {
    let CutSelection { cuts, depth, .. } = arguments.cutting;
    if cuts == Cuts::Recorded && depth > 1 {
        return Err(
            Failure::usage("recorded compactions only support --depth 1").help("leave out --depth")
        );
    }
    let subject = PreparedSession::with_cuts(dataset, session, counter, cuts, depth);
    let (place, facts) = picked(arguments, &subject)?;
    if strategy.replays_recording() && place.recorded.is_none() {
        return Err(Failure::usage("the recorded agent did not compact at this cut")
            .help("add --cuts recorded"));
    }
    let part = CutSegment::new(&subject, place, facts, &[]);
    let scaling = if arguments.no_scale { Scaling::AsWritten } else { Scaling::All };
    let window = ("cut", 0, scaling);
    let plan = super::plan(arguments.seed, &subject, window, strategy, roles.offline);
    let own = roles.compactor.counting(&subject.recording.counter);
    let compactor: Arc<dyn Compactor> = match plan.key.strategy.starts_with(NO_SUMMARY) {
        true => Arc::new(EmptySummary),
        false => own.unwrap_or(roles.compactor),
    };
    let seen = Mutex::new(SeenStates::default());
    let shown = arguments.request.unwrap_or(place.request);
    let behind = place.request..place.request + place.requests;
    if !behind.contains(&shown) {
        let range = format!("--request takes {} to {}", behind.start, behind.end - 1);
        return Err(
            Failure::usage(format!("request {shown} is not looked at after this cut")).help(range)
        );
    }
    let look: RequestInspector<'_> = &|request, context| {
        let mut seen = seen.lock().expect("no look panics");
        seen.look((request, context), shown, &part, (facts, arguments.diff));
    };
    let examined = examine_and_inspect(&part, &plan, depth, compactor.as_ref(), look);
    let examined = Work::new(1)?.run(examined)?;
    let exam = examined.map_err(|e| Failure::with_code(Exit::Incomplete, e.to_string()))?.exam;
    let seen = seen.into_inner().expect("no look panics");
    let cut = part.cut(place, facts);
    let sent = format!(
        "sent right after the cut: {} in {} at a window of {}; uncompressed: {}",
        counted(exam.tokens_after, "token"),
        counted(seen.messages.unwrap_or(0), "message"),
        counted(exam.window, "token"),
        counted(cut.tokens_before, "token"),
    );
    let mut parts = vec![title(arguments, &subject, place, &plan), Part::Text(sent)];
    let (subject, facts) = (&subject, &cut.facts[..]);
    let listed = FactList { subject, part: &part, place, facts, exam: &exam, seen: &seen };
    parts.extend(listed.parts());
    parts.push(Part::Heading(format!("the context of request {shown}")));
    parts.extend(seen.context);
    Ok(parts)
}

/// The requested cut, with the facts there.
fn picked<'a>(
    arguments: &Arguments,
    subject: &'a PreparedSession,
) -> Result<&'a (CutPlace, Vec<Reference>), Failure> {
    let number = arguments.cutting.cut.unwrap_or(0);
    let count = subject.cuts.len();
    let found = (number as usize).checked_sub(1).and_then(|at| subject.cuts.get(at));
    found.ok_or_else(|| match (count, &subject.facts.no_cut) {
        (0, Some(why)) => Failure::usage(format!("the session has no cut: {why}"))
            .help("--request N shows the context of a request"),
        (0, None) => {
            Failure::usage("`--cuts none` leaves no cut").help("give a number, `all` or `recorded`")
        }
        _ => Failure::usage(format!(
            "cut {number} is not there: the session has {} at depth {}, from 1",
            counted(count, "cut"),
            arguments.cutting.depth
        ))
        .help(format!("give a number up to {count} to --cut, or more places to --cuts")),
    })
}

fn title(arguments: &Arguments, subject: &PreparedSession, place: &CutPlace, plan: &Plan) -> Part {
    let facts = &subject.facts.requests[place.request as usize];
    Part::Title(format!(
        "{} · {} · cut {} of {}, depth {} · request {} of {}, before message {}",
        plan.key.session,
        plan.key.strategy,
        arguments.cutting.cut.unwrap_or(0),
        subject.cuts.len(),
        arguments.cutting.depth,
        place.request,
        subject.facts.requests.len(),
        subject.facts.messages[facts.message as usize].id,
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

impl SeenStates {
    fn look(
        &mut self,
        (request, context): (u32, &Context),
        shown: u32,
        part: &CutSegment,
        (facts, diff): (&[Reference], bool),
    ) {
        let subject = part.subject();
        self.messages.get_or_insert_with(|| context.message_count());
        if request == shown {
            self.context = super::context_parts(context, subject, diff);
        }
        let used = facts.iter().enumerate().filter(|(_, fact)| fact.request == request);
        for (number, _) in used {
            if let Some((text, place)) = carrier(number, context, subject) {
                self.quotes.insert(number, quote(&text, place));
            }
        }
    }
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
    subject: &'a PreparedSession,
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
        let mut parts = vec![Part::Heading("facts that the agent needed".to_owned())];
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
        let mut said = vec![format!(
            "{} · {} · used by request {}, number {after} after the cut",
            fact.text,
            fact.class.as_str(),
            fact.request,
        )];
        if self.exam.refused.contains(&(number as u32)) {
            said.push("the provider would refuse that request: over the window".to_owned());
        } else if let Some(quote) = self.seen.quotes.get(&number)
            && matches!(state, ReferenceState::Carried | ReferenceState::Bare)
        {
            said.push(format!("written: {quote}"));
        }
        if state != ReferenceState::Carried {
            said.push(self.last_position(number));
        }
        said.join("; ")
    }

    /// Where a fact occurred last before the cut.
    fn last_position(&self, number: usize) -> String {
        let fact = &self.facts[number];
        let at = fact.last_seen as usize;
        let message = &self.subject.facts.messages[at];
        let sent = self.subject.recording.session.messages[at].sent();
        let tool = message.tool.as_ref().map(|tool| format!(" · {tool}")).unwrap_or_default();
        let said = self
            .part
            .subject()
            .survival
            .place_in(number, &sent)
            .map(|place| format!(": {}", quote(&sent, place)));
        format!(
            "last stood in {} · {}{tool} · {} tokens before the cut{}",
            message.id,
            message.role.as_str(),
            fact.newest_tokens,
            said.unwrap_or_default(),
        )
    }
}
