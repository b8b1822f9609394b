//! Runs a limited number of tasks at a time.

use std::collections::HashMap;
use std::future::Future;

use tokio::task::{Id, JoinError, JoinSet};

use super::spec::RunError;

/// Runs tasks, each with its key, and calls `each` with the key and the result
/// when a task ends. A task is created only when it can start: thousands of
/// waiting tasks would take more memory than their inputs.
///
/// # Errors
/// The first error of `each`; the running tasks are dropped.
pub(super) async fn side_by_side<K, T, F>(
    jobs: usize,
    mut tasks: impl Iterator<Item = (K, F)>,
    mut each: impl FnMut(K, Result<T, JoinError>) -> Result<(), RunError>,
) -> Result<(), RunError>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let (mut running, mut known): (JoinSet<T>, HashMap<Id, K>) = (JoinSet::new(), HashMap::new());
    loop {
        while running.len() < jobs.max(1) {
            let Some((key, task)) = tasks.next() else { break };
            known.insert(running.spawn(task).id(), key);
        }
        let (id, left) = match running.join_next_with_id().await {
            None => return Ok(()),
            Some(Ok((id, left))) => (id, Ok(left)),
            Some(Err(error)) => (error.id(), Err(error)),
        };
        each(known.remove(&id).expect("every task is known"), left)?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_tasks_are_made_than_run_and_a_panic_is_told_with_its_key() {
        let (made, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks = (0..100_usize).map(|at| {
            let under_way = made.fetch_add(1, Ordering::SeqCst) - ended.load(Ordering::SeqCst);
            assert!(under_way < 3, "{under_way} are under way before task {at}");
            (at, async move {
                tokio::task::yield_now().await;
                assert!(at != 50, "this one panics");
                at
            })
        });
        let mut seen = Vec::new();
        side_by_side(3, tasks, |key, left| {
            ended.fetch_add(1, Ordering::SeqCst);
            assert_eq!(left.ok(), (key != 50).then_some(key));
            seen.push(key);
            Ok(())
        })
        .await
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_error_ends_it() {
        let tasks = (0..10).map(|at| (at, async {}));
        let mut seen = 0;
        let ended = side_by_side(1, tasks, |_, _| {
            seen += 1;
            Err(RunError::Worker("full".to_owned()))
        });
        assert!(ended.await.is_err());
        assert_eq!(seen, 1);
    }
}
