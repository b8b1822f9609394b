//! Trajectories of SWE-agent, with commands in fences and with tool calls.

use recap_core::model::Session;
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::outline;

const FIXTURE: &str = include_str!("../fixtures/dataset/swe-agent.json");

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("task.traj", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

fn trajectory(history: &[Json]) -> String {
    json!({"trajectory": [], "history": history, "info": {}}).to_string()
}

fn calling(id: &str, more: Json) -> Json {
    let call = json!({"id": id, "type": "function",
                      "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}});
    let mut entry = json!({"role": "assistant", "content": "I look.", "action": "ls",
                           "tool_calls": [call]});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

fn result(id: &str, text: &str) -> Json {
    json!({"role": "tool", "content": [{"type": "text", "text": text}], "tool_call_ids": [id]})
}

#[test]
fn ids_that_a_demonstration_repeats_are_told_apart() {
    let demo = json!({"is_demo": true});
    let history = [
        json!({"role": "user", "content": "go"}),
        calling("c", demo),
        result("c", "1"),
        calling("c", json!({})),
        result("c", "2"),
    ];
    let session = read(&trajectory(&history));
    let expected = ["user: go", "assistant: I look.", "c: 1", "assistant: I look.", "c#2: 2"];
    assert_eq!(outline(&session), expected);
    // The answer of the demonstration was not asked for here.
    assert_eq!(session.requests().collect::<Vec<_>>(), [3]);
}

#[test]
fn model_and_thoughts_are_read_where_present() {
    let thinking = json!({"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]});
    let history = [json!({"role": "user", "content": "go"}), calling("c", thinking)];
    let config = json!({"agent": {"model": {"name": "gpt-5"}}});
    for config in [config.clone(), json!(config.to_string())] {
        let text = json!({"trajectory": [], "history": history, "replay_config": config});
        let session = read(&text.to_string());
        assert_eq!(session.model.as_deref(), Some("gpt-5"));
        assert_eq!(session.messages[1].reasoning(), "Hm.");
    }
}

#[test]
fn hostile_trajectories_are_refused() {
    for (entry, says) in [
        (json!({"role": "robot"}), "unknown role `robot`"),
        (json!({"content": "x"}), "history[0]"),
        (json!({"role": "user", "content": 7}), "history[0].content"),
        (json!({"role": "tool", "content": "x"}), "lacks `tool_call_ids`"),
        (calling("c", json!({"tool_calls": [{"id": "c"}]})), "tool_calls[0]"),
    ] {
        let error = try_read(&trajectory(&[entry])).unwrap_err().to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let loose = try_read(&trajectory(&[result("c", "x")])).unwrap();
    let why = "call of a tool result, which is kept as a text";
    assert_eq!(loose.sessions[0].left_out[why], 1);
    assert!(try_read(&trajectory(&[])).unwrap_err().to_string().contains("no conversation"));
}

#[test]
fn many_same_id_calls_read_in_linear_time() {
    let pair = |_| [calling("c", json!({})), result("c", "x")];
    let history: Vec<Json> = (0..11_000).flat_map(pair).collect();
    assert_eq!(read(&trajectory(&history)).messages.len(), 22_000);
}

/// A trajectory of mini-swe-agent.
fn mini(messages: &[Json], cost: f64) -> String {
    json!({"info": {"model_stats": {"instance_cost": cost, "api_calls": 7}, "mini_version": "2.3.0",
        "config": {"model": {"model_name": "deepseek/deepseek-chat"}}},
        "messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
    .to_string()
}

fn start() -> [Json; 2] {
    [
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "Mend it."}),
    ]
}

/// What the agent keeps beside an answer.
fn extra([prompt, read, output]: [u64; 3], actions: Json) -> Json {
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": read}});
    json!({"actions": actions, "cost": 0.25, "timestamp": 1_780_680_350.5,
        "response": {"id": "r", "model": "deepseek-v4-flash", "usage": usage}})
}

/// Model, requests and dollars of each total.
fn costs(session: &Session) -> Vec<(&str, u64, f64)> {
    let totals = session.totals.iter();
    totals.map(|one| (one.model.as_deref().unwrap(), one.requests, one.usd.unwrap())).collect()
}

#[test]
fn mini_swe_agent_keeps_model_usage_and_cost_of_each_answer() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}});
    let messages = [
        &start()[..],
        &[
            json!({"role": "assistant", "content": "I look.", "tool_calls": [call], "extra": extra([100, 60, 5], json!([{"command": "ls", "tool_call_id": "c1"}]))}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}}),
            // The agent could not read this answer, and asks for another.
            json!({"role": "user", "content": "No tool calls.", "extra": extra([120, 90, 7], json!([]))}),
            json!({"role": "assistant", "content": "Done.", "extra": extra([130, 100, 2], json!([]))}),
            json!({"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}),
        ],
    ]
    .concat();
    let session = read(&mini(&messages, 0.75));
    assert_eq!(
        outline(&session),
        [
            "user: Mend it.",
            "assistant: I look.",
            "c1: a.py",
            "user: No tool calls.",
            "assistant: Done."
        ]
    );
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(crate::outline::usages(&session), [[40, 60, 0, 5], [30, 100, 0, 2]]);
    assert_eq!(session.model.as_deref(), Some("deepseek-v4-flash"));
    assert_eq!(session.messages[1].at.unwrap().as_millisecond(), 1_780_680_350_500);
    assert_eq!(costs(&session), [("deepseek-v4-flash", 3, 0.75)]);
    // All three: 100 + 120 + 130 of prompts.
    assert_eq!(session.totals[0].usage.prompt(), 350);
    assert_eq!(session.left_out["answer that the agent could not read"], 1);
    assert_eq!(session.left_out["message of the agent at its end"], 1);
}

#[test]
fn commands_of_mini_swe_agent_in_fences_are_calls() {
    let says =
        |text: &str, more: Json| json!({"role": "assistant", "content": text, "extra": more});
    let user = |text: &str| json!({"role": "user", "content": text});
    let two = "I look.\n\n```bash\nls\n```\n```bash\ncat a\n```";
    let messages = [
        &start()[..],
        &[
            says(
                "First.\n\n```mswea_bash_command\nls -la\n```",
                json!({"actions": [{"command": "ls -la"}]}),
            ),
            user("<output>a.py</output>"),
            says("Older.\n\n```bash\ncat a.py\n```\nSo.", json!({})),
            user("<output>x = 1</output>"),
            says(two, json!({})),
            user("Give one command."),
        ],
    ]
    .concat();
    let session = read(&mini(&messages, 0.5));
    let calls: Vec<_> = session.calls().into_iter().map(|call| (call.tool, call.result)).collect();
    let tool = || "command".to_owned();
    assert_eq!(calls, [(tool(), Some(2)), (tool(), Some(4))]);
    assert_eq!(session.messages[4].tool_result().unwrap().1, "<output>x = 1</output>");
    assert_eq!(session.messages[6].first_text(), "Give one command.");
    // No answer tells what it cost, the run as a whole does.
    assert_eq!(costs(&session), [("deepseek/deepseek-chat", 7, 0.5)]);
}

#[test]
fn mini_swe_agent_may_keep_responses_of_the_responses_api() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{\"command\":\"ls\"}"});
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]});
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 5});
    let response = json!({"object": "response", "model": "gpt-5.5", "output": [said, call], "usage": usage, "extra": {"cost": 0.5}});
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "a.py"});
    let session = read(&mini(&[&start()[..], &[response, result]].concat(), 0.5));
    assert_eq!(session.calls()[0].result, Some(session.messages.len() as u32 - 1));
    let usages = session.messages.iter().filter_map(|message| message.usage);
    assert_eq!(usages.map(|usage| usage.prompt()).collect::<Vec<_>>(), [100]);
    assert_eq!(costs(&session), [("gpt-5.5", 1, 0.5)]);
}

#[test]
fn odd_trajectories_of_mini_swe_agent_are_refused_or_read() {
    let refused = |message: Json| try_read(&mini(&[message], 0.0)).unwrap_err().to_string();
    assert!(refused(json!({"role": "robot", "content": "x"})).contains("unknown role `robot`"));
    for odd in [
        json!(null),
        json!(7),
        json!({"response": "repr", "cost": "x", "timestamp": 1e300, "actions": 7}),
        json!({"cost": -1.0, "response": {"usage": [], "model": 7}}),
    ] {
        let answer = json!({"role": "assistant", "content": "Done.", "extra": odd});
        let session = read(&mini(&[&start()[..], &[answer]].concat(), f64::MAX));
        assert_eq!(session.messages.len(), 2, "{odd}");
        assert!(session.messages[1].usage.is_none() && session.totals.len() < 2, "{odd}");
    }
    let long: Vec<Json> = (0..20_000)
        .map(|n| match n % 2 {
            0 => json!({"role": "user", "content": "go"}),
            _ => json!({"role": "assistant", "content": "done"}),
        })
        .collect();
    assert_eq!(read(&mini(&long, 0.0)).messages.len(), 20_000);
}

#[test]
fn what_a_run_of_swe_agent_used_in_all_is_its_total() {
    let of = |stats: Json| {
        let mut document: Json = serde_json::from_str(FIXTURE).unwrap();
        document["info"] = json!({"model_stats": stats});
        read(&document.to_string()).totals
    };
    let stats =
        json!({"instance_cost": 0.5, "tokens_sent": 900, "tokens_received": 20, "api_calls": 3});
    let [total] = &of(stats)[..] else { panic!() };
    assert_eq!(
        (total.requests, total.usage.input, total.usage.output, total.usd),
        (3, 900, 20, Some(0.5))
    );
    assert!(total.usage.cache_unknown);
    for none in
        [json!(null), json!(7), json!({"instance_cost": 0, "tokens_sent": "x", "api_calls": -1})]
    {
        assert!(of(none.clone()).is_empty(), "{none}");
    }
}
