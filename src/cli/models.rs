//! `recap models`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::wire;
use crate::failure::{Exit, Failure};
use recap_billing::pricing::{ModelPrices, Moment, PriceList, Rates, Unpriced};
use recap_billing::prompt_cache::Rules;

/// Options of `recap models`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", global = true)]
    prices: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the priced models (the default)
    List {
        /// Words that the names must hold, in any order
        #[arg(value_name = "WORD")]
        search: Vec<String>,
    },
    /// Print every price, tier and limit of a model
    Show {
        /// Its name, with or without the provider
        name: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let list = prices(arguments.prices.as_deref())?;
    let text = match &arguments.action {
        None => table(&list, ""),
        Some(Action::List { search }) => table(&list, &search.join(" ")),
        Some(Action::Show { name }) => describe(&list, list.find(name).map_err(unpriced)?),
    };
    if text.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "no model has these words in its name")
            .help("use fewer words; `recap models list` prints every name"));
    }
    wire::print(&text)?;
    Ok(Exit::Done)
}

/// The bundled price list, or the one in a file.
pub(super) fn prices(path: Option<&Path>) -> Result<PriceList, Failure> {
    let Some(path) = path else { return Ok(PriceList::bundled()) };
    let refused = |problem: String| Failure::usage(format!("{}: {problem}", path.display()));
    const HELP: &str = "a JSON object of models in litellm's field names, prices in USD per token";
    let text = std::fs::read_to_string(path).map_err(|e| refused(e.to_string()).help(HELP))?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    PriceList::parse(&name, &text).map_err(|e| refused(e.to_string()).help(HELP))
}

/// The error for a model without a price, with similar names.
pub(super) fn unpriced(unknown: Unpriced) -> Failure {
    let help = unknown.suggestion();
    let help = help.unwrap_or_else(|| "`recap models list WORD…` searches the names".to_owned());
    Failure::usage(unknown.to_string()).help(help)
}

/// One line a model: USD per million tokens of short prompts.
fn table(list: &PriceList, search: &str) -> String {
    let models: Vec<&ModelPrices> = list.search(search).filter(|m| m.is_priced()).collect();
    if models.is_empty() {
        return String::new();
    }
    let width = models.iter().map(|m| m.id.len()).max().unwrap_or(0).min(60);
    let mut text = heads(width);
    for model in models {
        text += &format!("{:width$}  {}\n", model.id, figures(&model.rates(&moment(0))));
    }
    text
}

fn describe(list: &PriceList, model: &ModelPrices) -> String {
    let mut text = format!("{} · {}\n", model.id, model.provider);
    let date = list.date.as_deref().map_or_else(String::new, |date| format!(" of {date}"));
    match &model.listed_until {
        Some(last) => text += &format!("prices: the last that were listed ({last})\n"),
        None => text += &format!("prices: {}{date}\n", list.name),
    }
    let limit = |n: Option<u64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    text += &format!(
        "limits: {} tokens of input, {} of output; shortest cached prefix {}\n",
        limit(model.max_input_tokens),
        limit(model.max_output_tokens),
        limit(model.cache_min_tokens),
    );
    let rules = Rules::of(model, false);
    text += &format!("cache: {} ({})\n", rules.named.as_str(), rules.about());
    if let Some(storage) = model.storage {
        let usd = usd(storage * 1e6);
        text += &format!("explicit cache: storage {usd} USD per million tokens and hour\n");
    }
    if let Some(date) = &model.deprecation_date {
        text += &format!("retired: {date}\n");
    }
    if let Some(source) = &model.source {
        text += &format!("source: {source}\n");
    }
    text += &format!("\n{}", heads(24));
    for above in model.tiers() {
        let label = match above {
            0 => "standard".to_owned(),
            above => format!("prompts above {above}"),
        };
        let rates = model.rates(&moment(above.saturating_add(1)));
        text += &format!("{label:24}  {}\n", figures(&rates));
    }
    if model.has_off_peak() {
        text += "some hours are cheaper; a bill takes the time of each request\n";
    }
    text
}

/// The heads of a table of rates, the first of so many columns.
fn heads(width: usize) -> String {
    let rates = ["input", "read", "write", "write 1h", "output"].map(|rate| format!("{rate:>9}"));
    format!("{:width$}  {}\n", "USD per million tokens", rates.join(" "))
}

/// A request at a time without discount: a Wednesday, 02:00 UTC.
fn moment(prompt_tokens: u64) -> Moment {
    let at = Timestamp::from_second(1_763_517_600).expect("a date of this century");
    Moment { prompt_tokens, at }
}

fn figures(rates: &Rates) -> String {
    let figure = |rate: Option<f64>| {
        rate.map_or_else(|| format!("{:>9}", "–"), |rate| format!("{:>9}", usd(rate * 1e6)))
    };
    let all =
        [rates.input, rates.cache_read, rates.cache_write, rates.cache_write_1h, rates.output];
    all.map(figure).join(" ")
}

/// Dollars with as many decimals as they need, at least two.
fn usd(dollars: f64) -> String {
    let text = format!("{dollars:.5}");
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let decimals = decimals.trim_end_matches('0');
    format!("{whole}.{decimals:0<2}")
}
