//! The settings of a comparison: options of the program, keys of `recap.toml`, and
//! what a program that uses the library sets. Each is declared here alone.

use clap::Args;
use clap::builder::TypedValueParser as _;

use recap_core::model::{MOST_TOKENS, Shard};
use recap_core::text::number_of_tokens;
use recap_exam::facts::Cuts;
use recap_replay::WindowSpec;

/// Settings of a comparison. The defaults are those of `recap bench`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Replay")]
pub struct Settings {
    /// Context limit to assume: tokens (16000, 16k), a share of each session's messages (25%), or
    /// native, the limit of the recorded model; repeat for several [default: native where that is
    /// known, else 50%]
    #[arg(long = "window", value_name = "TOKENS|SHARE|native")]
    pub windows: Vec<WindowSpec>,

    /// Keep numbers of tokens and characters as written instead of scaling them to the window
    #[arg(long)]
    pub no_scale: bool,

    /// Size of the prompt at which the agent's own compaction is to fire (130k), in `recap tune`
    /// the strategy's; a list, or repeat [default: six sizes that its setting takes]
    #[arg(long = "compact-at", value_name = "SIZES", value_delimiter = ',', value_parser = compact_at)]
    pub compact_at: Vec<u64>,

    /// Force a compaction at so many places of each session, spread evenly over its tokens; at
    /// `all` places that allow it, where the agent `recorded` its own, or `none`
    #[arg(long, value_name = "N|all|recorded|none", default_value_t = Self::default().cuts)]
    pub cuts: Cuts,

    /// 1 is the first compaction of the session; 3 a session three times as large as the window,
    /// compacted along the way
    #[arg(long, value_name = "N", default_value_t = Self::default().depth,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub depth: u32,

    /// Repetitions of strategies that call a compactor [default: 1, or 3 where a model compacts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub replicates: Option<u32>,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = Self::default().seed)]
    pub seed: u64,

    /// Cells at a time [default: the cores, or with models --concurrency if that is more]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub jobs: Option<usize>,

    /// Use only the first N sessions of each input
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Replay only part I of N of the sessions, for `recap merge`
    #[arg(long, value_name = "I/N", requires = "out",
          conflicts_with_all = ["json", "open", "fail_on", "baseline"])]
    pub shard: Option<Shard>,

    /// Model whose prices and cache rules bill the sessions; repeat for a row each [default: the
    /// recorded model]
    #[arg(long = "agent-model", value_name = "MODEL", help_heading = "Bill")]
    pub agent_models: Vec<String>,

    /// Leave the sessions' words out of the page and the run folder; identifiers are named by class
    /// and hash (path-3f2a91c0)
    #[arg(long, help_heading = "Report")]
    pub no_text: bool,
}

fn compact_at(text: &str) -> Result<u64, String> {
    let size = number_of_tokens(text).filter(|size| (1_000..=MOST_TOKENS).contains(size));
    size.ok_or_else(|| format!("`{text}` is no size of a prompt; write tokens (130000, 130k, 1m)"))
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            no_scale: false,
            compact_at: Vec::new(),
            cuts: Cuts::Spread(5),
            depth: 1,
            replicates: None,
            seed: 1,
            jobs: None,
            limit: None,
            shard: None,
            agent_models: Vec::new(),
            no_text: false,
        }
    }
}

/// The strategies that were asked for. The controls `full`, `empty` and `id-list` always
/// run beside them, and so does `evidence` where there are questions.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Strategies")]
pub struct Selection {
    /// A strategy by name, or a TOML file; several are separated by commas, or repeated.
    /// `mechanisms`, `systems`, `agents` and `savers` stand for their strategies, `all` for every
    /// built-in one; `filter:COMMAND` or `proxy:URL` ends the list; controls always run [default:
    /// mechanisms, with agents for recordings, with systems for data sets]
    #[arg(long = "strategy", value_name = "NAME|FILE")]
    pub names: Vec<String>,

    /// Override a value, or several in one row (`--set prune.protect=20000`, `--set 'gencode:
    /// 1.enabled=false; 2.keep_last=5'`)
    #[arg(long = "set", value_name = "STRATEGY.KEY=VALUE")]
    pub changes: Vec<String>,

    /// Whether secrets and e-mail addresses are replaced in what token savers are sent.
    #[arg(skip)]
    pub redact: bool,

    /// Whether the run is a search: one strategy, named or that of the recorded agent, and others
    /// that change its values. Then there are no controls, and none without its summaries.
    #[arg(skip)]
    pub search: bool,
}

impl Selection {
    /// Strategies by name.
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}
