//! What is read of the replies in `replies.txt`: a provider, a status and a body a line.

use super::*;

/// A reply in one line: why it ended, its text, its usage and the model; or the error.
fn told(reply: Result<Reply, WireError>) -> String {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return error.to_string(),
    };
    let usage = match &reply.usage {
        Ok(Tokens { usage, reasoning }) => format!(
            "input {}, read {}, written {} and {}, output {} of which reasoning {reasoning:?}",
            usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output
        ),
        Err(why) => why.to_string(),
    };
    format!("{:?} {:?}; {usage}; {:?}", reply.finish, reply.text, reply.model)
}

#[test]
fn replies_are_read_as_reviewed() {
    let mut lines = Vec::new();
    for line in include_str!("replies.txt").lines() {
        lines.push(line.to_owned());
        if let [name, status, body] = line.splitn(3, ' ').collect::<Vec<_>>()[..]
            && name != "#"
        {
            let provider = PROVIDERS.iter().find(|provider| provider.name() == name).unwrap();
            let reply = provider.decode(status.parse().unwrap(), body.as_bytes());
            lines.push(format!("  {}", told(reply)));
        }
    }
    are_as_reviewed("replies", &lines);
}

#[test]
fn bytes_that_are_no_text_are_no_reply() {
    assert!(OPENAI.decode(200, b"\xff\xfe").is_err());
}
