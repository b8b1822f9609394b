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

fn taken(text: &str, value: &str) {
    let redacted = once(text);
    assert!(!redacted.contains(value), "{value} is left in: {redacted}");
    assert!(redacted.contains("<SECRET_1>"), "{redacted}");
    assert_eq!(redact(&[text]).originals.values.len(), 1, "{redacted}");
}

#[test]
fn tokens_are_found_by_their_issuers_prefixes() {
    for (prefix, length) in [
        ("ghp_", 36),
        ("ghs_", 36),
        ("github_pat_", 82),
        ("glpat-", 20),
        ("xoxb-", 40),
        ("xapp-1-", 40),
        ("sk_live_", 24),
        ("rk_test_", 24),
        ("whsec_", 32),
        ("sk-ant-api03-", 95),
        ("sk-proj-", 156),
        ("sk-", 48),
        ("AIza", 35),
        ("ya29.", 60),
        ("GOCSPX-", 28),
        ("npm_", 36),
        ("pypi-", 160),
        ("hf_", 34),
        ("gsk_", 52),
        ("xai-", 80),
        ("r8_", 37),
        ("lin_api_", 40),
        ("hooks.slack.com/services/", 44),
        ("discord.com/api/webhooks/123456789012345678/", 68),
        ("dp.pt.", 43),
        ("dp.st.prd.", 43),
        ("ntn_", 46),
        ("figd_", 40),
        ("ATATT3xFf", 180),
        ("sq0atp-", 22),
        ("hvs.", 90),
        ("dckr_pat_", 27),
        ("glsa_", 41),
        ("pscale_pw_", 40),
        ("nfp_", 40),
        ("pplx-", 48),
        ("tvly-dev-", 32),
        ("1//0", 60),
    ] {
        let token = token(prefix, length);
        for text in [token.clone(), format!("It is {token}."), format!("x=\"{token}\"")] {
            taken(&text, &token);
        }
    }
    let hex = "0123456789abcdef".repeat(4);
    for token in [
        ["AKIA", "IOSFODNN7EXAMPLE"].concat(),
        format!("sk-or-v1-{hex}"),
        format!("dop_v1_{hex}"),
        format!("123456789:AA{}", token("", 33)),
        format!("M{}.{}.{}", token("", 25), token("", 6), token("", 38)),
        format!("pul-{}", &hex[..40]),
        format!("shpat_{}", &hex[..32]),
        format!("rubygems_{}", &hex[..48]),
        format!("key-{}", &hex[..32]),
        format!("{}-us12", &hex[..32]),
        format!("pat{}.{hex}", token("", 14)),
        format!("{}.atlasv1.{}", token("", 14), token("", 67)),
        format!("SG.{}.{}", token("", 22), token("", 43)),
        format!("eyJ{}.eyJ{}.{}", token("", 17), token("", 30), token("", 43)),
    ] {
        taken(&format!("({token})"), &token);
    }
}

#[test]
fn what_only_looks_like_a_token_is_left() {
    for text in [
        // Hashes, identifiers, paths.
        "commit 0123456789abcdef0123456789abcdef01234567",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "integrity sha512-Jw7gCBs1AZ0bHGgVvJHQG3dDPXNMTsFkzFQyuRiWy5rVZAPeC0ckFJVWIxjkj1bm0g==",
        "/home/someone/project/src/token/secret.rs:12",
        "toolu_01A2b3C4d5E6f7G8h9J0k1L2",
        // Prefixes without the rest, or within something longer.
        "task-4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a",
        "ghp_",
        "the ghp_ and sk- prefixes",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xoxb-your-slack-token",
        "12345678:AArdvark",
        "Notes.on-this.and-that-and-some-more-of-it-all",
        "hf_hub_download(repo_id)",
        "npm_config_registry",
    ] {
        assert_eq!(once(text), text);
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
fn credentials_of_headers_and_urls_are_found() {
    for (text, redacted) in [
        ("Authorization: Bearer a1b2c3d4e5", "Authorization: Bearer <SECRET_1>"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==", "authorization: basic <SECRET_1>"),
        (r#""Authorization": "Bearer abc.def-123""#, r#""Authorization": "Bearer <SECRET_1>""#),
        (
            r#"{\"authorization\": \"token a1b2c3d4e5f6\"}"#,
            r#"{\"authorization\": \"token <SECRET_1>\"}"#,
        ),
        ("bearer a1b2c3d4e5f6a1b2c3d4e5f6", "bearer <SECRET_1>"),
        ("postgres://app:s3cr3t@db:5432/x", "postgres://app:<SECRET_1>@db:5432/x"),
        ("redis://:hunter2@localhost", "redis://:<SECRET_1>@localhost"),
        (
            "https://oauth2:abcdef@git.example.com/x.git",
            "https://oauth2:<SECRET_1>@git.example.com/x.git",
        ),
    ] {
        assert_eq!(once(text), redacted);
    }
    for text in [
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <your token>",
        "`Authorization: Bearer ${token}`",
        "the bearer authenticationschemewithnodigits",
        "https://host:8080/path@v1",
        "postgres://${USER}:${PASSWORD}@db",
        "f\"postgres://{user}:{password}@{host}\"",
        "git@github.com:owner/repository.git",
        "ssh://git@github.com/owner/repository.git",
    ] {
        assert_eq!(once(text), text);
    }
}

#[test]
fn values_assigned_to_secret_names_are_found() {
    for (text, redacted) in [
        ("password=hunter2", "password=<SECRET_1>"),
        ("DB_PASSWORD=corr3ct-horse", "DB_PASSWORD=<SECRET_1>"),
        ("export API_KEY='a1b2c3d4e5f6'", "export API_KEY='<SECRET_1>'"),
        (r#"{"password": "swordfish", "n": 1}"#, r#"{"password": "<SECRET_1>", "n": 1}"#),
        (r#"{\"apiKey\":\"a1b2c3d4e5f6\"}"#, r#"{\"apiKey\":\"<SECRET_1>\"}"#),
        ("client_secret: 'Zx8~Q1w2e3r4'", "client_secret: '<SECRET_1>'"),
        ("  password: hunter2\n", "  password: <SECRET_1>\n"),
        ("https://x.org/?token=a1b2c3d4e5&n=1", "https://x.org/?token=<SECRET_1>&n=1"),
        (
            "curl 'https://x.org/?n=1&token=kjfch2345sdf'",
            "curl 'https://x.org/?n=1&token=<SECRET_1>'",
        ),
        ("tool --api-key a1b2c3d4e5 run", "tool --api-key <SECRET_1> run"),
        ("login --password hunter2", "login --password <SECRET_1>"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = <SECRET_1>",
        ),
        ("if password == \"s3cr3t!\":", "if password == \"<SECRET_1>\":"),
    ] {
        assert_eq!(once(text), redacted);
    }
}

#[test]
fn passwords_of_commands_files_and_sentences_are_found() {
    for (text, redacted) in [
        ("DB_PASS=hunter2", "DB_PASS=<SECRET_1>"),
        ("SMTP_PASS=swordfish", "SMTP_PASS=<SECRET_1>"),
        ("POSTGRES_PASSWORD=swordfish\n", "POSTGRES_PASSWORD=<SECRET_1>\n"),
        ("db_pass: hunter2", "db_pass: <SECRET_1>"),
        ("curl -u ada:hunter2 https://x.org", "curl -u ada:<SECRET_1> https://x.org"),
        (
            "curl -s --user 'ada:swordfish' https://x.org",
            "curl -s --user 'ada:<SECRET_1>' https://x.org",
        ),
        ("http -a ada:hunter2 GET x.org", "http -a ada:<SECRET_1> GET x.org"),
        ("mysql -h db -u root -pSwordfish1 shop", "mysql -h db -u root -p<SECRET_1> shop"),
        ("mysqldump -uroot -p'swordfish' shop", "mysqldump -uroot -p'<SECRET_1>' shop"),
        ("sshpass -p swordfish ssh ada@host", "sshpass -p <SECRET_1> ssh ada@host"),
        ("redis-cli -h host -a swordfish ping", "redis-cli -h host -a <SECRET_1> ping"),
        (
            "machine api.x.org login ada password swordfish",
            "machine api.x.org login ada password <SECRET_1>",
        ),
        (
            "machine x.org\n  login ada\n  password hunter2\n",
            "machine x.org\n  login ada\n  password <SECRET_1>\n",
        ),
        ("The password is hunter2.", "The password is <SECRET_1>."),
        ("password is: \"swordfish\"", "password is: \"<SECRET_1>\""),
        ("his passcode was 482913, he said", "his passcode was <SECRET_1>, he said"),
        ("Cookie: theme=dark; session=a1b2c3d4e5", "Cookie: theme=dark; session=<SECRET_1>"),
        (
            "Set-Cookie: connect.sid=s%3Aj3kd93kd; Path=/; HttpOnly",
            "Set-Cookie: connect.sid=<SECRET_1>; Path=/; HttpOnly",
        ),
        (r#"{"cookie": "sessionid=38afes7a8"}"#, r#"{"cookie": "sessionid=<SECRET_1>"}"#),
        (
            "curl --cookie 'auth_token=9f8e7d6c' x.org",
            "curl --cookie 'auth_token=<SECRET_1>' x.org",
        ),
    ] {
        assert_eq!(once(text), redacted);
    }
    for text in [
        "first_pass = 12345678, by_pass=true",
        "PASS=1 FAIL=2, TEST_PASS=true",
        "curl -u $USER:$PASS https://x.org",
        "curl -u user:password https://x.org",
        "curl https://x.org:8080/a -o out",
        "mysql -h db -P 3306 -p shop",
        "mysql -u root -p$MYSQL_PWD shop",
        "mkdir -pv a/b",
        "machine learning login form, password field",
        "The password is required and was stored as sha256-hashed text.",
        "password is 8-character, password is null, the password is `undefined`",
        "the password is in vault/db/prod1",
        "Set-Cookie: theme=dark; Path=/; Max-Age=31536000",
        "document.cookie = `session=${id}`",
        "a cookie with 24 biscuits",
    ] {
        assert_eq!(once(text), text);
    }
}

#[test]
fn secrets_told_by_name_or_place_are_found() {
    let (short, key, hex) = (token("", 14), token("", 60), "0123456789abcdef".repeat(4));
    let (short, key, hex) = (short.as_str(), key.as_str(), hex.as_str());
    let private = ["LS0tLS1CRUdJTiBFQyBQUklW", "QVRFIEtFWS0tLS0tCk", key].concat();
    for (template, value) in [
        // Registries, clusters, frameworks, clouds.
        (r#"{"r.example": {"auth": "@"}}"#, "a2ltOmJsdWUtaGVyb24tNDI="),
        (r#"{\"auth\":\"@\"}"#, "a2ltOmJsdWUtaGVyb24tNDI="),
        ("//r.example/:_auth=@", "a2ltOmJsdWUtaGVyb24tNDI="),
        (".dockerconfigjson: @", "eyJhdXRocyI6eyJyLmV4YW1wbGUiOnsiYXV0aCI6IngxIn19fQ=="),
        ("client-key-data: @\n", &private),
        ("client-certificate-data: \"@\"", &private),
        ("secret_key_base: @", hex),
        ("SECRET_KEY_BASE='@'", hex),
        (r#"\"private_key_id\": \"@\""#, &hex[..40]),
        ("AKIA0123456789ABCDEF @", &key[..40]),
        ("[\"ASIA0123456789ABCDEF\", '@']", &key[..40]),
        ("AccountName=x;AccountKey=@==;EndpointSuffix=y", key),
        // Passwords with spaces.
        ("ADMIN_PASS=\"@\"", "nine purple owls"),
        ("PASSPHRASE='@'", "Nine purple owls"),
        (r#"{\"passphrase\": \"@\"}"#, "nine owls, at dawn"),
        ("login --password \"@\" x", "nine owls 4"),
        // Connection strings and queries.
        ("jdbc:mysql://db/x?user=app&password=@", "plumTart"),
        ("jdbc:sqlserver://db;user=sa;password=@;encrypt=true", "Plum_42"),
        ("Server=db;User Id=sa;Pwd=@", "dragonfly"),
        ("host=db user=app password=@ dbname=x", "blueberry"),
        ("PGPASSWORD=@ psql -h db", "tangerine"),
        (r"https://x.org/?user=kim\u0026password=@", "watermelon"),
        // Signatures of URLs.
        ("https://x.org/f?sp=r&sig=@%3D", short),
        ("https://x.org/f?X-Amz-Date=1&X-Amz-Signature=@", hex),
        ("https://x.org/f?Expires=1&amp;Signature=@&x=1", key),
        (r"X-Goog-Date=1\u0026X-Goog-Signature=@", hex),
        ("AWS4-HMAC-SHA256 SignedHeaders=host, Signature=@", hex),
        // Hashes of passwords.
        ("kim:$2b$12$@", &key[..53]),
        ("$$2y$$05$$@", &key[..53]),
        ("root:$6$rounds=5000$salt1$@:19000:0", key),
        ("kim:$apr1$salt1$@", &key[..22]),
        ("'$y$j9T$salt1$@'", &key[..43]),
        ("$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$@", key),
        ("userPassword: {SSHA}@", key),
        ("pbkdf2_sha256$26000$salt1$@=", key),
        ("scrypt:32768:8:1$salt1$@", hex),
        // Webhooks.
        ("https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/@", &key[..24]),
        ("https://discord.com/api/v10/webhooks/123456789012345678/@", key),
        ("https://x.webhook.office.com/webhookb2/1b2c3d4e-1b2c-1b2c-1b2c/IncomingWebhook/@/y", hex),
        // Arguments of commands.
        ("tool --password @ --verbose", "marigold"),
        ("tool --pass @ --verbose", "marigold"),
        ("keytool -storepass @", "marigold"),
        ("curl https://x.org -u @: -d a=1", &key[..24]),
        ("ldapsearch -x -D cn=a -w @ uid=kim", "marigold"),
        ("echo 'kim:@' | sudo chpasswd", "marigold"),
        ("smbclient //nas/x -U 'kim%@' -c ls", "marigold"),
        ("cmdkey /add:nas /user:kim /pass:@", "marigold"),
        ("openssl rsa -in a -passin pass:@", "marigold"),
        ("wpa_passphrase home \"@\"", "nine purple owls"),
        ("kubectl create secret generic x --from-literal=password=@", "marigold"),
        ("plink -pw @ host", "marigold"),
        ("unzip -P @ a.zip", "marigold"),
        ("mongosh -u kim -p @ shop", "gra7nite"),
        ("echo @ | docker login --password-stdin", "marigold"),
        ("aws configure set aws_secret_access_key @", &key[..40]),
        ("net user kim @ /add", "marigold"),
        ("ConvertTo-SecureString '@' -AsPlainText", "marigold"),
        ("echo ::add-mask::@", "marigold"),
        ("vault login @", hex),
        ("sqlplus hr/@@//db/x", "marigold"),
        // Files and connection strings.
        ("db.int:5432:shop:app:@\n", "marigold"),
        ("jdbc:oracle:thin:hr/@@//db/x", "marigold"),
        ("Driver={X};Uid=kim;Pwd={@}", "a;b}}Plum"),
        ("$ cat config/master.key\n@\n", &hex[..32]),
        ("Private-Lines: 1\n@\n", &key[..40]),
        ("otpauth://totp/x:kim?secret=@&issuer=x", "JBSWY3DPEHPK3PXP"),
        ("<dbPassword>@</dbPassword>", "Mari-gold7"),
        ("<add key=\"SmtpPassword\" value=\"@\" />", "Mari-gold7"),
        ("secret_key = \'\'\'@\'\'\'", key),
        ("Recovery codes (each works once):\n@\n", "fa501-1b9b6"),
        // SQL and code.
        ("ALTER USER hr IDENTIFIED BY \"@\" ACCOUNT UNLOCK", "marigold"),
        ("CREATE ROLE app LOGIN PASSWORD '@'", "marigold"),
        ("s.login('kim', '@')", "Mari$gold2"),
        ("define('DB_PASSWORD', '@')", "marigold77"),
        ("const S = process.env.SECRET || \"@\"", key),
        ("let token: &str = \"@\";", key),
        ("client.setPassword(\"@\")", "marigold77"),
        (r#"[{"name":"SIGNING_SECRET","value":"@"}]"#, short),
        ("- name: DB_PASSWORD\n  value: \"@\"", "marigold77"),
        ("variable \"admin_password\" {\n  default = \"@\"\n}", "Mari$gold2"),
        ("db['password'] = '@'", "mari-gold-7"),
        // Headers, queries, prompts, sentences.
        ("http POST x.org 'x-functions-key:@'", key),
        ("https://x.org/api?code=@==", key),
        ("postgres://app:@@10.0.0.1/x", "Mari@gold1"),
        ("Enter passphrase for key 'id': @", "Mari+gold"),
        ("log in with password @ and look", "Mari-gold7"),
        ("the password for the lab is \"@\"", "Mari.gold.4"),
        ("I changed the password to @", "Mari-gold7"),
        ("use @ as the password", "Mari-gold7"),
        ("my pin is @", "4711"),
        ("your one-time code is @.", "604417"),
        ("password: @", "Mari_gold31"),
        ("host=db user=app password=@ dbname=x", "Oriole.Jute5"),
        ("connect(host, password=\"@\", timeout=10)", "Vetiver.Cog18"),
        ("ansible_become_pass: @", "hafer4flocken"),
        ("contraseña: @", "Mari_gold31"),
        ("Le mot de passe est «@»", "Mari-gold6"),
        ("| root | localhost | *@ |", "AB38B274409495DB7C0D870C765E6BEC9B637F15"),
        ("SCRAM-SHA-256$4096:c2FsdHNhbHQ=$@=:@=", &key[..43]),
        ("kim:1001:@:::", "aad3b435b51404eeaad3b435b51404ee:31d6cfe0d16ae931b73c59d7e0c089c0"),
        ("tool --password=@ run", "marigold"),
        ("`tool --password @`", "marigold"),
        ("docker login -u kim -p @ r.example", "marigold"),
        ("tool --db-password @ run", "mango_42"),
        ("mysql -u root -p'@' shop", "begonia"),
        ("tool --token @ --env x", short),
        ("tool --secret '@'", short),
        ("args: [\"--api-key\", \"@\"]", short),
        (r#"[\"--password\", \"@\"]"#, "narcissus"),
    ] {
        let text = if template.contains("@@") {
            template.replacen('@', value, 1)
        } else {
            template.replace('@', value)
        };
        let redacted = once(&text);
        assert!(redacted.contains("<SECRET_1>") && !redacted.contains(value), "{redacted}");
        assert_eq!(once(&redacted), redacted);
    }
}

#[test]
fn secrets_in_colours_tables_and_other_languages_are_found() {
    for (text, redacted) in [
        // Codes of colours before, inside and after what they colour; also written as escapes.
        (
            "\u{1b}[32mDB_\u{1b}[1mPASSWORD\u{1b}[0m=\u{1b}[33mteal-Rook-51\u{1b}[0m",
            "\u{1b}[32mDB_\u{1b}[1mPASSWORD\u{1b}[0m=\u{1b}[33m<SECRET_1>\u{1b}[0m",
        ),
        (r"password=\x1b[31mTeal7Rook\x1b[0m for", r"password=\x1b[31m<SECRET_1>\x1b[0m for"),
        // Columns: of psql, Markdown, CSV, a fixed width; a column a line.
        (
            " id | password\n----+------\n 1 | teal!Rook\n(1 row)",
            " id | password\n----+------\n 1 | <SECRET_1>\n(1 row)",
        ),
        (
            "| a | api_key |\n|---|---|\n| x | 02e1fb2c1893496b |",
            "| a | api_key |\n|---|---|\n| x | <SECRET_1> |",
        ),
        ("id,password,role\n4,\"Teal,Rook8\",admin", "id,password,role\n4,\"<SECRET_1>\",admin"),
        (
            "name  token\n----  ----------------\na     sTVUhFYwAEmRPtt8",
            "name  token\n----  ----------------\na     <SECRET_1>",
        ),
        ("id    | 9\ntoken | L4G4iV9AoOCrXWBov2\nb | t", "id    | 9\ntoken | <SECRET_1>\nb | t"),
        // Names of few letters, and in other languages.
        ("export PIN=739205\n", "export PIN=<SECRET_1>\n"),
        ("PASS=\"Rook_Teal88\"", "PASS=\"<SECRET_1>\""),
        ("COOKIE=1r0xrohan1qlxa7j2s2t", "COOKIE=<SECRET_1>"),
        ("contrasena: Sol&Luna.2031", "contrasena: <SECRET_1>"),
        ("MDP_BASE=chouette!Rouge4", "MDP_BASE=<SECRET_1>"),
        (
            "Das Passwort für den Router lautet Kirschkern44.",
            "Das Passwort für den Router lautet <SECRET_1>.",
        ),
        ("数据库的密码是 Yunhe2047#,用户名 root", "数据库的密码是 <SECRET_1>,用户名 root"),
        // A line of settings may have any sign in a password.
        ("db_password: Rook&Teal;9x\n", "db_password: <SECRET_1>\n"),
        // What tools mark as sensitive.
        (
            r#""sensitive": true, "type": "string", "value": "plover""#,
            r#""sensitive": true, "type": "string", "value": "<SECRET_1>""#,
        ),
        (
            "https://api.telegram.org/bot3049314897:AA5572Fbykwr_H7c9RsIpc_yIOND3/getMe",
            "https://api.telegram.org/bot3049314897:<SECRET_1>/getMe",
        ),
    ] {
        assert_eq!(once(text), redacted);
    }
    for text in [
        "| field | tokens |\n|---|---|\n| prompt | 18234567 |",
        "name,password_hash_rounds\nada,12345678",
        "id | token\n---+---\n 1 | access_token",
        "low-pass, band-pass: 300-3400 Hz, PASS: 12 tests, PIN = 4",
        "AUTH=none COOKIE=true SALT=${SALT} PASSWORD=%DB_PASSWORD%",
        "postgres://USER:PASSWORD@HOST/db, amqp://user:pass@localhost/",
        "Das Passwort muss acht Zeichen haben. Kennwort: Pflichtfeld",
        "\u{1b}[32mpassword\u{1b}[0m: required",
    ] {
        assert_eq!(once(text), text);
    }
}

#[test]
fn labels_certificates_and_placeholders_are_left() {
    for text in [
        "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM2akNDQWRLZ0F3SUJB",
        "client-key-data: DATA+OMITTED",
        r#"{"auth": "OAuth2PasswordBearer", "auth": "GoogleSignInProvider"}"#,
        "secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>",
        "ADMIN_PASS=\"enter your password\", TEST_PASS=\"3 of 4 tests\"",
        "{\"password\": \"too short\", \"passphrase\": \"Choose something else\"}",
        "\"password=\" + pw + \" host=\" + host",
        "connect(host=host, user=user, password=letmein)",
        "user=app&password=password, user=%s password=%s, Uid={0};Pwd={1}",
        "jdbc:x?user=USER&password=${PASS}",
        "?sig=${signature}&signature=computeSignatureForRequest",
        "f(x, signature=SignatureV4Algorithm)",
        "bcrypt hashes begin with $2b$12$, sed s/$1$abc$/x/, x/{SHA}/path",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "--password --verbose --token $TOKEN --api-key ${API_KEY} --secret <secret>",
        "the --password option\n  --password string   --token TOKEN\n--secret id=npmrc,src=.npmrc",
        "[\"--password\", \"$PW\"] [\"--token\", token]",
        "mongo -p 27017, kubectl patch -p '{}', echo $PASS | docker login --password-stdin",
        "setPassword(password), user.setToken(\"accessToken\"), login('kim', password)",
        "x?code=404&key=name, ?code=authorization_code_value",
        "the password is the same as the password of the database; use it as the password",
        "the password for the database is stored in the vault, set the password to null",
        "ALTER TABLE users ADD password varchar(64); the door code is on the wall",
        "name: DB_PASSWORD\n  valueFrom: x, <password>${DB_PASSWORD}</password>",
        "recovery codes:\n  printed once\n  never stored",
        "password = Config.Db2.password, password: self.Config2.password, env.SECRET || 'development'",
    ] {
        assert_eq!(once(text), text);
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
fn code_about_secrets_is_left() {
    for text in [
        "password = get_password()",
        "password = os.environ['DB_PASSWORD']",
        "connect(password=password, token=access_token)",
        "token: string",
        "token: Option<String>,",
        "let token: &str = token2;",
        "secret: Uint8Array",
        "password = self.config.password",
        "api_key=OPENAI_API_KEY",
        "\"apiKey\": \"OPENAI_API_KEY\"",
        "password: ${DB_PASSWORD}",
        "password={{ vault_password }}",
        "TOKEN=$(cat token)",
        "secret: your-secret-here",
        "password: \"********\"",
        "\"password\": \"The user's password\"",
        "\"password\": \"string\"",
        "<input type=\"password\" name=\"password\">",
        "password: 'Password'",
        "PWD=/home/user/work1",
        "max_tokens: 4096, token_count=12345678",
        "token = tokens[i1]",
        "secretName: my-app-secret",
        "\"token\": \"access_token\"",
        "the token expires in 3600 seconds",
        "password must have 8 characters",
        "token: 0",
        "f(token=b2b_token, secret=base64str)",
        "private_key: Curve25519SeedBin",
    ] {
        assert_eq!(once(text), text);
    }
}

#[test]
fn addresses_are_found() {
    for (text, redacted) in [
        ("Write to jane.doe+x@example.co.uk.", "Write to <EMAIL_1>."),
        ("Jane <jane@example.com>", "Jane <<EMAIL_1>>"),
        ("mailto:jane@sub.example.org?subject=x", "mailto:<EMAIL_1>?subject=x"),
        ("用户jane@163.com。", "用户<EMAIL_1>。"),
        ("jörg.müller@bücher.example schrieb", "<EMAIL_1> schrieb"),
        ("Пишите: иван@почта.рф", "Пишите: <EMAIL_1>"),
        ("邮箱 用户@例子.公司", "邮箱 <EMAIL_1>"),
        ("δοκιμή@παράδειγμα.ελ, x", "<EMAIL_1>, x"),
        ("ada@xn--bcher-kva.xn--p1ai", "<EMAIL_1>"),
    ] {
        assert_eq!(once(text), redacted);
    }
    for text in [
        "@types/node",
        "import x from '@scope/package.js'",
        "@app.route('/')",
        "lodash@4.17.21 next@14.0.0-canary.ab",
        "icon@2x.png",
        "chacha20-poly1305@openssh.com",
        "a@b.mean(axis=0)",
        "git@github.com:owner/repository.git",
        "user@localhost",
        "@dataclass",
    ] {
        assert_eq!(once(text), text);
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
    let piece = prop_oneof![
        Just("password".to_owned()),
        Just("token".to_owned()),
        Just("api_key".to_owned()),
        Just("--".to_owned()),
        Just("=".to_owned()),
        Just(": ".to_owned()),
        Just("\"".to_owned()),
        Just("\\\"".to_owned()),
        Just("://u:".to_owned()),
        Just("@x.org".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("curl -u ada:".to_owned()),
        Just("Cookie: session=".to_owned()),
        Just("machine x login y password ".to_owned()),
        Just("password is ".to_owned()),
        Just("DB_PASS=".to_owned()),
        Just("ADMIN_PASS=\"nine owls".to_owned()),
        Just("host=x password=".to_owned()),
        Just("&sig=".to_owned()),
        Just("$6$salt$".to_owned()),
        Just("AKIA0123456789ABCDEF ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("<SECRET_1>".to_owned()),
        Just("EMAIL_2".to_owned()),
        Just("\n".to_owned()),
        Just("ghp_".to_owned()),
        Just(token("", 40)),
        Just(token("ghp_", 36)),
        "[a-z0-9]{1,12}",
        any::<String>(),
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
