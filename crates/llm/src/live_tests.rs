use super::*;
use crate::Settings;
use crate::providers::OpenAiChat;

const SECOND: Duration = Duration::from_secs(1);

/// A model whose calls have five attempts, first a second apart at most.
fn live() -> Live {
    let mut options = Options::new(7, || Timestamp::UNIX_EPOCH);
    options.patience = RetryPolicy { attempts: 5, first_wait: SECOND, longest_wait: 30 * SECOND };
    let endpoint = Endpoint::new(&OpenAiChat::OPENAI, "http://host:1/v1", None, None).unwrap();
    let (provider, name) = ("openai".to_owned(), "mock".to_owned());
    let model = Model { provider, name, settings: Settings::default() };
    Client::new(options).unwrap().live(model, endpoint, Limits::default()).unwrap()
}

fn after(attempts: u32) -> CallInProgress {
    CallInProgress {
        asked: Instant::now(),
        attempts,
        started: None,
        deadline: None,
        prompt: 0,
        chance: [3; 32],
        no_json: false,
        why: "busy".to_owned(),
    }
}

#[test]
fn no_call_retries_before_the_servers_stated_time() {
    let live = live();
    let own = |step| live.client.options.patience.backoff(step, &[3; 32]);
    let wait = |actual| live.wait(&after(1), actual).unwrap();
    assert!(own(1) > Duration::ZERO);
    assert_eq!(wait(Backoff::Requested(own(1) + SECOND)), own(1) + SECOND);
    assert_eq!(wait(Backoff::Requested(own(1) / 2)), own(1), "one may come later");
    assert_eq!(wait(Backoff::Short), own(1));
    assert_eq!(wait(Backoff::Long), own(3), "as after two more attempts");
}

#[test]
fn call_ends_when_attempts_or_time_run_out() {
    let live = live();
    assert!(live.wait(&after(4), Backoff::Short).is_ok());
    assert!(live.wait(&after(5), Backoff::Short).is_err());
    let mut late = after(1);
    late.deadline = Some(Instant::now() + 60 * SECOND);
    assert!(live.wait(&late, Backoff::Requested(20 * SECOND)).is_ok());
    let Err(CallError::Unavailable { why, .. }) = live.wait(&late, Backoff::Requested(61 * SECOND))
    else {
        panic!("the call has no time left");
    };
    assert!(why.starts_with("busy; the next attempt is due in 61.0 s"), "{why}");
}
