//! Publishing and fetching, on stores that need no server.

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::model::{Manifest, Shard};

const RUN: &str = "run-00112233445566778899aabbccddeeff-of-3";

fn key(index: u32) -> ShardKey {
    ShardKey { run: RunKey::named(RUN).unwrap(), index }
}

fn on(store: &Arc<InMemory>, address: &str) -> Destination {
    Destination::on(Arc::clone(store) as Arc<dyn ObjectStore>, &address.parse().unwrap()).unwrap()
}

/// The folder of a shard in which this is measured.
fn shard(measured: &str) -> TempDir {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("manifest.json"), "{}").unwrap();
    std::fs::write(folder.path().join("cells.jsonl"), measured).unwrap();
    folder
}

async fn put(store: &InMemory, path: &str, bytes: &'static [u8]) {
    store
        .put_opts(&Path::parse(path).unwrap(), bytes.into(), PutMode::Overwrite.into())
        .await
        .unwrap();
}

async fn measured(destination: &Destination, stored: &Stored) -> Result<String, DestinationError> {
    let folder = tempdir().unwrap();
    let into = folder.path().join("copy");
    destination.fetch(stored, &into).await?;
    Ok(std::fs::read_to_string(into.join("cells.jsonl")).unwrap())
}

fn manifest() -> Manifest {
    let named = |name: &str| serde_json::json!([{"name": name, "hash": "0".repeat(64)}]);
    serde_json::from_value(serde_json::json!({
        "title": "sessions", "version": "0.1.0", "instrument": 1, "seed": 1, "tokens": "exact",
        "windows": ["25%"], "scaled": true, "replicates": 1, "transcripts": named("a.jsonl"),
        "presets": named("fifo"), "compactor": "offline", "answerer": "offline",
        "judge": "offline", "source": "lexical", "agent_models": [],
        "prices": {"name": "list", "date": null, "hash": "0", "models": {}},
        "profile": crate::clock::PROFILE, "shard": {"index": 2, "of": 3},
        "planned": {"presets": [], "at_cuts": [], "transcripts": []}, "warnings": [],
    }))
    .unwrap()
}

#[test]
fn a_key_follows_from_what_all_shards_of_a_run_have_in_common() {
    let one = manifest();
    let key = ShardKey::of(&one).unwrap();
    assert_eq!((key.index, key.run.of), (2, 3));
    let folder = key.run.to_string();
    assert_eq!(key.to_string(), format!("{folder}/shard-2.zst"));
    assert_eq!(RunKey::named(&folder).as_ref(), Some(&key.run));
    assert_eq!(ShardKey::named(&key.run, "shard-2.zst").as_ref(), Some(&key));
    let run = |change: fn(&mut Manifest)| {
        let mut other = manifest();
        change(&mut other);
        ShardKey::of(&other).map(|key| key.run)
    };
    let same = Some(key.run.clone());
    assert_eq!(run(|m| m.shard = Some(Shard { index: 3, of: 3 })), same);
    assert_eq!(run(|m| m.warnings.push("about a session of its own".to_owned())), same);
    assert_eq!(run(|m| m.planned.at_cuts.push("null:fifo".to_owned())), same);
    assert_ne!(run(|m| m.seed = 2), same);
    assert_ne!(run(|m| m.transcripts[0].hash = "1".repeat(64)), same);
    assert_ne!(run(|m| m.presets[0].hash = "1".repeat(64)), same);
    assert_ne!(run(|m| m.shard = Some(Shard { index: 2, of: 4 })), same);
    assert_eq!(run(|m| m.shard = None), None);
}

#[test]
fn names_of_objects_that_recap_does_not_write_are_no_shards() {
    let hash = "00112233445566778899aabbccddeeff";
    let wrong = ["", "run-", "run--of-3", "run-0-of-3", "RUN-0-of-3"].map(str::to_owned);
    let wrong = wrong.into_iter().chain([
        format!("run-{hash}"),
        format!("run-{hash}-of-0"),
        format!("run-{hash}-of-03"),
        format!("run-{hash}-of-100001"),
        format!("run-{hash}-of-99999999999999999999"),
        format!("run-{}-of-3", hash.to_uppercase()),
        format!("run-{hash}-of-3/.."),
    ]);
    for name in wrong {
        assert_eq!(RunKey::named(&name), None, "{name}");
    }
    let run = RunKey::named(RUN).unwrap();
    for name in [
        "",
        "shard-1",
        "shard-0.zst",
        "shard-4.zst",
        "shard-01.zst",
        "shard-+1.zst",
        "shard-1.zst ",
        "shard-1.zst.part",
        "shard-../1.zst",
        "shard-99999999999.zst",
    ] {
        assert_eq!(ShardKey::named(&run, name), None, "{name}");
    }
}

#[tokio::test]
async fn a_shard_that_is_published_twice_changes_nothing() {
    let store = Arc::new(InMemory::new());
    let destination = on(&store, "s3://bucket/runs");
    assert!(!destination.has(&key(1)).await.unwrap());
    let first = destination.publish(&key(1), shard("took 1 ms").path()).await.unwrap();
    assert!(matches!(first, Published::New(bytes) if bytes > 0), "{first:?}");
    assert!(destination.has(&key(1)).await.unwrap() && !destination.has(&key(2)).await.unwrap());
    // Its times were others, its key is the same.
    let second = destination.publish(&key(1), shard("took 2 ms").path()).await.unwrap();
    assert_eq!(second, Published::Earlier);
    let [stored] = &destination.shards().await.unwrap()[..] else { panic!("one shard") };
    assert_eq!(stored.at, format!("s3://bucket/runs/{RUN}/shard-1.zst"));
    assert_eq!(measured(&destination, stored).await.unwrap(), "took 1 ms");
}

#[tokio::test]
async fn many_processes_that_publish_a_shard_at_once_leave_one() {
    let store = Arc::new(InMemory::new());
    let tasks = (0..8).map(|n| {
        let destination = on(&store, "s3://bucket");
        tokio::spawn(async move {
            destination.publish(&key(1), shard(&n.to_string()).path()).await.unwrap()
        })
    });
    let all = futures_util::future::join_all(tasks).await;
    let new = all.iter().filter(|one| matches!(one, Ok(Published::New(_)))).count();
    assert_eq!(new, 1, "{all:?}");
}

#[tokio::test]
async fn the_shards_of_a_run_are_found_among_what_else_lies_there() {
    let store = Arc::new(InMemory::new());
    let destination = on(&store, "gs://bucket/runs");
    let nothing = destination.shards().await.unwrap_err().to_string();
    assert_eq!(nothing, "gs://bucket/runs: there is no shard of a run");
    for index in [3, 1] {
        destination.publish(&key(index), shard("").path()).await.unwrap();
    }
    for foreign in ["runs/README", "runs/run-x/shard-1.zst", "elsewhere/shard-2.zst"] {
        put(&store, foreign, b"foreign").await;
    }
    put(&store, &format!("runs/{RUN}/notes.txt"), b"foreign").await;
    put(&store, &format!("runs/{RUN}/old/shard-2.zst"), b"foreign").await;
    let found = destination.shards().await.unwrap();
    assert_eq!(found.iter().map(|s| s.key.index).collect::<Vec<_>>(), [1, 3]);
    // The run has an address of its own, to which shards can be published too.
    let of_run = on(&store, &format!("gs://bucket/runs/{RUN}/"));
    assert_eq!(of_run.shards().await.unwrap(), found);
    assert!(of_run.has(&key(3)).await.unwrap());
}

#[tokio::test]
async fn of_several_runs_none_is_chosen_silently() {
    let store = Arc::new(InMemory::new());
    let destination = on(&store, "s3://bucket");
    let other = RunKey::named("run-ffeeddccbbaa99887766554433221100-of-7").unwrap();
    destination.publish(&key(1), shard("").path()).await.unwrap();
    for index in [2, 7] {
        let key = ShardKey { run: other.clone(), index };
        destination.publish(&key, shard("").path()).await.unwrap();
    }
    let several = destination.shards().await.unwrap_err();
    assert!(matches!(several, DestinationError::Several { .. }));
    let told = several.to_string();
    assert!(told.contains(&format!("s3://bucket/{RUN}: 1 of 3 shards, the last from 2")), "{told}");
    assert!(told.contains(&format!("s3://bucket/{other}: 2 of 7 shards")), "{told}");
    let one = on(&store, &format!("s3://bucket/{other}"));
    assert_eq!(one.shards().await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_object_that_is_not_whole_is_refused_by_its_address() {
    let store = Arc::new(InMemory::new());
    let destination = on(&store, "s3://bucket");
    destination.publish(&key(1), shard("measured").path()).await.unwrap();
    let path = Path::parse(format!("{RUN}/shard-1.zst")).unwrap();
    let whole = store.get(&path).await.unwrap().bytes().await.unwrap();
    store.put(&path, whole.slice(..whole.len() - 3).into()).await.unwrap();
    let [torn] = &destination.shards().await.unwrap()[..] else { panic!("one object") };
    let told = measured(&destination, torn).await.unwrap_err().to_string();
    let says = format!("s3://bucket/{RUN}/shard-1.zst: this object is no whole shard: ");
    assert!(told.starts_with(&says), "{told}");
    store.delete(&path).await.unwrap();
    let gone = measured(&destination, torn).await.unwrap_err();
    assert!(matches!(gone, DestinationError::Store { why: crate::destination::Why::Gone, .. }));
}

#[tokio::test]
async fn a_shared_folder_is_a_destination_in_which_no_part_of_an_object_is_seen() {
    let shared = tempdir().unwrap();
    let address = format!("file://{}/of mine", shared.path().display());
    let destination = Destination::open(&address.parse().unwrap(), &[]).unwrap();
    assert!(!destination.has(&key(1)).await.unwrap(), "the folder is not there yet");
    assert!(matches!(
        destination.publish(&key(1), shard("first").path()).await,
        Ok(Published::New(_))
    ));
    let again = destination.publish(&key(1), shard("second").path()).await;
    assert_eq!(again.unwrap(), Published::Earlier);
    // What a process that was killed while it wrote would leave.
    let folder = shared.path().join("of mine").join(RUN);
    std::fs::write(folder.join("shard-2.zst#1"), "half").unwrap();
    let [stored] = &destination.shards().await.unwrap()[..] else { panic!("one shard") };
    assert_eq!(measured(&destination, stored).await.unwrap(), "first");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "one object, and the half one");
    let plain = LocalFileSystem::new_with_prefix(&folder).unwrap();
    assert!(plain.head(&Path::from("shard-1.zst")).await.is_ok(), "it is a plain file");
}
