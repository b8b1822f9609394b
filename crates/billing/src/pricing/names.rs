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
/// The tiers of Claude, which stand before or after the version.
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
        if agree {
            Ok(best[0])
        } else {
            Err(NoMatch::Several(best.iter().map(|model| model.id.clone()).collect()))
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
mod tests {
    use super::*;
    use crate::pricing::PriceList;

    /// Names of recordings, and what the price data say of them by hand: USD per
    /// million tokens of input and output; `None` where no seller is named and
    /// sellers differ, or no list has the model.
    const NAMES: &[(&str, Option<(f64, f64)>)] = &[
        // Claude, as Claude Code and others write it; retired models as they were.
        ("claude-opus-4-1-20250805", Some((15.0, 75.0))),
        ("claude-opus-4-1", Some((15.0, 75.0))),
        ("claude-opus-4.1", Some((15.0, 75.0))),
        ("claude-opus-4-20250514", Some((15.0, 75.0))),
        ("claude-opus-4", Some((15.0, 75.0))),
        ("claude-opus-4-0", Some((15.0, 75.0))),
        ("claude-sonnet-4-0", Some((3.0, 15.0))),
        ("claude-sonnet-4-20250514", Some((3.0, 15.0))),
        ("claude-sonnet-4-20250514[1m]", Some((3.0, 15.0))),
        ("claude-sonnet-4", Some((3.0, 15.0))),
        ("claude-4-sonnet", Some((3.0, 15.0))),
        ("anthropic/claude-sonnet-4", Some((3.0, 15.0))),
        ("openrouter/anthropic/claude-sonnet-4", Some((3.0, 15.0))),
        ("claude-3-7-sonnet", Some((3.0, 15.0))),
        ("claude-3-7-sonnet-20250219", Some((3.0, 15.0))),
        ("claude-3-7-sonnet-latest", Some((3.0, 15.0))),
        ("claude-3.7-sonnet", Some((3.0, 15.0))),
        ("claude-3.7-sonnet-thinking", Some((3.0, 15.0))),
        ("claude-3-5-sonnet-20241022", Some((3.0, 15.0))),
        ("claude-3-5-sonnet-latest", Some((3.0, 15.0))),
        ("anthropic:claude-3-5-sonnet-latest", Some((3.0, 15.0))),
        ("claude-3-5-haiku-20241022", Some((0.8, 4.0))),
        ("claude-3-opus-20240229", Some((15.0, 75.0))),
        ("claude-3-haiku-20240307", Some((0.25, 1.25))),
        ("claude-sonnet-4-5-20250929", Some((3.0, 15.0))),
        ("claude-sonnet-4.5", Some((3.0, 15.0))),
        ("claude-4.5-sonnet", Some((3.0, 15.0))),
        ("claude-4.5-sonnet-thinking", Some((3.0, 15.0))),
        ("anthropic/claude-sonnet-4.5", Some((3.0, 15.0))),
        ("openrouter/anthropic/claude-sonnet-4.5:thinking", Some((3.0, 15.0))),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", Some((3.0, 15.0))),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((3.3, 16.5))),
        ("vertex_ai/claude-sonnet-4-5@20250929", Some((3.0, 15.0))),
        ("claude-sonnet-4-5@20250929", Some((3.0, 15.0))),
        ("claude-haiku-4-5-20251001", Some((1.0, 5.0))),
        ("claude-haiku-4.5", Some((1.0, 5.0))),
        ("claude-haiku-4-5", Some((1.0, 5.0))),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", Some((1.0, 5.0))),
        ("claude-opus-4-5", Some((5.0, 25.0))),
        ("claude-opus-4-5-20251101", Some((5.0, 25.0))),
        ("claude-opus-4.5", Some((5.0, 25.0))),
        ("claude-4.5-opus-high-thinking", Some((5.0, 25.0))),
        ("claude-opus-4-6", Some((5.0, 25.0))),
        ("anthropic.claude-opus-4-6-v1", Some((5.0, 25.0))),
        ("claude-opus-5-5", Some((4.0, 20.0))),
        ("global.anthropic.claude-opus-5-5", Some((4.0, 20.0))),
        ("claude-sonnet-5-5", Some((2.0, 10.0))),
        ("Claude-Haiku-5.5", Some((0.1, 0.5))),
        (
            "arn:aws:bedrock:us-west-2:1:inference-profile/global.anthropic.claude-opus-4-6-v1",
            Some((5.0, 25.0)),
        ),
        // OpenAI.
        ("gpt-5-codex", Some((1.25, 10.0))),
        ("gpt-5-codex-high", Some((1.25, 10.0))),
        ("gpt-5.3-codex", Some((1.75, 14.0))),
        ("openai/gpt-5.3-codex", Some((1.75, 14.0))),
        ("gpt-5.3-codex-xhigh", Some((1.75, 14.0))),
        ("gpt-5.4", Some((2.5, 15.0))),
        ("openrouter/openai/gpt-5.4", Some((2.5, 15.0))),
        ("gpt-4o-mini", Some((0.15, 0.6))),
        ("openai/gpt-4o-mini", Some((0.15, 0.6))),
        ("openai:gpt-4o-mini", Some((0.15, 0.6))),
        ("gpt-4o-mini-2024-07-18", Some((0.15, 0.6))),
        ("gpt-4o-2024-05-13", Some((5.0, 15.0))),
        ("gpt-4o", Some((2.5, 10.0))),
        ("azure/gpt-4o", Some((2.5, 10.0))),
        ("gpt-4.1-2025-04-14", Some((2.0, 8.0))),
        ("o4-mini-high", Some((1.1, 4.4))),
        ("o1-mini", Some((1.1, 4.4))),
        ("gpt-4.5-preview", Some((75.0, 150.0))),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", Some((0.3, 1.2))),
        // Google.
        ("gemini-3-pro-preview", Some((2.0, 12.0))),
        ("google/gemini-3-pro-preview", Some((2.0, 12.0))),
        ("gemini-3-pro", Some((2.0, 12.0))),
        ("models/gemini-2.5-pro", Some((1.25, 10.0))),
        ("gemini-2.5-pro", Some((1.25, 10.0))),
        ("google-gla:gemini-2.5-flash", Some((0.3, 2.5))),
        ("gemini-3-flash-preview", Some((0.5, 3.0))),
        ("gemini-3.1-pro-preview", Some((2.0, 12.0))),
        ("gemini-2.0-flash", Some((0.1, 0.4))),
        ("gemini-1.5-pro-002", Some((1.25, 5.0))),
        // Others, at their makers' prices.
        ("grok-code-fast-1", Some((1.0, 2.0))),
        ("x-ai/grok-code-fast-1", Some((1.0, 2.0))),
        ("grok-4", Some((3.0, 15.0))),
        ("kimi-k2", Some((0.55, 2.2))),
        ("moonshotai/kimi-k2", Some((0.55, 2.2))),
        ("kimi-k2-0711-preview", Some((0.6, 2.5))),
        ("kimi-k2-thinking", Some((0.6, 2.5))),
        ("kimi-k2.5", Some((0.6, 3.0))),
        ("glm-4.6", Some((0.6, 2.2))),
        ("z-ai/glm-4.6", Some((0.6, 2.2))),
        ("glm-4-6", Some((0.6, 2.2))),
        ("glm-4.5-air", Some((0.2, 1.1))),
        ("qwen3-coder", Some((0.4, 1.6))),
        ("qwen/qwen3-coder", Some((0.4, 1.6))),
        ("deepseek-chat", Some((0.28, 0.42))),
        ("deepseek/deepseek-v3.2", Some((0.28, 0.4))),
        ("MiniMax-M2", Some((0.3, 1.2))),
        ("devstral-medium-2507", Some((0.4, 2.0))),
        // Open weights that sellers price as they like, and no seller named.
        ("gpt-oss-120b", None),
        ("openai/gpt-oss-120b", None),
        ("meta-llama/llama-4-maverick", None),
        ("qwen3-coder-480b-a35b-instruct", None),
        ("deepinfra/openai/gpt-oss-120b", Some((0.037, 0.17))),
        // Names of nothing that is listed.
        ("claude-opus-9", None),
        ("claude-opus-4-55", None),
        ("claude", None),
        ("sonnet", None),
        ("haiku", None),
        ("opus", None),
        ("default", None),
        ("auto", None),
        ("<synthetic>", None),
        ("aide-gpt-5", None),
        ("my-gpt-5", None),
        ("openai/openrouter-llama-4-maverick", None),
        ("gpt-5.4-nightly", None),
        ("kimi-k2:free", None),
        ("claude-3-5-sonnet-20241022-tuned", None),
        ("gpt-4o-mini-20240718-2", None),
    ];

    #[test]
    fn recorded_model_names_have_exact_prices_or_none() {
        let list = PriceList::bundled();
        let mut wrong = Vec::new();
        for (name, expected) in NAMES {
            let found = list.priced(name).map(|model| (model, asked(model)));
            let usd = found.map(|(_, (input, output))| (input * 1e6, output * 1e6));
            let right = match (usd, expected) {
                (Some(usd), Some(expected)) => alike(usd, *expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            if !right {
                wrong.push(format!("{name}: {usd:?} as {:?}", found.map(|(model, _)| &model.id)));
            }
        }
        assert!(NAMES.len() >= 110 && wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_listed_name_finds_its_own_model() {
        let list = PriceList::bundled();
        for model in list.models().filter(|model| model.is_priced()) {
            assert_eq!(list.priced(&model.id).unwrap().id, model.id);
        }
    }

    #[test]
    fn model_priced_differently_by_sellers_is_unknown() {
        let unknown = PriceList::bundled().find("gpt-oss-120b").unwrap_err();
        let actual = unknown.suggestion().unwrap();
        assert!(actual.starts_with("prices differ by seller: name one, such as "), "{actual}");
        assert!(actual.contains("/gpt-oss-120b"), "{actual}");
    }

    #[test]
    fn retired_model_has_prices_and_names_their_list() {
        let list = PriceList::bundled();
        let opus = list.find("claude-opus-4-1-20250805").unwrap();
        assert_eq!(opus.listed_until.as_deref(), Some("litellm 1.83.0, 2026-03-31"));
        // Writes for five minutes are 1.25 times the input, for an hour twice.
        for model in list.models().filter(|m| m.listed_until.is_some()) {
            let rates = model.rates(&Moment { prompt_tokens: 1, at: jiff::Timestamp::UNIX_EPOCH });
            assert!(model.is_priced(), "{}", model.id);
            if let (Some(input), Some(hour)) = (rates.input, rates.cache_write_1h) {
                assert!((hour / input - 2.0).abs() < 1e-9, "{}: {hour}", model.id);
            }
        }
    }

    #[test]
    fn hostile_names_are_no_model() {
        let list = PriceList::bundled();
        let long = "claude-".repeat(20_000);
        for name in [
            "",
            "-",
            "[1m]",
            "/",
            ":",
            "@",
            "claude-",
            "-v1:0",
            "us.",
            "é-20250514",
            "ft:",
            "１２３４",
            &long,
        ] {
            assert!(list.priced(name).is_none(), "{name}");
        }
        // Dates and deployments are cut where they stand, and nowhere else.
        let core = |name: &str| Core::of(name).plain;
        assert_eq!(core("us.anthropic.claude-3-5-sonnet-20241022-v2:0"), "claude-sonnet-3-5");
        assert_eq!(core("deepseek-v3"), "deepseek-v3");
        assert_eq!(core("openai.gpt-oss-120b-1:0"), "gpt-oss-120b");
        assert_eq!(core("é-2025-05-14"), "é");
    }
}
