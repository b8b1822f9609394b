//! Secrets that are recognisable by their own form.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memmem};
use regex::{Regex, RegexBuilder};

/// Forms of tokens, by issuer: the prefixes and lengths that they publish
/// (GitHub, "Secret scanning patterns", lists most). Lengths are lower bounds:
/// issuers make tokens longer, not shorter.
const FORMS: &[&str] = &[
    // AWS, "Unique identifiers".
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    // GitHub: classic, OAuth, user, server, refresh; fine-grained.
    r"gh[pousr]_[A-Za-z0-9]{36,}",
    r"github_pat_[A-Za-z0-9_]{22,}",
    // GitLab: personal, deploy, runner, job, trigger, feed, mail, agent.
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_=-]{20,}(?:\.[0-9a-z]{2,})*",
    // Slack: tokens, app tokens, webhooks.
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{20,}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,}",
    // Stripe: secret and restricted keys, webhook secrets.
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"whsec_[A-Za-z0-9+/=]{24,}",
    // Anthropic, OpenRouter, OpenAI; DeepSeek and others took the last form.
    r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{24,}",
    r"sk-or-v1-[0-9a-f]{40,}",
    r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{24,}",
    r"sk-[A-Za-z0-9]{32,}",
    // Google: API keys, OAuth access, client secrets.
    r"AIza[A-Za-z0-9_-]{35}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{28,}",
    // npm, PyPI, Hugging Face, Groq, xAI, Replicate.
    r"npm_[A-Za-z0-9]{36,}",
    r"pypi-[A-Za-z0-9_-]{50,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{40,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"r8_[A-Za-z0-9]{37,}",
    // SendGrid, DigitalOcean, Databricks, Linear, age.
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}",
    r"do[opr]_v1_[a-f0-9]{64}",
    r"dapi[a-f0-9]{32}",
    r"lin_api_[A-Za-z0-9]{40,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    // Discord: bots, webhooks. Telegram: bots. Doppler.
    r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{40,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    // Webhooks of Teams.
    r"(?:webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook)/[A-Za-z0-9@-]{20,}/[A-Za-z]{1,32}/[A-Za-z0-9/_-]{32,}",
    // Notion, Figma, Airtable, Atlassian, Postman, Shopify, Square.
    r"ntn_[A-Za-z0-9]{40,}",
    r"figd_[A-Za-z0-9_-]{40,}",
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{28,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}",
    r"EAAA[A-Za-z0-9_-]{56,}",
    // CircleCI, Dynatrace, Contentful; webhooks of Zapier, Make and IFTTT.
    r"CCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{40}",
    r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    r"CFPAT-[A-Za-z0-9_-]{40,}",
    r"hooks\.zapier\.com/hooks/(?:catch|standard)/[0-9]{4,}/[A-Za-z0-9]{6,}",
    r"hook\.(?:eu|us)[0-9]\.make\.com/[a-z0-9]{20,}",
    r"maker\.ifttt\.com/trigger/[\w-]{1,64}/(?:json/)?with/key/[\w-]{12,}",
    // Vault, Terraform, Pulumi, Docker Hub, RubyGems, NuGet, Fly.
    r"hv[bs]\.[A-Za-z0-9_-]{24,}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
    r"pul-[a-f0-9]{40}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,}",
    r"rubygems_[a-f0-9]{48}",
    r"oy2[a-z0-9]{43}",
    r"fm[12][ar]?_[A-Za-z0-9+/=_-]{100,}",
    // Grafana, New Relic, Sentry, Supabase, PlanetScale, Netlify.
    r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}",
    r"NRAK-[A-Z0-9]{27}",
    r"sntr(?:ys|yu)_[A-Za-z0-9+/=_-]{60,}",
    r"sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}",
    r"nfp_[A-Za-z0-9]{36,}",
    // Mailgun, Mailchimp, Twilio.
    r"key-[a-f0-9]{32}",
    r"[a-f0-9]{32}-us[0-9]{1,2}",
    r"SK[a-f0-9]{32}",
    // HubSpot, Mapbox, Buildkite, Heroku, Tailscale, Resend, Brevo, Plaid, Razorpay.
    r"pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"[ps]k\.eyJ1[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}",
    r"bk(?:ua|aj|ct)_[a-f0-9]{40}",
    r"HRKU-[A-Za-z0-9_-]{36,}",
    r"tskey-[a-z]{3,8}-[A-Za-z0-9]{8,}-?[A-Za-z0-9]{16,}",
    r"re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}",
    r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"rzp_(?:live|test)_[A-Za-z0-9]{14,}",
    // LaunchDarkly, Typeform, Shippo, Sourcegraph, Langfuse, Pinecone, Neon, Render, ElevenLabs.
    r"(?:sdk|api)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"tfp_[A-Za-z0-9_-]{40,}",
    r"shippo_(?:live|test)_[a-f0-9]{40}",
    r"sgp_[A-Za-z0-9_]{40,}",
    r"sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"pcsk_[A-Za-z0-9_]{40,}",
    r"napi_[a-z0-9]{40,}",
    r"rnd_[A-Za-z0-9]{24,}",
    r"sk_[a-f0-9]{48}",
    // Alibaba, Tencent, Yandex, Firebase, Asana, Okta's header.
    r"LTAI[A-Za-z0-9]{16,24}",
    r"AKID[A-Za-z0-9]{32}",
    r"AQVN[A-Za-z0-9_-]{35,38}",
    r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{134,}",
    r"[012]/[0-9]{16}(?:/[0-9]{16})?:[a-f0-9]{32}",
    r"SSWS 00[A-Za-z0-9_-]{40}",
    // Perplexity, Tavily, LangSmith, Google's refresh tokens.
    r"pplx-[A-Za-z0-9]{40,}",
    r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{30,}",
    r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
    r"1//0[A-Za-z0-9_-]{40,}",
    // JSON web tokens (RFC 7519): two objects and a signature, which may be empty.
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
];

/// Hashes of passwords: crypt(5), PHC strings, LDAP (RFC 2307), SCRAM (RFC 5803),
/// Django, Werkzeug.
/// `%` is a dollar sign, which Compose doubles and shells escape.
const HASHES: &[&str] = &[
    r"\$2[abxy]?%[0-9]{2}%[./A-Za-z0-9]{53}",
    r"\$(?:[156]|apr1)%(?:rounds=[0-9]{1,9}%)?[./A-Za-z0-9]{1,16}%[./A-Za-z0-9]{22,86}",
    r"\$g?[y7]%[./A-Za-z0-9]{1,16}%[./A-Za-z0-9]{1,86}%[./A-Za-z0-9]{43}",
    r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha[0-9]{1,3})?)(?:%[a-z0-9=,]{1,64}){1,2}%[./+A-Za-z0-9]{8,}%[./+A-Za-z0-9]{16,}={0,2}",
    r"\$[PH]%[./A-Za-z0-9]{31}",
    r"\{(?:SHA|SMD5|SSHA(?:256|384|512)?|PBKDF2[A-Z0-9-]{0,8})\}[A-Za-z0-9+/$.]{27,}={0,2}",
    r"\bSCRAM-SHA-(?:1|256|512)%[0-9]{3,6}:[A-Za-z0-9+/]{8,}={0,2}%[A-Za-z0-9+/]{20,}={0,2}:[A-Za-z0-9+/]{20,}={0,2}",
    r"\bpbkdf2_sha(?:1|256|512)%[0-9]{3,8}%[A-Za-z0-9]{4,}%[A-Za-z0-9+/]{27,}={0,2}",
    r"\b(?:pbkdf2:sha(?:1|256|512):[0-9]{3,8}|scrypt:[0-9]{1,8}:[0-9]{1,3}:[0-9]{1,3})%[A-Za-z0-9]{4,}%[0-9a-f]{40,}",
];

/// Finds hashes of passwords by their forms.
pub(super) fn hashes(text: &str, spans: &mut Vec<Range<usize>>) {
    static HASH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(&HASHES.join("|").replace('%', r"\\{0,2}\${1,2}")).expect("it is valid")
    });
    // Most texts have none, and the pattern takes long to build.
    if !text.contains(['$', '{']) {
        return;
    }
    let hits = HASH.find_iter(text).map(|hit| hit.range()).filter(|at| {
        let goes_on = text[at.end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        !goes_on && varied(&text[at.clone()]) && !text[at.clone()].contains("...")
    });
    spans.extend(hits);
}

/// Finds tokens by their forms.
pub(super) fn tokens(text: &str, spans: &mut Vec<Range<usize>>) {
    // With Unicode's word boundary, or in the usual cache of 2 MB, so many forms take a
    // hundred times as long.
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        let forms = format!(r"(?-u:\b)(?:{})", FORMS.join("|"));
        RegexBuilder::new(&forms).dfa_size_limit(4 << 20).build().expect("it is valid")
    });
    for hit in TOKEN.find_iter(text) {
        // The word continues: it is part of something longer, such as base64.
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !text[hit.end()..].starts_with(goes_on) && varied(hit.as_str()) {
            spans.push(hit.range());
        }
    }
}

/// Whether a token has at least five different characters after its prefix:
/// `ghp_xxxx…` is an example, not a token.
pub(super) fn varied(token: &str) -> bool {
    // `xoxb-your-slack-token` is an example, too.
    if token.contains("your") {
        return false;
    }
    let tail = &token.as_bytes()[token.len().saturating_sub(16)..];
    let mut seen: Vec<u8> = tail.to_vec();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 5
}

/// Largest private key in bytes: RSA of 16,384 bits takes 12.7 kB.
const LARGEST_KEY: usize = 16_384;

/// Finds private keys in PEM blocks (RFC 7468), also those that were cut off.
pub(super) fn private_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----").expect("it is valid")
    });
    static END: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----").expect("it is valid")
    });
    let mut ends = memmem::find_iter(text.as_bytes(), "-----END ").peekable();
    let mut begins = BEGIN.find_iter(text).peekable();
    while let Some(begin) = begins.next() {
        while ends.next_if(|end| *end < begin.end()).is_some() {}
        let next = begins.peek().map_or(text.len(), |next| next.start());
        let near = next.min(begin.end() + LARGEST_KEY);
        // Neither mark-up nor a placeholder is part of a key.
        let rest = &text.as_bytes()[begin.end()..near];
        let near = memchr(b'<', rest).map_or(near, |at| begin.end() + at);
        let end = ends.peek().copied().filter(|end| *end < near);
        let closed = end.and_then(|end| Some(end..end + END.find(&text[end..])?.end()));
        let body = begin.end()..closed.as_ref().map_or(near, |end| end.start);
        match (closed, key_length(&text.as_bytes()[body.clone()])) {
            (_, 0) => {}
            (Some(end), _) => spans.push(begin.start()..end.end),
            (None, cut) => spans.push(begin.start()..body.start + cut),
        }
    }
}

/// Bytes until the last run of base64 that is long enough to be a line of a
/// key, or 0: a mention of the marks alone is no key.
fn key_length(body: &[u8]) -> usize {
    const LINE: usize = 24;
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut run, mut last, mut gap) = (0, 0, 0);
    for (at, byte) in body.iter().enumerate() {
        if base64(byte) {
            run += 1;
            gap = 0;
        } else {
            run = 0;
            gap += 1;
        }
        if run >= LINE {
            last = at + 1;
        }
        // Prose follows where the key was cut off.
        if last > 0 && (gap > 4 || at.saturating_sub(last) > 80) {
            break;
        }
    }
    last
}
