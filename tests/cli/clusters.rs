//! The manifests of `examples/clusters`, run as their engines run them: the
//! commands are read from the files, and get the variables that the engine sets.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use crate::desk::{Desk, assert_same};
use crate::test_tools::tool;

fn manifest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clusters").join(name)
}

fn yaml(name: &str) -> Json {
    serde_saphyr::from_str(&std::fs::read_to_string(manifest(name)).unwrap()).unwrap()
}

/// Three sessions in the folder `sessions`, and their run in `whole`.
fn desk() -> Desk {
    let desk = Desk::new();
    for name in ["claude-code.jsonl", "pi.jsonl", "codex.jsonl"] {
        let bytes = std::fs::read(crate::desk::fixture(name)).unwrap();
        desk.file(&format!("sessions/{name}"), bytes);
    }
    // The settings of all processes, which the manifests leave to whoever uses them.
    desk.file("recap.toml", "strategy = [\"fifo\"]\ncuts = \"1\"\nwindow = [\"40%\"]\n");
    desk.good("bench sessions --quiet --out whole");
    desk
}

/// A process with the program on its path, in a folder of the desk.
fn process(desk: &Desk, folder: &str, program: &str) -> Command {
    let recap = assert_cmd::cargo::cargo_bin!("recap");
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program);
    command.current_dir(desk.path(folder));
    command.env("PATH", format!("{}:{path}", recap.parent().unwrap().display()));
    command
}

#[track_caller]
fn good(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    assert!(ran.status.success(), "{command:?}\n{out}{err}");
    out
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// The container of a Job as a process, with the volume in the folder `volume`.
fn container(desk: &Desk, job: &Json) -> Command {
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let words = ["command", "args"].map(|key| container[key].as_array().unwrap().clone()).concat();
    let mut process = process(desk, ".", text(&words[0]));
    process.args(words[1..].iter().map(text));
    for variable in container["env"].as_array().unwrap() {
        let (name, value) = (text(&variable["name"]), text(&variable["value"]));
        if name == "FOLDER" {
            assert_eq!(value, text(&container["volumeMounts"][0]["mountPath"]));
            process.env(name, desk.path("volume"));
        } else {
            process.env(name, value);
        }
    }
    process
}

#[test]
fn indexed_job_pods_match_single_process_run() {
    let desk = desk();
    std::fs::create_dir(desk.path("volume")).unwrap();
    std::fs::rename(desk.path("sessions"), desk.path("volume/sessions")).unwrap();
    let (shards, merge) = (yaml("kubernetes-shards.yaml"), yaml("kubernetes-merge.yaml"));
    let spec = &shards["spec"];
    let count = spec["completions"].as_u64().unwrap();
    let of = format!("{:?}", container(&desk, &shards)).contains(&format!("SHARDS=\"{count}\""));
    assert!(of, "as many shards as pods");
    assert_eq!(spec["completionMode"], "Indexed");
    let pod = |index: u64| {
        let mut process = container(&desk, &shards);
        good(process.env("JOB_COMPLETION_INDEX", index.to_string()))
    };
    (0..count).rev().for_each(|index| drop(pod(index)));
    // A pod that was lost behind its last write runs again, and changes nothing.
    let shard = desk.read("volume/shards/2/cells.jsonl");
    pod(1);
    assert_eq!(desk.read("volume/shards/2/cells.jsonl"), shard);
    good(&mut container(&desk, &merge));
    std::fs::rename(desk.path("volume/run"), desk.path("run")).unwrap();
    assert_same(&desk, "whole", "run");
}

/// The variables of a job of a workflow, with the shard that the matrix gives it.
fn variables(job: &Json, shard: &str, shards: usize) -> Vec<(String, String)> {
    let Some(variables) = job["env"].as_object() else { return Vec::new() };
    let value = |value: &Json| match text(value) {
        "${{ matrix.shard }}" => shard.to_owned(),
        "${{ strategy.job-total }}" => shards.to_string(),
        other => panic!("{other} is not known here"),
    };
    variables.iter().map(|(name, text)| (name.clone(), value(text))).collect()
}

/// Runs the scripts of a job on a runner of its own, with the artifacts that it asks for; those
/// that it leaves are kept in `artifacts`.
fn runner(desk: &Desk, workflow: &Json, job: &str, shard: (&str, usize)) {
    let (job, folder) = (&workflow["jobs"][job], format!("runner-{job}-{}", shard.0));
    desk.file(&format!("{folder}/recap.toml"), desk.read("recap.toml"));
    let sessions = text(&workflow["env"]["SESSIONS"]).to_owned();
    for name in desk.list("sessions") {
        desk.file(&format!("{folder}/{sessions}/{name}"), desk.read(&format!("sessions/{name}")));
    }
    let copy = |from: String, to: String| {
        std::fs::create_dir_all(desk.path(&to).parent().unwrap()).unwrap();
        good(process(desk, ".", "cp").args(["-rT", &from, &to]));
    };
    for step in job["steps"].as_array().unwrap() {
        let with = |key: &str| {
            step["with"][key].as_str().map(|v| v.replace("${{ matrix.shard }}", shard.0))
        };
        let uses = step["uses"].as_str().unwrap_or("").split('@').next().unwrap();
        match uses {
            "actions/checkout" => {}
            "actions/upload-artifact" => {
                let (name, path) = (with("name").unwrap(), with("path").unwrap());
                copy(format!("{folder}/{path}"), format!("artifacts/{name}"));
            }
            "actions/download-artifact" => match (with("name"), with("pattern"), with("path")) {
                (Some(name), None, Some(to)) => {
                    copy(format!("artifacts/{name}"), format!("{folder}/{to}"))
                }
                (None, Some(pattern), Some(to)) => {
                    let begins = pattern.strip_suffix('*').unwrap();
                    for name in desk.list("artifacts").iter().filter(|n| n.starts_with(begins)) {
                        copy(format!("artifacts/{name}"), format!("{folder}/{to}/{name}"));
                    }
                }
                other => panic!("{other:?}"),
            },
            "" => {
                let mut script = process(desk, &folder, "bash");
                script.args(["-eo", "pipefail", "-c", text(&step["run"])]);
                script
                    .env("SESSIONS", &sessions)
                    .env("GITHUB_STEP_SUMMARY", desk.path("summary.md"));
                good(script.envs(variables(job, shard.0, shard.1)));
            }
            other => panic!("{other} is not known here"),
        }
    }
}

#[test]
fn matrix_runners_reproduce_single_process_run() {
    let desk = desk();
    let workflow = yaml("github-matrix.yml");
    // The job `build` needs a network; what it leaves is the program.
    assert_eq!(text(&workflow["jobs"]["build"]["steps"][1]["with"]["name"]), "program");
    std::fs::create_dir_all(desk.path("artifacts/program")).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("recap");
    std::os::unix::fs::symlink(program, desk.path("artifacts/program/recap")).unwrap();
    let matrix = workflow["jobs"]["shards"]["strategy"]["matrix"]["shard"].as_array().unwrap();
    for shard in matrix {
        runner(&desk, &workflow, "shards", (&shard.to_string(), matrix.len()));
    }
    runner(&desk, &workflow, "merge", ("", 0));
    std::fs::rename(desk.path("artifacts/recap-run"), desk.path("run")).unwrap();
    assert_same(&desk, "whole", "run");
    assert_eq!(desk.read("summary.md"), desk.read("run/report.md"));
}

#[test]
fn job_array_tasks_reproduce_single_process_run() {
    let desk = desk();
    let task = |array: &[u32], task: u32, all: Option<&str>| {
        let mut script = process(&desk, ".", "bash");
        script.arg(manifest("slurm-shards.sh")).args(["sessions", "."]);
        script.env("SLURM_CPUS_PER_TASK", "2").env("SLURM_ARRAY_TASK_ID", task.to_string());
        script.env("SLURM_ARRAY_TASK_COUNT", array.len().to_string());
        good(script.envs(all.map(|all| ("SHARDS", all))));
    };
    [1, 3].into_iter().for_each(|number| task(&[1, 2, 3], number, None));
    let merge = || {
        let mut script = process(&desk, ".", "bash");
        script.arg(manifest("slurm-merge.sh")).arg(".");
        script
    };
    let early = merge().output().unwrap();
    assert_eq!(early.status.code(), Some(3));
    let said = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(said.contains("of 3 shards these are missing: 2"), "{said}");
    // The one that is missing is submitted alone.
    task(&[2], 2, Some("3"));
    good(&mut merge());
    assert_same(&desk, "whole", "run");
}

/// A Slurm of one node on this machine, which ends with its owner.
struct Slurm {
    daemons: Vec<std::process::Child>,
    settings: PathBuf,
}

impl Slurm {
    fn start(desk: &Desk) -> Self {
        let user = good(Command::new("id").arg("-un"));
        let port =
            || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        std::fs::create_dir_all(desk.path("slurm/state")).unwrap();
        let (folder, user) = (desk.path("slurm"), user.trim());
        let settings = format!(
            "ClusterName=one\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
             CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
             SlurmdParameters=config_overrides\nReturnToService=2\nMailProg=/bin/true\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\n\
             SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
             NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 State=UNKNOWN\n\
             PartitionName=main Nodes=localhost Default=YES State=UP\n",
            port(),
            port(),
            folder = folder.display(),
        );
        desk.file("slurm/slurm.conf", settings);
        let mut slurm = Self { daemons: Vec::new(), settings: folder.join("slurm.conf") };
        for daemon in [&["slurmctld", "-D"][..], &["slurmd", "-D", "-N", "localhost"]] {
            let log = std::fs::File::create(folder.join(daemon[0])).unwrap();
            let mut command = process(desk, ".", daemon[0]);
            command.args(&daemon[1..]).env("SLURM_CONF", &slurm.settings);
            slurm
                .daemons
                .push(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        }
        slurm
    }

    /// Waits at most so long for the end of a command of Slurm; what it printed.
    fn command(&self, desk: &Desk, words: &[&str]) -> String {
        let mut command = process(desk, ".", "timeout");
        good(command.arg("120").args(words).env("SLURM_CONF", &self.settings))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

#[test]
fn slurm_on_one_node_matches_single_process_run() {
    // It comes with the packages of the system, and is asked for with the others.
    if tool("RECAP_RELEASE_TOOLS", "python").is_none() {
        return;
    }
    let desk = desk();
    let slurm = Slurm::start(&desk);
    let [shards, merge] = ["slurm-shards.sh", "slurm-merge.sh"].map(manifest);
    let [shards, merge] = [&shards, &merge].map(|path| path.to_str().unwrap());
    let job =
        slurm.command(&desk, &["sbatch", "--parsable", "--array=1-3", shards, "sessions", "."]);
    let after = format!("--dependency=afterok:{}", job.trim());
    slurm.command(&desk, &["sbatch", "--wait", &after, merge, "."]);
    assert_same(&desk, "whole", "run");
}

/// Whether a tool accepts files; `None` where it is not installed.
fn validates(desk: &Desk, name: &str, options: &[&str], files: &[PathBuf]) -> Option<bool> {
    let tool = tool("RECAP_RELEASE_TOOLS", name)?;
    let mut command = process(desk, ".", tool.to_str().unwrap());
    Some(command.args(options).args(files).output().unwrap().status.success())
}

#[test]
fn manifests_follow_the_schemas_of_kubernetes_and_github() {
    let desk = Desk::new();
    let kubernetes =
        |files: &[PathBuf]| validates(&desk, "kubernetes-validate", &["--strict"], files);
    let schema = ["--builtin-schema", "vendor.github-workflows"];
    let github = |file: PathBuf| validates(&desk, "check-jsonschema", &schema, &[file]);
    let jobs = ["kubernetes-volume.yaml", "kubernetes-shards.yaml", "kubernetes-merge.yaml"];
    let Some(valid) = kubernetes(&jobs.map(manifest)) else { return };
    assert!(valid);
    assert_eq!(github(manifest("github-matrix.yml")), Some(true));
    // A word that neither knows is refused.
    let wrong = |name: &str, is: &str, was: &str| {
        desk.file(name, std::fs::read_to_string(manifest(name)).unwrap().replace(was, is));
        desk.path(name)
    };
    let job = wrong("kubernetes-shards.yaml", "completionsMode:", "completionMode:");
    assert_eq!(kubernetes(&[job]), Some(false));
    assert_eq!(github(wrong("github-matrix.yml", "runs-in:", "runs-on:")), Some(false));
}
