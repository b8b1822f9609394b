//! Calls of language models: requests and replies in each provider's wire format, and how a
//! call is made.
//!
//! In: a [`Request`] and the model that it goes to. Out: the reply with its tokens, price and
//! time, or why there is none. A call passes through wrappers: [`Scrubbed`]
//! removes secrets, [`Memoized`] makes each distinct call once or reads it
//! from a cassette, and [`Live`] sends it within limits and budget. Encoding and
//! decoding (`providers`) are pure; only `http` opens a socket.
//!
//! Compactor, answerer and judge in `recap-exam` ask through it. Next: `recap-formats`, how
//! sessions are read.

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
mod halt;
mod http;
mod limiter;
mod live;
pub mod providers;
mod scrubbed;

pub use attempt::RetryPolicy;
pub use budget::Budget;
pub use call::{
    Answered, Call, CallError, Fault, FaultKind, Finish, Llm, Message, Model, NoUsage, Reply,
    Request, Schema, Settings, Speaker, Tokens, WireError,
};
pub use calls::{Calls, FailedCalls, FailureRecorder, Memoized, Now, call_usd};
pub use cassette::Cassette;
pub use dry_run::{DryRunCall, DryRunCalls, DryRunModel};
pub use endpoint::{Endpoint, Key};
pub use halt::Halt;
pub use limiter::Limits;
pub use live::{Client, Live, LiveError, Options};
pub use providers::Provider;
pub use scrubbed::{KnownSecrets, Scrubbed};
