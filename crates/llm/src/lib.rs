//! Calls of language models: requests and replies in each provider's wire format, and how a
//! call is made.
//!
//! In: a `ModelRequest` and the model that it goes to. Out: the reply with its tokens, price and
//! time, or why there is none. A call passes through wrappers: [`Scrubbed`]
//! removes secrets, [`Memoized`] makes each distinct call once or reads it
//! from a cassette, and [`Live`] sends it within limits and budget. Encoding and
//! decoding (`providers`) are pure; only `http` opens a socket.
//!
//! Next: `recap-exam`, whose compactor, answerer and judge ask.

// Where an invariant holds, `expect` says it. `clippy.toml` names what reads the environment and the
// clock, opens a socket or starts a program: a module that may says so at its head.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::dbg_macro,
        clippy::disallowed_methods,
        clippy::disallowed_types
    )
)]
#![allow(
    clippy::disallowed_methods,
    reason = "what a call takes is measured, and its waits have an end"
)]

mod attempt;
mod budget;
mod call;
mod calls;
pub mod cassette;
mod dry_run;
mod endpoint;
mod error;
mod failed_calls;
mod halt;
mod http;
mod key;
mod limiter;
mod live;
mod memoized;
pub mod providers;
mod reply;
mod retry;
mod scrubbed;

pub use budget::Budget;
pub use call::{
    Answered, Call, CallError, Llm, Message, Model, ModelRequest, Request, Schema, Settings,
    Speaker,
};
pub use calls::{Calls, Now, call_usd};
pub use cassette::Cassette;
pub use dry_run::{DryRunCall, DryRunCalls, DryRunModel};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Fault, FaultKind, WireError};
pub use failed_calls::{FailedCalls, FailureRecorder};
pub use halt::Halt;
pub use http::StartError;
pub use key::{Key, KeyError};
pub use limiter::Limits;
pub use live::{Client, Live, LiveError, Options};
pub use memoized::Memoized;
pub use providers::Provider;
pub use reply::{Finish, NoUsage, Reply, Tokens};
pub use retry::RetryPolicy;
pub use scrubbed::{KnownSecrets, Scrubbed};
