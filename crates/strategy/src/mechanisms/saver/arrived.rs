//! What of a request arrived at the provider: which recorded messages a saver changed, dropped or
//! added to.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::wire::{Kind, Owner, Part};
use recap_core::model::MessageIndex;

/// How a recorded message arrived, if not as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// With another text.
    Changed(String),
    /// Not at all.
    Dropped,
}

/// A request as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    /// System prompt and tools, if they are others than those that were sent.
    pub preamble: Option<String>,
    /// The messages that did not arrive as they were sent.
    pub messages: BTreeMap<MessageIndex, Arrival>,
    /// The messages after which cache breakpoints stand; `None` where these are the ones that were
    /// sent.
    pub marks: Option<Vec<Owner>>,
}

/// The parts of one owner.
#[derive(Default)]
struct Owned<'a> {
    /// How many were sent.
    sent: usize,
    /// How many arrived as they were sent, and how many others did.
    untouched: usize,
    others: usize,
    /// The texts that arrived.
    texts: Vec<&'a str>,
}

/// Compares what was sent with what arrived. Calls, results and tools are recognised by their
/// names, texts by their order. What a saver adds belongs to the part before it.
///
/// # Errors
/// A provider would refuse the request, or it is not the conversation any more.
pub(super) fn compare(sent: &[Part], arrived: &[Part]) -> Result<Arrived, String> {
    let matched = matched(sent, arrived)?;
    check_pairs(sent, arrived)?;
    let mut owned: BTreeMap<Owner, Owned> = BTreeMap::new();
    for part in sent {
        owned.entry(part.owner).or_default().sent += 1;
    }
    let mut marks = Vec::new();
    let mut owner = Owner::Preamble;
    for (part, origin) in arrived.iter().zip(&matched) {
        let is_tool = matches!(part.kind, Kind::Tool(_));
        let own = match origin {
            Some(at) => sent[*at].owner,
            // A tool of its own belongs to the preamble, wherever it stands in the list.
            None if is_tool => Owner::Preamble,
            None => owner,
        };
        if !is_tool {
            owner = own;
        }
        // Where nothing was sent before the conversation, what arrives there was added.
        let parts = owned.entry(own).or_default();
        if origin.is_some_and(|at| same(&sent[at], part)) {
            parts.untouched += 1;
        } else {
            parts.others += 1;
        }
        if part.kind != Kind::Image {
            parts.texts.push(&part.text);
        }
        if part.marked {
            marks.push(own);
        }
    }
    let mut result = Arrived::default();
    owned.retain(|_, parts| parts.untouched < parts.sent || parts.others > 0);
    for (owner, Owned { texts, .. }) in owned {
        match owner {
            Owner::Required => {}
            Owner::Preamble => result.preamble = Some(texts.join("\n")),
            Owner::Message(at) => {
                let arrival = match &texts[..] {
                    [] => Arrival::Dropped,
                    texts => Arrival::Changed(texts.join("\n")),
                };
                result.messages.insert(at, arrival);
            }
        }
    }
    let sent_marks: Vec<Owner> = sent.iter().filter(|p| p.marked).map(|p| p.owner).collect();
    result.marks = (marks != sent_marks).then_some(marks);
    Ok(result)
}

/// Whether a part arrived as it was sent. The order of keys in JSON may differ.
fn same(sent: &Part, arrived: &Part) -> bool {
    if sent.text == arrived.text {
        return true;
    }
    let is_json = matches!(sent.kind, Kind::Call(_) | Kind::Tool(_));
    let value = |part: &Part| serde_json::from_str::<serde_json::Value>(&part.text).ok();
    is_json && value(sent).is_some() && value(sent) == value(arrived)
}

/// For each part that arrived, the position of the part that it was sent as.
fn matched(sent: &[Part], arrived: &[Part]) -> Result<Vec<Option<usize>>, String> {
    let mut named: HashMap<&Kind, VecDeque<usize>> = HashMap::new();
    for (at, part) in sent.iter().enumerate().filter(|(_, part)| is_named(part)) {
        named.entry(&part.kind).or_default().push_back(at);
    }
    let mut found: Vec<Option<usize>> = Vec::with_capacity(arrived.len());
    let mut last = None;
    for part in arrived {
        let at = is_named(part).then(|| named.get_mut(&part.kind)?.pop_front()).flatten();
        if let Some(at) = at.filter(|_| !matches!(part.kind, Kind::Tool(_))) {
            if last.is_some_and(|last| at < last) {
                return Err(format!("it moves {} before what was said earlier", described(part)));
            }
            last = Some(at);
            if sent[at].role != part.role {
                let (from, into) = (sent[at].role, part.role);
                return Err(format!(
                    "it turns {} of the role `{from}` into one of the role `{into}`",
                    described(part)
                ));
            }
        }
        found.push(at);
    }
    // Texts and pictures between two parts with names stay between them.
    let (mut from, mut start) = (0, 0);
    for end in 0..=arrived.len() {
        let anchor = match arrived.get(end) {
            Some(part) if matches!(part.kind, Kind::Tool(_)) => continue,
            Some(_) => found[end].filter(|_| is_named(&arrived[end])),
            None => Some(sent.len()),
        };
        let Some(to) = anchor else { continue };
        let ours: Vec<usize> = (from..to).filter(|&at| !is_named(&sent[at])).collect();
        let theirs: Vec<usize> = (start..end).filter(|&at| !is_named(&arrived[at])).collect();
        for (their, our) in pair(sent, &ours, arrived, &theirs)? {
            found[their] = Some(our);
        }
        (from, start) = (to, end);
    }
    Ok(found)
}

/// Whether a part has a name by which it is recognised.
fn is_named(part: &Part) -> bool {
    !matches!(part.kind, Kind::Text | Kind::Image)
}

/// Pairs of texts that stand for each other: equal ones first, in order; of the rest between two of
/// those, the first with the first.
fn pair(
    sent: &[Part],
    ours: &[usize],
    arrived: &[Part],
    theirs: &[usize],
) -> Result<Vec<(usize, usize)>, String> {
    let (mut pairs, mut next, mut pending) = (Vec::new(), 0, Vec::new());
    let settle = |pairs: &mut Vec<(usize, usize)>, pending: &mut Vec<usize>, free: &[usize]| {
        let alike = |their: usize, our: usize| {
            (arrived[their].role, &arrived[their].kind) == (sent[our].role, &sent[our].kind)
        };
        let mut free = free.iter().copied().peekable();
        for their in pending.drain(..) {
            if let Some(our) = free.next_if(|&our| alike(their, our)) {
                pairs.push((their, our));
            }
        }
    };
    for &their in theirs {
        let part = &arrived[their];
        let equal = |our: &usize| sent[*our].text == part.text && sent[*our].kind == part.kind;
        let alike = |our: &usize| equal(our) && sent[*our].role == part.role;
        let rest = &ours[next..];
        match rest.iter().position(alike).or_else(|| rest.iter().position(equal)) {
            Some(skip) => {
                let our = ours[next + skip];
                if sent[our].role != part.role && part.kind == Kind::Text {
                    return Err(format!(
                        "it turns a text of the role `{}` into one of the role `{}`",
                        sent[our].role, part.role
                    ));
                }
                settle(&mut pairs, &mut pending, &ours[next..next + skip]);
                pairs.push((their, our));
                next += skip + 1;
            }
            None => pending.push(their),
        }
    }
    settle(&mut pairs, &mut pending, &ours[next..]);
    Ok(pairs)
}

fn described(part: &Part) -> String {
    match &part.kind {
        Kind::Call(id) => format!("the call `{id}`"),
        Kind::Result(id) => format!("the result of the call `{id}`"),
        Kind::Tool(name) => format!("the tool `{name}`"),
        Kind::Text | Kind::Image => "a text".to_owned(),
    }
}

/// Providers refuse a call without its result and a result without its call, but for those that the
/// recording has that way.
fn check_pairs(sent: &[Part], arrived: &[Part]) -> Result<(), String> {
    let ids = |parts: &[Part], calls: bool| -> HashSet<String> {
        let id = |part: &Part| match &part.kind {
            Kind::Call(id) if calls => Some(id.clone()),
            Kind::Result(id) if !calls => Some(id.clone()),
            _ => None,
        };
        parts.iter().filter_map(id).collect()
    };
    let (calls, results) = (ids(arrived, true), ids(arrived, false));
    let (sent_calls, sent_results) = (ids(sent, true), ids(sent, false));
    let recorded_so = |id: &str| sent_calls.contains(id) != sent_results.contains(id);
    let alone = |these: &HashSet<String>, others: &HashSet<String>| {
        these.difference(others).filter(|id| !recorded_so(id)).min().cloned()
    };
    let what = match (alone(&calls, &results), alone(&results, &calls)) {
        (Some(id), _) if sent_calls.contains(&id) => {
            format!("it drops the result of the call `{id}` and keeps the call")
        }
        (Some(id), _) => format!("it adds the call `{id}` without a result"),
        (None, Some(id)) if sent_results.contains(&id) => {
            format!("it drops the call `{id}` and keeps its result")
        }
        (None, Some(id)) => format!("it adds a result of the call `{id}`, which is not there"),
        (None, None) => return Ok(()),
    };
    Err(format!("{what}: providers refuse that"))
}
