//! The names under which a model is known: recordings write the name that the
//! harness or the gateway used, and a price list writes one for each seller.
//!
//! Two names are the same model where they differ only in what stands around
//! it: a seller (`openrouter/anthropic/…`, `us.anthropic.…`), a deployment
//! (`-v1:0`, `-maas`), the marker of a context length (`[1m]`), a dot for a dash
//! in the version, a date, or an effort. What differs in anything else is
//! another model: it has no price here.

use rustc_hash::FxHashMap;

use super::model::{ModelPrices, Moment};

/// What sellers put in front of a name, with a dot or a colon.
const SELLERS: &[&str] = &[
    "us",
    "eu",
    "apac",
    "au",
    "jp",
    "ca",
    "global",
    "us-gov",
    "anthropic",
    "openai",
    "azure",
    "google",
    "google-gla",
    "google-vertex",
    "bedrock",
    "amazon",
    "xai",
    "groq",
    "meta",
    "mistral",
    "deepseek",
    "qwen",
    "moonshot",
    "moonshotai",
    "minimax",
    "zai",
];
/// Parts of a listed name that stand for a region with prices of its own.
const REGIONS: &[&str] = &["us", "eu", "apac", "au", "jp", "ca", "us-gov"];
/// Endings that do not change the price.
const EFFORTS: &[&str] = &["minimal", "low", "medium", "high", "xhigh"];
/// The tiers of Claude, which stand before or behind the version.
const TIERS: &[&str] = &["opus", "sonnet", "haiku", "fable", "mythos"];
/// Who made a model, as the list names the seller, by the beginnings of names.
const MAKERS: &[(&[&str], &[&str])] = &[
    (&["anthropic"], &["claude"]),
    (&["openai"], &["gpt", "chatgpt", "codex", "o1", "o3", "o4", "ft:"]),
    (&["gemini", "vertex_ai-language-models"], &["gemini", "gemma"]),
    (&["xai"], &["grok"]),
    (&["moonshot"], &["kimi", "moonshot"]),
    (&["zai"], &["glm"]),
    (&["deepseek"], &["deepseek"]),
    (&["mistral"], &["mistral", "codestral", "devstral", "magistral", "ministral", "pixtral"]),
    (&["minimax"], &["minimax"]),
    (&["dashscope"], &["qwen", "qwq"]),
];
/// Models whose weights are not public: the large clouds sell them at the
/// maker's price. Others cost what each seller asks.
const CLOSED: &[&str] = &["claude", "gpt-3", "gpt-4", "gpt-5", "gpt-6", "gemini", "grok", "nova"];
/// Price differences up to this share are rounding.
const SAME: f64 = 0.01;

/// A name without what sellers put around it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Core {
    /// With its date, where it has one.
    dated: String,
    /// Without date, `-latest` and `-preview`.
    plain: String,
}

impl Core {
    fn of(name: &str) -> Self {
        let lower = name.trim().to_lowercase();
        let whole = lower.split('[').next().unwrap_or_default().trim();
        if whole.starts_with("ft:") {
            // A fine-tuned model's name goes on with its owner and number.
            let base: Vec<&str> = whole.splitn(3, ':').take(2).collect();
            let base = base.join(":");
            return Self { dated: base.clone(), plain: base };
        }
        let model = whole.rsplit('/').next().unwrap_or_default();
        let model = undeployed(unsold(model).replace('@', "-"));
        let dashed = dashed(&model);
        let plain = undated(&dashed);
        Self { dated: ordered(&dashed), plain: ordered(plain) }
    }

    /// Without an effort; `None` where it names none.
    fn effortless(&self) -> Option<Self> {
        let has_effort = ["claude", "gpt-5", "gpt-6", "gemini", "o1", "o3", "o4"];
        let (model, end) = self.plain.rsplit_once('-')?;
        let known = has_effort.iter().any(|start| model.starts_with(start));
        let plain = undated(model).to_owned();
        (known && EFFORTS.contains(&end)).then(|| Self { dated: model.to_owned(), plain })
    }
}

/// Without the sellers in front.
fn unsold(mut name: &str) -> &str {
    while let Some((seller, rest)) = name.split_once(['.', ':'])
        && SELLERS.contains(&seller)
    {
        name = rest;
    }
    name
}

/// Without the marks of a deployment at the end: `-v1:0`, `-1:0`, `:200k`, `-maas`.
fn undeployed(name: String) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut name = name.as_str();
    for end in ["-maas", ":thinking", ":beta", "-default"] {
        name = name.strip_suffix(end).unwrap_or(name);
    }
    if let Some((rest, context)) = name.rsplit_once(':')
        && context.strip_suffix('k').is_some_and(digits)
    {
        name = rest;
    }
    let (model, revision) = match name.rsplit_once(':') {
        Some((model, revision)) if digits(revision) => (model, true),
        _ => (name, false),
    };
    let version = model.rsplit_once('-');
    let Some((rest, version)) = version else { return name.to_owned() };
    let bare = version.strip_prefix('v').filter(|_| revision || name.starts_with("claude"));
    let is_version = digits(bare.unwrap_or(if revision { version } else { "" }));
    let is_model = rest.bytes().any(|byte| byte.is_ascii_digit());
    if is_version && is_model { rest } else { name }.to_owned()
}

/// With dashes in versions: `4.5` is `4-5`.
fn dashed(name: &str) -> String {
    let bytes = name.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let between = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    let dash = |(at, c): (usize, char)| if c == '.' && between(at) { '-' } else { c };
    name.char_indices().map(dash).collect()
}

/// Without a date at the end (`-20250514`, `-2025-05-14`), `-latest` and `-preview`.
fn undated(name: &str) -> &str {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let end = |length: usize| name.len().checked_sub(length).and_then(|at| name.get(at..));
    let rest = |end: &str| &name[..name.len() - end.len()];
    if let Some(date) = end(9).filter(|d| d.starts_with('-') && digits(d) == 8) {
        return rest(date);
    }
    let form =
        |date: &&str| digits(date) == 8 && date.match_indices('-').map(|(at, _)| at).eq([0, 5, 8]);
    if let Some(date) = end(11).filter(form) {
        return rest(date);
    }
    let word = ["-latest", "-preview"].into_iter().find(|word| name.ends_with(word));
    word.map_or(name, rest)
}

/// Claude's names with the tier before the version: `claude-3-5-sonnet` is
/// `claude-sonnet-3-5`. Thinking costs what any output costs.
fn ordered(name: &str) -> String {
    let Some(rest) = name.strip_prefix("claude-") else { return name.to_owned() };
    let rest = rest.strip_suffix("-thinking").unwrap_or(rest);
    // `claude-opus-4-0` is the provider's alias of the first of its version.
    let rest = rest.strip_suffix("-4-0").map_or(rest, |start| &rest[..start.len() + 2]);
    let (tier, others): (Vec<&str>, Vec<&str>) =
        rest.split('-').partition(|part| TIERS.contains(part));
    [&["claude"], &tier[..], &others[..]].concat().join("-")
}

/// How near a seller is to the maker; the smaller, the nearer.
fn distance(provider: &str, core: &str) -> u8 {
    let starts = |starts: &[&str]| starts.iter().any(|start| core.starts_with(start));
    let open = core.starts_with("gpt-oss");
    let maker =
        |(sellers, names): &(&[&str], &[&str])| sellers.contains(&provider) && starts(names);
    if !open && MAKERS.iter().any(maker) {
        return 0;
    }
    let cloud = ["bedrock", "vertex_ai", "azure"].iter().any(|cloud| provider.starts_with(cloud));
    if cloud && starts(CLOSED) { 1 } else { 2 }
}

/// Whether a listed name is that of a region, whose prices are its own.
fn is_regional(id: &str) -> bool {
    let parts =
        id.split('/').flat_map(|part| part.split_once('.').map_or([part, ""], |(a, _)| [a, ""]));
    let region = |part: &str| {
        REGIONS.contains(&part)
            || part.split('-').count() >= 3
                && part.rsplit('-').next().is_some_and(|n| n.parse::<u8>().is_ok_and(|n| n < 10))
                && part.split('-').next().is_some_and(|area| area.len() == 2)
    };
    parts.into_iter().any(region)
}

/// The listed names by what they are without seller and date.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Names {
    dated: FxHashMap<String, Vec<String>>,
    plain: FxHashMap<String, Vec<String>>,
}

/// Why a name is none of the list's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoMatch {
    /// No listed model has that name.
    Unlisted,
    /// These sell a model of that name at different prices.
    Several(Vec<String>),
}

impl Names {
    /// Reads the names of a list.
    pub fn of<'a>(ids: impl Iterator<Item = &'a String>) -> Self {
        let mut names = Self::default();
        for id in ids.filter(|id| !is_regional(id)) {
            let core = Core::of(id);
            names.dated.entry(core.dated).or_default().push(id.clone());
            names.plain.entry(core.plain).or_default().push(id.clone());
        }
        names
    }

    /// The listed model that a name stands for: the maker's own, else a large
    /// cloud's, else what all sellers ask the same for.
    pub fn find<'a>(
        &self,
        name: &str,
        prices: impl Fn(&str) -> &'a ModelPrices,
    ) -> Result<&'a ModelPrices, NoMatch> {
        let core = Core::of(name);
        match self.nearest(&core, &prices) {
            Err(NoMatch::Unlisted) => match core.effortless() {
                Some(core) => self.nearest(&core, &prices),
                None => Err(NoMatch::Unlisted),
            },
            found => found,
        }
    }

    fn nearest<'a>(
        &self,
        core: &Core,
        prices: &impl Fn(&str) -> &'a ModelPrices,
    ) -> Result<&'a ModelPrices, NoMatch> {
        let named = |map: &FxHashMap<String, Vec<String>>, key: &str| {
            map.get(key).into_iter().flatten().map(|id| prices(id)).collect::<Vec<_>>()
        };
        let levels = [
            named(&self.dated, &core.dated),
            named(&self.dated, &core.plain),
            named(&self.plain, &core.plain),
        ];
        let levels = (0u8..).zip(levels);
        let found =
            levels.flat_map(|(level, models)| models.into_iter().map(move |model| (level, model)));
        let ranked = found.filter_map(|(level, model)| {
            let distance = distance(&model.provider, &core.plain);
            // A price of nothing is that of a model at home, unless the maker asks it.
            let sold = model.is_priced() && (distance == 0 || asked(model).0 > 0.0);
            sold.then_some(((distance, level), model))
        });
        let ranked: Vec<_> = ranked.collect();
        let best = ranked.iter().map(|(rank, _)| *rank).min().ok_or(NoMatch::Unlisted)?;
        let best = ranked.into_iter().filter(|(rank, _)| *rank == best).map(|(_, model)| model);
        let mut best: Vec<&ModelPrices> = best.collect();
        best.sort_by_key(|model| (!model.reads_cache(), model.id.len(), model.id.as_str()));
        let agree = best.iter().all(|model| alike(asked(model), asked(best[0])));
        match agree {
            true => Ok(best[0]),
            false => Err(NoMatch::Several(best.iter().map(|model| model.id.clone()).collect())),
        }
    }
}

/// Prices of input and output for a short prompt.
fn asked(model: &ModelPrices) -> (f64, f64) {
    let at = jiff::Timestamp::UNIX_EPOCH;
    let rates = model.rates(&Moment { prompt_tokens: 1, at });
    (rates.input.unwrap_or(0.0), rates.output.unwrap_or(0.0))
}

fn alike(one: (f64, f64), other: (f64, f64)) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.max(b);
    near(one.0, other.0) && near(one.1, other.1)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
