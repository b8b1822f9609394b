//! Calls to language models: requests and replies in each provider's wire
//! format, and how a call is made.
//!
//! A call passes through wrappers: [`Scrubbed`](crate::llm::Scrubbed) removes
//! secrets, [`Memoized`](crate::llm::Memoized) makes each distinct call once or reads
//! it from a cassette, [`Live`](crate::llm::Live) sends it within limits and
//! budget, and [`Batched`](crate::llm::Batched) puts it into a batch with
//! others. Encoding and decoding (`providers`) are pure; only `http` opens a
//! socket.

#![allow(
    clippy::disallowed_methods,
    reason = "what a call takes is measured, and its waits have an end"
)]

mod attempt;
mod batch;
mod budget;
mod call;
mod calls;
pub mod cassette;
mod dry_run;
mod endpoint;
mod error;
mod failed_calls;
mod figures;
mod halt;
mod http;
mod key;
mod limiter;
mod live;
mod memoized;
pub mod providers;
mod reply;
mod request;
mod retry;
mod scrubbed;

pub use batch::{BatchLog, BatchLogError, BatchOptions, Batched, Tell, waits_for_batches};
pub use budget::Budget;
pub use call::{Answered, Call, CallError, Llm, Model, Question, Settings};
pub use calls::{Calls, Now, call_usd};
pub use cassette::Cassette;
pub use dry_run::{DryRunCall, DryRunCalls, DryRunModel};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{Fault, FaultKind, WireError};
pub use failed_calls::{FailedCalls, FailureRecorder, PlainOrScrubbed};
pub use halt::{Halt, HaltCause};
pub use http::StartError;
pub use key::{Key, KeyError};
pub use limiter::Limits;
pub use live::{Client, Live, LiveError, Options};
pub use memoized::Memoized;
pub use providers::Provider;
pub use reply::{Finish, NoUsage, Reply, Tokens};
pub use request::{Message, Request, Schema, Speaker};
pub use retry::RetryPolicy;
pub use scrubbed::Scrubbed;
