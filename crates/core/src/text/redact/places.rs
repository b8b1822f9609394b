//! Secrets that are recognisable by their place: the command, file or sentence around them, base64
//! of credentials and private keys, signatures of URLs, the secret beside an access key of AWS.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Match, Regex};

use super::tokens::varied;
use super::values::{case_changes, is_filler, is_stand_in, is_strong};

/// Finds secrets that have neither a form nor a name of their own.
pub(super) fn placed(text: &str, spans: &mut Vec<Range<usize>>) {
    encoded(text, spans);
    signatures(text, spans);
    beside_access_keys(text, spans);
}

/// Base64 of a private key (kubeconfig, Kubernetes) or of a name and a password
/// (`auth` of Docker, `_auth` of npm). Certificates have the same names and stay.
fn encoded(text: &str, spans: &mut Vec<Range<usize>>) {
    static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"\b(?:client-key-data|_?auth)[\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\"']{0,4}([A-Za-z0-9+/]{12,}={0,2})"#,
            r"|\b(?:LS0tLS1CRUdJTi|eyJhdXRocyI6)[A-Za-z0-9+/]{24,}={0,2}",
        ))
        .expect("it is valid")
    });
    for hit in ENCODED.captures_iter(text) {
        let whole = hit.get(0).expect("the whole match");
        let value = hit.get(1).unwrap_or(whole);
        let plain = decoded(value.as_str());
        let pair = plain.split_once(':').is_some_and(|(name, password)| {
            let printable = plain.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            printable && !name.is_empty() && password.len() >= 3 && !is_filler(password)
        });
        let named = whole.as_str().starts_with("client") && is_mixed(value.as_str());
        let secret = if plain.starts_with("-----BEGIN ") {
            plain.contains("PRIVATE KEY")
        } else {
            pair || named || plain.starts_with("{\"auths\":")
        };
        if secret {
            spans.push(value.range());
        }
    }
}

/// The beginning of what base64 stands for.
fn decoded(text: &str) -> String {
    let mut plain = String::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in text.bytes().take(512) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.extend(char::from_u32(bits >> held & 0xff));
        }
    }
    plain
}

/// Signatures of URLs that give access (Azure, AWS, Google, CloudFront).
fn signatures(text: &str, spans: &mut Vec<Range<usize>>) {
    static SIGNED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:(?:[?&;]|\\u0026)(?:sig|signature|X-Amz-Security-Token|X-(?:Amz|Goog)-Signature)",
            r"|\bX-(?:Amz|Goog)-Signature|,\s?Signature)=([A-Za-z0-9%+/_~=-]{16,})",
        ))
        .expect("it is valid")
    });
    for hit in SIGNED.captures_iter(text) {
        spans.extend(hit.get(1).filter(is_made).map(|value| value.range()));
    }
}

/// The 40 characters of base64 that follow the identifier of an access key.
fn beside_access_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\bA[KS]IA[A-Z0-9]{16}\b(?:[^A-Za-z0-9+/][ -~\n\r]{0,64}?)?[^A-Za-z0-9+/]([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        )
        .expect("it is valid")
    });
    if text.contains("AKIA") || text.contains("ASIA") {
        let values = PAIR.captures_iter(text).filter_map(|hit| hit.get(1));
        let values = values.filter(|value| is_mixed(value.as_str()));
        spans.extend(values.filter(is_made).map(|value| value.range()));
    }
}

/// Whether it was computed: digits, and no example.
fn is_made(value: &Match<'_>) -> bool {
    let digits = value.as_str().bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 && varied(value.as_str()) && !is_filler(value.as_str())
}

/// Whether small letters, capitals and digits mix as in base64.
fn is_mixed(value: &str) -> bool {
    case_changes(value) >= 2 && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Finds secrets in places that hold one, in sentences and in cookies.
pub(super) fn command_secrets(text: &str, spans: &mut Vec<Range<usize>>) {
    static PLACES: LazyLock<Vec<(&SecretPlace, OnceLock<Regex>)>> =
        LazyLock::new(|| SECRET_PLACES.iter().map(|place| (place, OnceLock::new())).collect());
    for ((words, form, shape), compiled) in PLACES.iter() {
        // Most texts name none of them, and a pattern takes long to build.
        if !words.iter().any(|word| text.contains(word)) {
            continue;
        }
        let form = compiled.get_or_init(|| Regex::new(form).expect("it is valid"));
        let values = form.captures_iter(text).filter_map(|hit| hit.get(1));
        let values = values.filter(|value| stands_alone(text, &value.range()) && shape.fits(value));
        spans.extend(values.map(|value| value.range()));
    }
    recovery_codes(text, spans);
    sentences(text, spans);
    cookies(text, spans);
}

/// What a value in a place has to look like.
pub(super) enum ValueForm {
    /// Whatever stands there is the secret.
    Any,
    /// A password: letters with digits or signs.
    Chosen,
    /// Computed: digits, and no example.
    Made,
    /// Computed, in base64 or hexadecimal.
    Key,
    /// Chosen or computed.
    Secret,
    /// A number with which people open something.
    Pin,
}

impl ValueForm {
    fn fits(&self, value: &Match<'_>) -> bool {
        let text = value.as_str();
        match self {
            ValueForm::Any => true,
            ValueForm::Chosen => is_chosen(text) || is_strong(text),
            ValueForm::Made => is_made(value),
            ValueForm::Key => {
                let hex = text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_made(value) && (hex || is_mixed(text))
            }
            ValueForm::Secret => {
                is_chosen(text) || is_strong(text) || is_made(value) || is_mixed(text)
            }
            ValueForm::Pin => matches!(text.len(), 4..=10),
        }
    }
}

/// Words of which a text has one, the form of the place with the value as its group,
/// and the shape of the value.
pub(super) type SecretPlace = (&'static [&'static str], &'static str, ValueForm);

#[rustfmt::skip]
pub(super) const SECRET_PLACES: &[SecretPlace] = &[
    // Arguments of commands.
    (&[" -u", "--user"], r#"\bcurl\b[^\n|;&]{0,200}?\s(?:-u|--user)[ =]?["']?[^\s:"'/=$]{1,64}:([^\s"'`\\@|;&<>]{3,})"#, ValueForm::Any),
    (&[" -u", "--user"], r#"\bcurl\b[^\n|;&]{0,200}?\s(?:-u|--user)[ =]?["']?([A-Za-z0-9_-]{16,}):(?:["'\s]|$)"#, ValueForm::Made),
    (&[" -a ", "--auth"], r#"\bhttps?\b[^\n|;&]{0,200}?\s(?:-a|--auth)[ =]?["']?[^\s:"'/=$]{1,64}:([^\s"'`\\@|;&<>]{3,})"#, ValueForm::Any),
    (&["mysql", "mariadb"], r#"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b[^\n|;&]{0,200}?\s-p["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["sshpass"], r#"\bsshpass\s+-p\s*["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["login"], r#"\b(?:docker|podman|helm)\b[^\n|;&]{0,64}?\slogin\b[^\n|;&]{0,200}?\s-p[ =]?["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["redis-cli"], r#"\bredis-cli\b[^\n|;&]{0,200}?\s-a\s+["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["ldap"], r#"\bldap(?:search|modify|add|delete|passwd|whoami)\b[^\n|;&]{0,200}?\s-w\s*["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["chpasswd"], r#"\b(?:echo|printf)\s+["']?[A-Za-z0-9_.-]{1,64}:([^\s"'`\\|]{3,})["']?\s*\|\s*(?:sudo\s+)?chpasswd"#, ValueForm::Any),
    (&["smbclient", "rpcclient", "mount.cifs"], r#"\s(?:-U|-o)\s*["']?[^\s"'%]{1,64}%([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["/pass"], r#"\s/pass(?:word)?:["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["pass:"], r#"\s-pass(?:in|out)?\s+["']?pass:([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["wpa_passphrase"], r#"\bwpa_passphrase\s+\S{1,32}\s+["']([^"'\n]{8,63})["']"#, ValueForm::Any),
    (&["--from-literal", "--set", "--build-arg", "--env"], r#"--(?:from-literal|set(?:-string)?|build-arg|env)[ =]["']?[A-Za-z0-9_.-]{0,64}?(?i:password|passwd|pwd|pass)=["']?([^\s"'`\\,;&<>]{4,})"#, ValueForm::Any),
    (&["--from-literal", "--set", "--build-arg", "--env"], r#"--(?:from-literal|set(?:-string)?|build-arg|env)[ =]["']?[A-Za-z0-9_.-]{0,64}?(?i:secret|token|key)=["']?([^\s"'`\\,;&<>]{12,})"#, ValueForm::Made),
    (&["sqlplus"], r#"\bsqlplus\s+(?:-[a-z-]+\s+)*[A-Za-z0-9_$]{1,64}/["']?([^\s"'@]{3,})@"#, ValueForm::Any),
    (&["-pw "], r#"\b(?:plink|pscp|psftp|putty)\b[^\n|;&]{0,200}?\s-pw\s+["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&[" -P"], r#"\b(?:un)?zip\b[^\n|;&]{0,200}?\s-P\s*["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["7z"], r#"\b7z[ar]?\b[^\n|;&]{0,200}?\s-p["']?([^\s"'`\\|;&<>]{3,})"#, ValueForm::Any),
    (&["mongo", "az login", "influx"], r#"\b(?:mongo|mongosh|mongodump|mongorestore|mongoimport|az|influx)\b[^\n|;&]{0,200}?\s-p[ =]?["']?([^\s"'`\\|;&<>]{6,})"#, ValueForm::Chosen),
    (&["sudo -S", "--password-stdin", "--with-token"], r#"\b(?:echo|printf)\s+(?:-n\s+)?["']?([^\s"'`\\|;&<>]{4,})["']?\s*\|\s*(?:sudo\s+-S|[a-z]+\s[^\n|;&]{0,120}--(?:password-stdin|with-token))"#, ValueForm::Any),
    (&["config set", "configure set"], r#"\bconfig(?:ure)?\s+set\s+[^\s]{0,120}?(?i:key|token|secret|password)["']?[ =]["']?([^\s"'`\\|;&<>]{8,})"#, ValueForm::Secret),
    (&["net user"], r#"\bnet\s+user\s+["']?[A-Za-z0-9_.-]{1,64}["']?\s+["']?([^\s"'/*]{4,})["']?\s+/"#, ValueForm::Any),
    (&["SecureString"], r#"(?i)\bConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\n$]{4,128})["']"#, ValueForm::Any),
    (&["add-mask"], r#"::add-mask::([^\s"'`]{6,})"#, ValueForm::Any),
    (&["vault "], r#"\bvault\s+(?:login|operator\s+unseal)\s+([A-Za-z0-9._+/=-]{16,})"#, ValueForm::Made),
    // Files and connection strings: netrc (curl, ftp), pgpass, Oracle, ODBC, Rails.
    (&["login"], r#"\b(?:machine(?:\s|\\n){1,4}(?:localhost|[A-Za-z0-9-]+\.[A-Za-z0-9.-]+)|default)(?:\s|\\n){1,8}login(?:\s|\\n){1,4}[^\s\\]{1,128}(?:\s|\\n){1,8}password(?:\s|\\n){1,4}([^\s\\"'`<>]{3,})"#, ValueForm::Any),
    (&[":5432:", ":*:", ":5433:", ":6432:"], r"(?m)(?:^|\\n)[A-Za-z0-9_.*-]+:(?:[0-9]{2,5}|\*):[A-Za-z0-9_*-]+:[A-Za-z0-9_*.-]+:([^\s\\]{4,})", ValueForm::Any),
    (&["jdbc:oracle"], r#"\bjdbc:oracle:[a-z0-9]+:[A-Za-z0-9_$]{1,64}/([^\s/"'@]{3,})@"#, ValueForm::Any),
    (&["={"], r"(?i)\b(?:pwd|password)=\{((?:[^{}\n]|\}\}){3,128})\}", ValueForm::Any),
    (&["master.key", "production.key"], r"(?:master|production)\.key\b[^\n]{0,16}\n\s{0,8}([0-9a-f]{32})\b", ValueForm::Made),
    (&["Private-Lines"], r#"Private-Lines: [0-9]{1,3}(?:\n|\\n)((?:[A-Za-z0-9+/=]{16,80}(?:\n|\\n)?){1,64})"#, ValueForm::Any),
    (&["otpauth://"], r#"\botpauth://[^\s"'?]{1,256}\?[^\s"']{0,256}?secret=([A-Z2-7]{16,128})"#, ValueForm::Any),
    (&["assword>", "asswd>", "assphrase>", "ecret>", "oken>", "ey>"], r#"(?i)<(?:[a-z0-9_.:-]{0,48}(?:password|passwd|passphrase|secret|token|api-?key|private-?key))>\s{0,8}([^<\s]{4,512})\s{0,8}</"#, ValueForm::Secret),
    (&["value=\"", "value='"], r#"(?i)\b(?:key|name)=\\?["'][a-z0-9_.:-]{0,64}(?:password|passwd|secret|token|api-?key|access-?key)\\?["']\s{1,8}value=\\?["']([^"'\s<>\\]{4,512})"#, ValueForm::Secret),
    // Hashes of passwords: MySQL, Windows.
    (&["*"], r"\*([0-9A-F]{40})(?:[^0-9A-Za-z]|$)", ValueForm::Made),
    (&[":::"], r"\b([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::", ValueForm::Made),
    // SQL.
    (&["IDENTIFIED", "identified"], r#"(?i)\bidentified\s+by\s+(?:password\s+)?["']([^"'\n]{4,128})["']"#, ValueForm::Any),
    (&["assword '", "ASSWORD '", "ASSWORD =", "ASSWORD="], r#"(?i)\b(?:role|user|login)\s[^\n;'"]{0,80}?\bpassword\s+(?:=\s*)?'([^'\n]{4,128})'"#, ValueForm::Any),
    // Code: calls with a name and a password, constants, defaults of variables.
    (&["ogin(", "Auth(", "Credential(", "auth("], r#"\b(?:login|Login|[A-Za-z]{0,16}Auth|auth|[A-Za-z]{0,16}Credential)\(\s*\\?["'][^"'\\\n]{1,64}\\?["']\s*,\s*\\?["']([^"'\\\n]{4,128})\\?["']"#, ValueForm::Chosen),
    (&["define(", "etenv(", "utenv("], r#"\b(?:define|[sS]etenv|putenv)\(\s*["'][A-Za-z0-9_]{0,48}(?i:password|passwd|secret|token|key|salt)["']\s*,\s*["']([^"'\n]{8,256})["']"#, ValueForm::Secret),
    (&["||", "??", "getenv", "environ", "or \"", "or '"], r#"(?i)(?:secret|token|password|passwd|api_?key)[A-Za-z0-9_]{0,16}["'\])]{0,3}\s{0,2}(?:\|\||\?\?|\bor\b|,)\s{0,2}["']([^"'\s]{8,256})["']"#, ValueForm::Secret),
    (&["assword(", "asswd(", "ecret(", "oken(", "ey("], r#"(?i)[a-z_](?:password|passwd|secret|token|api_?key)\(\s?\\?["']([^"'\s\\]{8,256})\\?["']\s?\)"#, ValueForm::Secret),
    // Settings whose name and value stand apart.
    (&["value"], r#"(?i)\bname[\\"']{0,3}\s{0,3}[:=]\s{0,3}[\\"']{0,3}[A-Za-z0-9_.-]{0,64}(?:password|passwd|secret|token|api_?key|access_?key|private_?key)[A-Za-z0-9_-]{0,16}[\\"']{0,3},?\s{1,40}[\\"']{0,3}value[\\"']{0,3}\s{0,3}[:=]\s{0,3}[\\"']{0,3}([^\s\\"'`<>{}]{6,512})"#, ValueForm::Secret),
    (&["name\":", "name\\\":"], r#"(?i)\bname\\{0,3}":\s?\\{0,3}"[A-Za-z0-9_.-]{0,64}(?:password|passwd|secret|token|api_?key|access_?key|private_?key)[A-Za-z0-9_-]{0,16}\\{0,3}",\s?\\{0,3}"value\\{0,3}":\s?\\{0,3}"([^\s\\"'`<>{}]{6,512})"#, ValueForm::Secret),
    (&["variable \""], r#"variable\s+"[A-Za-z0-9_-]{0,64}(?:password|secret|token|key)[A-Za-z0-9_-]{0,16}"\s*\{[^}]{0,240}?\bdefault\s*=\s*"([^"\n]{4,256})""#, ValueForm::Secret),
    // Headers and queries.
    (&["x-", "X-"], r#"(?i)\bx-[a-z-]{0,24}(?:key|token|secret|auth)[a-z-]{0,8}["']?\s?[:=]\s?["']?([A-Za-z0-9+/=_.~-]{16,512})"#, ValueForm::Made),
    (&["key=", "code="], r"[?&](?:key|code)=([A-Za-z0-9%+/_~.=-]{20,512})", ValueForm::Key),
    // Prompts and requests.
    (&["assword for", "assphrase for", "asscode for", "pin for", "PIN for"], r#"(?i)\b(?:password|passphrase|passcode|pin)\s+for\s+[^\n:]{1,64}:\s{1,3}["']?([^\s"']{4,128})"#, ValueForm::Chosen),
    (&["assword "], r#"(?i)\b(?:with|using)\s+(?:the\s+)?password\s+["'`]?([^\s"'`,;]{6,128})"#, ValueForm::Chosen),
    (&["code is", "code was", "code: ", "pin is", "pin: ", "PIN is", "PIN: ", "PIN ", "OTP"], r#"(?i)\b(?:pin|passcode|(?:one-time|verification|security|access|door|safe|login|2fa|otp|mfa)[ -](?:code|password|pin)|otp)\s*(?:(?:is|was|:|=)\s*){1,2}["'`]?([0-9]{4,10})\b"#, ValueForm::Pin),
    (&["as the password", "as password", "is the password", "is my password"], r#"(?i)["'`]?([^\s"'`]{6,128})["'`]?\s+(?:as|is)\s+(?:(?:the|my|our|your)\s+)?(?:[a-z]+\s+)?password\b"#, ValueForm::Secret),
    (&["assword to ", "assphrase to "], r#"(?i)\b(?:password|passphrase)\s+to\s+["'`]?([^\s"'`]{6,128})"#, ValueForm::Secret),
];

/// Codes that let in once, in the lines below their name.
fn recovery_codes(text: &str, spans: &mut Vec<Range<usize>>) {
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:recovery|backup)\s+codes?\b[^\n]{0,80}\n((?:[\s0-9.)*-]{0,6}[a-z0-9]{4,10}(?:[ -][a-z0-9]{4,10}){0,3}[ \t]*(?:\n|$)){1,20})")
            .expect("it is valid")
    });
    static CODE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){0,3}").expect("it is valid")
    });
    if !text.contains("codes") {
        return;
    }
    for list in LIST.captures_iter(text).filter_map(|hit| hit.get(1)) {
        let digits = |code: &Match<'_>| code.as_str().bytes().any(|byte| byte.is_ascii_digit());
        let codes = CODE.find_iter(list.as_str()).filter(digits);
        spans.extend(codes.map(|code| list.start() + code.start()..list.start() + code.end()));
    }
}

/// Passwords in prose: "the password is hunter2". A plain word without quotes
/// describes the password rather than being it.
fn sentences(text: &str, spans: &mut Vec<Range<usize>>) {
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:password|passwd|passphrase|passcode|passwort|mot de passe|contrase[ñn]a|senha)",
            r"(?:\s+(?:for|of|to)(?:\s+[\w.'-]{1,24}){1,4})?\s+",
            r#"(?:is|was|ist|lautet|est|es|é)(?:\s+now)?:?\s+(["'`“„«]?)([^\s"'`“”„«»<>()\[\]{},;\\]{4,128})(["'`“”»]?)"#,
        ))
        .expect("it is valid")
    });
    for hit in SAID.captures_iter(text) {
        let value = hit.get(2).expect("the group is not optional");
        let bare = value.as_str().trim_end_matches(['.', ':', '!', '?', '*']);
        let quoted = !hit[1].is_empty() && !hit[3].is_empty();
        let chosen = if quoted { is_chosen_in_quotes(bare) } else { is_chosen(bare) };
        let chosen = chosen || is_strong(bare);
        let range = value.start()..value.start() + bare.len();
        if chosen && stands_alone(text, &range) {
            spans.push(range);
        }
    }
}

/// Whether a value is real: neither a placeholder for a missing one nor the
/// beginning of a placeholder.
fn stands_alone(text: &str, value: &Range<usize>) -> bool {
    let rest = &text[value.end..];
    !is_stand_in(&text[value.clone()]) && (!rest.starts_with('<') || rest.starts_with("</"))
}

/// Whether it looks chosen rather than written as a word: letters with digits
/// or signs, and neither a number with a unit nor a compound.
fn is_chosen(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let signs = word.bytes().any(|byte| b"!@#$%^&*+=~?".contains(&byte));
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let compound = word.contains(['-', '/', '.', ':', '_']) && !signs;
    letters >= 2 && begins && !compound && word.len() >= 6 && (digits > 0 || signs)
        || letters == 0 && digits == word.len() && digits >= 6
}

/// The same in quotes, where it may also be a plain word.
fn is_chosen_in_quotes(word: &str) -> bool {
    let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_chosen(word) || word.len() >= 8 && (!letters || case_changes(word) == 0 && !is_capital(word))
}

fn is_capital(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Names of cookies that identify a session.
const SESSIONS: [&str; 10] =
    ["sess", "sid", "auth", "identity", "token", "jwt", "csrf", "xsrf", "login", "remember"];

/// Most characters of a header that are read at once. The pattern does not say
/// it: with 4096 copies of a class it would take a tenth of a second to build.
const LONGEST_HEADER: usize = 4096;

/// Cookies of sessions (RFC 6265 §4): in the headers `Cookie` and `Set-Cookie`,
/// also as an argument or a value of JSON.
fn cookies(text: &str, spans: &mut Vec<Range<usize>>) {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:\bset-)?\bcookie[\\"'`]{0,3}(?:\s?[:=]\s?|,\s?|\s)[\\"'`]{0,3}([^\n"'`\\]{4,})"#)
            .expect("it is valid")
    });
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"([A-Za-z0-9!#$%&*+.^_|~-]{1,64})=([^\s;,=<>(){}]{6,})").expect("it is valid")
    });
    let mut from = 0;
    while let Some(header) = HEADER.captures_at(text, from) {
        let value = header.get(1).expect("the group is not optional");
        let ends = value.as_str().char_indices().nth(LONGEST_HEADER).map(|(at, _)| at);
        let all = value.start()..value.start() + ends.unwrap_or(value.len());
        from = all.end;
        for pair in PAIR.captures_iter(&text[all.clone()]) {
            let (name, value) = (pair[1].to_ascii_lowercase(), pair.get(2).expect("as above"));
            let known = SESSIONS.iter().any(|part| name.contains(part))
                || value.len() >= 20 && is_made(&value);
            let value_is = value.as_str();
            let made =
                value_is.bytes().any(|byte| byte.is_ascii_digit()) || case_changes(value_is) > 1;
            let range = all.start + value.start()..all.start + value.end();
            if known && made && stands_alone(text, &range) {
                spans.push(range);
            }
        }
    }
}
