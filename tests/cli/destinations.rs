//! Shards that are published to a real S3 server on loopback, s3s-fs, also to
//! one that dies in the middle, and to a shared folder.
#![cfg(feature = "destinations")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

use crate::desk::{Desk, Ran, assert_same};

/// All six sessions.
const WHAT: [&str; 9] = [
    "bench",
    "quickstart",
    "--strategy",
    "fifo",
    "--strategy",
    "session-state",
    "--quiet",
    "--cuts",
    "1",
];

/// Two sessions, as fast as they can be replayed.
const FEW: [&str; 8] = [
    "replay",
    "quickstart",
    "--limit=2",
    "--strategy=fifo",
    "--quiet",
    "--cuts",
    "none",
    "--format=csv",
];

/// What `.ci/s3-server` made, where it is there. The test command makes it
/// first and sets `RECAP_S3_HOME`: then it must be there.
fn home() -> Option<PathBuf> {
    let Some(home) = std::env::var_os("RECAP_S3_HOME").map(PathBuf::from) else {
        println!("skipped: RECAP_S3_HOME names no folder of an S3 server");
        return None;
    };
    assert!(home.join("bin/s3s-fs").is_file(), "{} has no s3s-fs", home.display());
    Some(home)
}

/// A process of the server, over objects that outlive it.
struct Process {
    child: Child,
    port: u16,
}

impl Process {
    fn start(home: &Path, objects: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(home.join("bin/s3s-fs"))
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--access-key", "who", "--secret-key", "secret"])
            .arg(objects)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let process = Self { child, port };
        for _ in 0..1_200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return process;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not come up");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What happens to the server while an object is written.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Lives,
    /// It is killed once this many bytes of a write came, and stays away.
    Dies(usize),
    /// It is killed then, and starts again at once.
    StartsAgain(usize),
}

/// An S3 server behind an address that stays while its process comes and goes.
struct S3 {
    home: PathBuf,
    objects: TempDir,
    address: String,
    process: Mutex<Option<Process>>,
    fate: Mutex<Fate>,
    deaths: AtomicUsize,
    gone: AtomicBool,
}

impl S3 {
    /// A server with the bucket `shards`.
    fn start() -> Option<Arc<Self>> {
        let home = home()?;
        let objects = tempfile::tempdir().unwrap();
        std::fs::create_dir(objects.path().join("shards")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let process = Process::start(&home, objects.path());
        let server = Arc::new(Self {
            home,
            objects,
            address,
            process: Mutex::new(Some(process)),
            fate: Mutex::new(Fate::Lives),
            deaths: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        });
        let accepts = Arc::clone(&server);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepts.gone.load(Ordering::SeqCst) {
                    return;
                }
                let server = Arc::clone(&accepts);
                std::thread::spawn(move || server.pass(client));
            }
        });
        Some(server)
    }

    fn set(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }

    fn restart(&self) {
        let mut process = self.process.lock().unwrap();
        *process = None;
        *process = Some(Process::start(&self.home, self.objects.path()));
    }

    /// Passes a connection on to the process, if there is one.
    fn pass(&self, mut client: TcpStream) -> Option<()> {
        let port = self.process.lock().unwrap().as_ref()?.port;
        let mut server = TcpStream::connect(("127.0.0.1", port)).ok()?;
        let (mut answers, mut to) = (server.try_clone().ok()?, client.try_clone().ok()?);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut answers, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let (mut buffer, mut written) = ([0; 1024], None);
        loop {
            let n = client.read(&mut buffer).ok().filter(|n| *n > 0)?;
            if buffer.starts_with(b"PUT ") {
                written = Some(0);
            }
            written = written.map(|before| before + n);
            if self.dies(written.unwrap_or(0)) {
                let _ = client.shutdown(Shutdown::Both);
                return None;
            }
            server.write_all(&buffer[..n]).ok()?;
        }
    }

    /// Kills the process if it is time.
    fn dies(&self, written: usize) -> bool {
        let mut fate = self.fate.lock().unwrap();
        let again = match *fate {
            Fate::Dies(after) if written > after => false,
            Fate::StartsAgain(after) if written > after => true,
            _ => return false,
        };
        *fate = Fate::Lives;
        self.deaths.fetch_add(1, Ordering::SeqCst);
        *self.process.lock().unwrap() = None;
        if again {
            self.restart();
        }
        true
    }

    fn run(&self, desk: &Desk, more: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let endpoint = format!("http://{}", self.address);
        let settings = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "who"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        desk.recap_with(&[&settings[..], more].concat(), arguments)
    }

    fn publish(&self, desk: &Desk, what: &[&str], shard: &str, to: &str) -> Ran {
        self.run(desk, &[], &[what, &["--shard", shard, "--out", to]].concat())
    }

    /// Names of all objects that clients can see.
    fn seen(&self) -> Vec<String> {
        let mut folders = vec![self.objects.path().join("shards")];
        let mut names = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => names.push(entry.file_name().into_string().unwrap()),
                }
            }
        }
        names.sort();
        names
    }
}

/// What ends the thread that accepts, after the last connection.
struct Ends(Arc<S3>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::SeqCst);
        *self.0.process.lock().unwrap() = None;
        let _ = TcpStream::connect(&self.0.address);
    }
}

#[track_caller]
fn good(ran: Ran) -> Ran {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// The folder in which a shard that was not published stays.
fn kept(ran: &Ran) -> &str {
    let (_, rest) = ran.err.split_once("--work ").unwrap_or_else(|| panic!("{ran:?}"));
    rest.split(' ').next().unwrap()
}

#[test]
fn shards_published_to_s3_are_merged_to_the_run_of_one_process() {
    let Some(s3) = S3::start() else { return };
    let _ends = Ends(Arc::clone(&s3));
    let (desk, to) = (Desk::new(), "s3://shards/nightly");
    desk.good(&[&WHAT[..], &["--out", "whole"]].concat());
    for index in [5, 7, 1, 4, 6, 2] {
        let ran = good(s3.publish(&desk, &WHAT, &format!("{index}/7"), to));
        assert!(ran.err.contains(&format!("shard {index}/7 is published: {to}/run-")), "{ran:?}");
    }
    // The late one is named, and nothing is written without it.
    let merge = ["merge", to, "--out", "merged"];
    let late = s3.run(&desk, &[], &merge);
    assert_eq!(late.code, 3, "{late:?}");
    assert!(late.err.contains("of 7 shards these are missing: 3\n"), "{late:?}");
    assert!(!desk.path("merged").exists());
    // Two processes make it at once: one is first, and no time of the other is seen.
    let both: Vec<Ran> = std::thread::scope(|scope| {
        let started = [(), ()].map(|()| scope.spawn(|| s3.publish(&desk, &WHAT, "3/7", to)));
        started.map(|one| good(one.join().unwrap())).into()
    });
    assert!(both.iter().any(|ran| ran.err.contains("shard 3/7 is published: ")), "{both:?}");
    let before = s3.seen();
    let again = good(s3.publish(&desk, &WHAT, "3/7", to));
    assert!(again.err.contains("shard 3/7 is published already, and stays as it is"), "{again:?}");
    assert_eq!(s3.seen(), before);
    good(s3.run(&desk, &[], &merge));
    assert_same(&desk, "whole", "merged");
    assert_eq!(desk.list("."), ["merged", "whole"], "nothing else was left here");
}

#[test]
fn a_server_that_dies_while_a_shard_is_written_loses_nothing_and_shows_nothing_half() {
    let Some(s3) = S3::start() else { return };
    let _ends = Ends(Arc::clone(&s3));
    let (desk, to) = (Desk::new(), "s3://shards");
    desk.good(&[&FEW[..], &["--out", "whole"]].concat());
    // It comes again at once: the same command carries on.
    s3.set(Fate::StartsAgain(8_000));
    good(s3.publish(&desk, &FEW, "1/2", to));
    assert_eq!((s3.deaths.load(Ordering::SeqCst), s3.seen()), (1, vec!["shard-1.zst".to_owned()]));
    // It stays away: the shard stays here.
    s3.set(Fate::Dies(8_000));
    let failed = s3.publish(&desk, &FEW, "2/2", to);
    assert_eq!((failed.code, s3.deaths.load(Ordering::SeqCst)), (3, 2), "{failed:?}");
    assert!(
        failed.err.contains("the server does not answer, or was gone in the middle"),
        "{failed:?}"
    );
    assert_eq!(failed.err.matches("error: ").count(), 1, "{failed:?}");
    let kept = kept(&failed).to_owned();
    assert!(Path::new(&kept).join("cells.jsonl").is_file(), "{failed:?}");
    s3.restart();
    assert_eq!(s3.seen(), ["shard-1.zst"]);
    let late = s3.run(&desk, &[], &["merge", to, "--out", "merged"]);
    assert!(late.code == 3 && late.err.contains("of 2 shards these are missing: 2"), "{late:?}");
    let again = ["--shard", "2/2", "--out", to, "--work", &kept, "--resume"];
    good(s3.run(&desk, &[], &[&FEW[..], &again].concat()));
    good(s3.run(&desk, &[], &["merge", to, "--format=csv", "--out", "merged"]));
    assert_same(&desk, "whole", "merged");
    std::fs::remove_dir_all(kept).unwrap();
}

#[test]
fn what_keeps_a_shard_from_its_destination_is_told_before_it_is_made() {
    let Some(s3) = S3::start() else { return };
    let _ends = Ends(Arc::clone(&s3));
    let desk = Desk::new();
    let refused = |settings: &[(&str, &str)], to: &str, says: &str| {
        let ran = s3.run(&desk, settings, &[&FEW[..], &["--shard=1/2", "--out", to]].concat());
        ran.is_refused();
        assert!(ran.err.contains(says), "{ran:?}");
        let ran = s3.run(&desk, settings, &["merge", to, "--out", "merged"]);
        ran.is_refused();
        assert!(ran.err.contains(says), "{ran:?}");
    };
    refused(&[], "s3://nowhere/a", "s3://nowhere/a");
    refused(&[], "s3://nowhere/a", "there is no such bucket");
    refused(&[("AWS_SECRET_ACCESS_KEY", "wrong")], "s3://shards", "access is denied");
    refused(&[("AWS_ACCESS_KEY_ID", "nobody")], "s3://shards", "access is denied");
    refused(&[("AWS_ALLOW_HTTP", "false")], "s3://shards", "AWS_ALLOW_HTTP=true");
    refused(
        &[("AWS_ALLOW_HTTP", "perhaps")],
        "s3://shards",
        "the settings in the environment are wrong",
    );
    let nothing = s3.run(&desk, &[], &["merge", "s3://shards/none", "--out", "merged"]);
    nothing.is_refused();
    assert!(nothing.err.contains("s3://shards/none: there is no shard of a run"), "{nothing:?}");
    assert_eq!(desk.list("."), Vec::<String>::new());
}

#[test]
fn several_runs_under_one_address_are_refused_and_each_has_its_own() {
    let desk = Desk::new();
    let to = format!("file://{}", desk.path("shared").display());
    let publish = |more: &[&str]| desk.good(&[&FEW[..], &["--out", &to], more].concat());
    publish(&["--shard", "1/1"]);
    publish(&["--shard", "1/2"]);
    publish(&["--shard", "1/1", "--seed", "2"]);
    let several = desk.refused(&["merge", &to, "--out", "merged"]);
    assert!(several.contains("there are shards of 3 runs"), "{several}");
    assert!(several.contains("-of-2: 1 of 2 shards, the last from "), "{several}");
    let of_one: Vec<&str> = several.split_whitespace().filter(|w| w.ends_with("-of-1:")).collect();
    assert_eq!(of_one.len(), 2, "{several}");
    desk.good(&["merge", of_one[0].trim_end_matches(':'), "--out", "merged"]);
    desk.good(&["merge", of_one[1].trim_end_matches(':'), "--out", "other"]);
    let seeds =
        ["merged", "other"].map(|run| desk.json(&format!("{run}/manifest.json"))["seed"].clone());
    assert!(seeds.contains(&1.into()) && seeds.contains(&2.into()), "{seeds:?}");
}

#[test]
fn copies_of_objects_are_called_by_their_addresses() {
    let desk = Desk::new();
    let to = format!("file://{}", desk.path("shared").display());
    for shard in ["1/2", "2/2"] {
        desk.good(&[&FEW[..], &["--shard", shard, "--out", &to]].concat());
    }
    let [run] = &desk.list("shared")[..] else { panic!("one run") };
    let (one, two) = (format!("shared/{run}/shard-1.zst"), format!("shared/{run}/shard-2.zst"));
    // Someone put the first shard in the place of the second.
    std::fs::copy(desk.path(&one), desk.path(&two)).unwrap();
    let told = desk.recap(&["merge", &to, "--out", "merged"]);
    let says = format!("{to}/{run}/shard-1.zst and {to}/{run}/shard-2.zst are both shard 1/2");
    assert!(told.code == 2 && told.err.contains(&says), "{told:?}");
    // And now it is cut off.
    let whole = std::fs::read(desk.path(&one)).unwrap();
    desk.file(&two, &whole[..whole.len() / 2]);
    let told = desk.recap(&["merge", &to, "--out", "merged"]);
    let says = format!("error: {to}/{run}/shard-2.zst: this object is no whole shard: ");
    assert!(told.code == 2 && told.err.contains(&says), "{told:?}");
    assert!(!desk.path("merged").exists());
}

#[test]
fn options_that_do_not_fit_a_destination_are_refused() {
    let desk = Desk::new();
    for (more, says) in [
        (&["--out", "s3://b/a"][..], "--shard 1/1 publishes the whole run"),
        (&["--out", "s4://b/a", "--shard", "1/2"], "begins with none of s3://"),
        (&["--out", "s3:/b/a", "--shard", "1/2"], "two slashes"),
        (&["--out", "part", "--work", "w", "--shard", "1/2"], "--work without a destination"),
        (&["--out", "s3://b/a", "--shard", "1/2", "--resume"], "--work names the folder"),
    ] {
        let told = desk.refused(&[&FEW[..], more].concat());
        assert!(told.contains(says), "{told}");
    }
    let told = desk.refused(&["merge", "part", "--out", "s3://b/a"]);
    assert!(told.contains("--out s3://b/a: only shards go there"), "{told}");
}

#[test]
fn a_shard_that_was_interrupted_is_finished_in_its_folder_and_then_published() {
    let desk = Desk::new();
    let to = format!("file://{}", desk.path("shared").display());
    let shard = ["--shard", "1/1", "--out", &to, "--work", "work"];
    desk.good(&[&FEW[..], &["--shard", "1/1", "--out", "work"]].concat());
    // As if it had been killed: the second half of the journal is missing.
    let journal = desk.read("work/cells.jsonl");
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    desk.file("work/cells.jsonl", lines[..lines.len() / 2].concat());
    desk.good(&[&FEW[..], &shard[..], &["--resume"]].concat());
    assert!(desk.path("work/cells.jsonl").is_file(), "a folder that was named stays");
    desk.good(&["merge", &to, "--format=csv", "--out", "merged"]);
    desk.good(&[&FEW[..], &["--out", "whole"]].concat());
    assert_same(&desk, "whole", "merged");
}
