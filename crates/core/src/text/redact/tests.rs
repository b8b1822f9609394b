use proptest::prelude::*;

use super::*;

fn once(text: &str) -> String {
    let mut redaction = redact(&[text]);
    redaction.texts.pop().unwrap()
}

/// A token of a form, made of parts so that no scanner takes it for one.
fn token(prefix: &str, length: usize) -> String {
    let tail = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z".chars().cycle();
    prefix.chars().chain(tail.take(length)).collect()
}

/// A line of `cases.txt` without its abbreviations.
fn expanded(line: &str) -> String {
    static PART: Pattern = pattern!(r"\{([ah])([0-9]{1,3})\}");
    let (letters, hex) = (token("", 200), "0123456789abcdef".repeat(4));
    let part = |hit: &regex::Captures<'_>| {
        let of = if &hit[1] == "a" { &letters } else { &hex };
        of[..hit[2].parse().unwrap()].to_owned()
    };
    PART.replace_all(line, part).replace('␤', "\n").replace('␛', "\u{1b}")
}

#[test]
fn marked_values_are_found_and_nothing_else() {
    let lines = include_str!("cases.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let marked = expanded(line);
        let text = marked.replace(['⟦', '⟧', '⟪', '⟫'], "");
        let marks = found(&text).into_iter().map(|Found { range, kind }| {
            let [open, close] = if kind == EMAIL { ['⟪', '⟫'] } else { ['⟦', '⟧'] };
            (range.clone(), format!("{open}{}{close}", &text[range]))
        });
        assert_eq!(spliced(&text, marks), marked);
        let redacted = once(&text);
        assert_eq!(once(&redacted), redacted, "{line}");
    }
}

#[test]
fn truncated_or_escaped_private_key_is_one_secret() {
    let line = token("", 64);
    let (begin, end) =
        (["-----BEGIN RSA PRIV", "ATE KEY-----"].concat(), "-----END RSA PRIVATE KEY-----");
    for newline in ["\n", "\\n", "\r\n  "] {
        let key = format!("{begin}{newline}{line}{newline}{line}{newline}{end}");
        assert_eq!(once(&format!("a {key} b")), "a <SECRET_1> b");
    }
    assert_eq!(
        once(&format!("{begin}\n{line}\n{line}\nand so on, at length")),
        "<SECRET_1>\nand so on, at length"
    );
    let encrypted = format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{line}\n{end}");
    assert_eq!(once(&encrypted), "<SECRET_1>");
    for text in [
        format!("it starts with {begin} and ends with {end}"),
        format!("if text.startswith('{begin}') and text.endswith('{end}'):"),
        format!("-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----"),
        format!("-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----"),
    ] {
        assert_eq!(once(&text), text);
    }
}

#[test]
fn users_of_escaped_and_dashed_homes_are_found() {
    for text in [
        r"C:\Users\kasimir\x",
        r"C:\\\\Users\\\\kasimir\\\\x",
        r"\/home\/kasimir\/x",
        "~/.claude/projects/-home-kasimir-project",
        "-Users-kasimir-src",
        "C--Users-kasimir-src",
    ] {
        assert_eq!(user_names(&[text]), BTreeSet::from(["kasimir".to_owned()]), "{text}");
    }
    for text in ["my-home-office-setup", "class='-home-page-x'", r"C:\Users\Public\x"] {
        assert_eq!(user_names(&[text]), BTreeSet::new(), "{text}");
    }
}

#[test]
fn equal_values_have_equal_placeholders_in_one_numbering() {
    let key = token("ghp_", 36);
    let (first, second) = (format!("a@x.org {key}"), format!("{key} b@x.org a@x.org"));
    let redaction = redact(&[&first, &second]);
    assert_eq!(redaction.texts, ["<EMAIL_1> <SECRET_2>", "<SECRET_2> <EMAIL_3> <EMAIL_1>"]);
    assert_eq!(redaction.originals.values.len(), 3);
    assert_eq!(redact(&[&first, &second]), redaction);
}

#[test]
fn secret_is_removed_at_every_other_occurrence() {
    assert_eq!(
        once("He said s3cr3t-value. password=s3cr3t-value"),
        "He said <SECRET_1>. password=<SECRET_1>"
    );
    // A short one may be a word.
    assert_eq!(once("4 x 1234: pwd=1234"), "4 x 1234: pwd=<SECRET_1>");
}

#[test]
fn a_text_may_have_placeholders_of_its_own() {
    let text = "<EMAIL_1> SECRET_2 MY_SECRET_3 and a@x.org";
    let redaction = redact(&[text]);
    assert_eq!(redaction.texts, ["<EMAIL_1> SECRET_2 MY_SECRET_3 and <EMAIL_4>"]);
    assert_eq!(redaction.originals.restore(&redaction.texts[0]), text);
}

#[test]
fn reply_is_restored_even_without_brackets() {
    let addresses: Vec<String> = (1..=12).map(|n| format!("a{n}@x.org")).collect();
    let originals = redact(&[&addresses.join(" ")]).originals;
    assert_eq!(originals.restore("<EMAIL_1> <EMAIL_12>"), "a1@x.org a12@x.org");
    assert_eq!(
        originals.restore("EMAIL_1, <EMAIL_12 (EMAIL_2)"),
        "a1@x.org, <a12@x.org (a2@x.org)"
    );
    let others = "<EMAIL_13> <SECRET_1> MY_EMAIL_1 EMAIL_1x <email_1> EMAIL_01";
    assert_eq!(originals.restore(others), others);
}

#[test]
fn a_reply_in_json_stays_json() {
    let line = token("", 64);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----");
    let originals = redact(&[&key]).originals;
    let restored = originals.restore_json(r#"{"key": "<SECRET_1>"}"#);
    let json: serde_json::Value = serde_json::from_str(&restored).unwrap();
    assert_eq!(json["key"], key.as_str());
}

#[test]
fn hostile_texts_take_linear_time() {
    let unit = 50_000;
    for text in [
        "token=".repeat(unit),
        "password: ".repeat(unit),
        "a@".repeat(unit),
        "a.".repeat(unit) + "@",
        "://a:".repeat(unit),
        "-----BEGIN PRIVATE KEY-----".repeat(unit / 5),
        "-----BEGIN PRIVATE KEY-----\n".to_owned() + &"A".repeat(unit * 5),
        "eyJ".repeat(unit),
        "eyJaaaaaaaa.".repeat(unit / 2),
        "Bearer ".repeat(unit),
        "curl ".repeat(unit),
        "mysql -p ".repeat(unit),
        "machine a login ".repeat(unit / 3),
        "password is ".repeat(unit / 2),
        "password|token\n".repeat(unit / 2),
        "password|token|".repeat(unit / 2),
        "\u{1b}[32mpassword\u{1b}[0m=".repeat(unit / 4),
        "\npassword=a&".repeat(unit / 2),
        "\"sensitive\": true, ".repeat(unit / 4),
        "recovery codes: [".repeat(unit / 4),
        "kind: Secret\n  a: ".repeat(unit / 4),
        "cookie: a=".repeat(unit / 2),
        "?sig=".repeat(unit),
        "user=a;password=".repeat(unit / 2),
        "PASSPHRASE=\"a b ".repeat(unit / 2),
        "\"auth\":\"aaaaaaaaaaaa".repeat(unit / 4),
        "$6$a$".repeat(unit),
        "$scrypt$a".repeat(unit / 2),
        "AKIA0123456789ABCDEF ".repeat(unit / 5),
        "--password a ".repeat(unit / 2),
        "é@é.".repeat(unit),
        "x".repeat(unit * 5),
        "\"".repeat(unit * 5),
        (0..unit / 5).map(|n| format!("password=p{n}x{n} ")).collect(),
    ] {
        let redaction = redact(&[&text]);
        assert_eq!(redaction.originals.restore(&redaction.texts[0]), text);
    }
}

/// Texts made of what the patterns look for.
fn hostile() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "password",
        "token",
        "api_key",
        "--",
        "=",
        ": ",
        "\"",
        "\\\"",
        "://u:",
        "@x.org",
        "Authorization: Bearer ",
        "curl -u ada:",
        "Cookie: session=",
        "machine x login y password ",
        "password is ",
        "DB_PASS=",
        "ADMIN_PASS=\"nine owls",
        "host=x password=",
        "&sig=",
        "$6$salt$",
        "AKIA0123456789ABCDEF ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "<SECRET_1>",
        "EMAIL_2",
        "\n",
        "ghp_",
    ];
    let piece = prop_oneof![
        30 => prop::sample::select(PIECES).prop_map(str::to_owned),
        2 => prop::sample::select(vec![token("", 40), token("ghp_", 36)]),
        1 => "[a-z0-9]{1,12}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn restoring_gives_the_original(texts in prop::collection::vec(hostile(), 1..4)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let redaction = redact(&texts);
        for (redacted, text) in redaction.texts.iter().zip(&texts) {
            prop_assert_eq!(&redaction.originals.restore(redacted), text);
        }
    }

    #[test]
    fn redacting_again_changes_nothing(text in hostile()) {
        let redacted = once(&text);
        prop_assert_eq!(once(&redacted), redacted);
    }
}

#[test]
fn every_pattern_of_a_place_is_valid() {
    assert!(places::compiled_rules() > 100);
}
