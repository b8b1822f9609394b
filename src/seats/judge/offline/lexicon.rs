//! The closed lists of words that the judge knows.

/// Words too common to show that an answer says a value.
pub(super) const STOP: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "almost",
    "also",
    "an",
    "and",
    "any",
    "approximately",
    "are",
    "around",
    "as",
    "at",
    "be",
    "been",
    "before",
    "being",
    "between",
    "both",
    "by",
    "can",
    "circa",
    "could",
    "did",
    "do",
    "does",
    "during",
    "each",
    "for",
    "from",
    "get",
    "getting",
    "got",
    "had",
    "has",
    "have",
    "he",
    "her",
    "him",
    "his",
    "how",
    "i",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "likely",
    "lot",
    "lots",
    "many",
    "me",
    "might",
    "more",
    "most",
    "much",
    "my",
    "nearly",
    "no",
    "not",
    "of",
    "on",
    "or",
    "other",
    "our",
    "out",
    "over",
    "probably",
    "really",
    "roughly",
    "she",
    "should",
    "since",
    "so",
    "some",
    "something",
    "stuff",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Other spellings and irregular forms, with the word they are read as.
const ALIASES: &[(&str, &str)] = &[
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("bros", "brother"),
    ("brought", "bring"),
    ("built", "build"),
    ("came", "come"),
    ("centre", "center"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("children", "child"),
    ("cm", "centimeter"),
    ("colour", "color"),
    ("dad", "father"),
    ("dr", "doctor"),
    ("drew", "draw"),
    ("feet", "foot"),
    ("felt", "feel"),
    ("found", "find"),
    ("ft", "foot"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("got", "get"),
    ("grew", "grow"),
    ("grey", "gray"),
    ("grown", "grow"),
    ("harbour", "harbor"),
    ("hr", "hour"),
    ("hrs", "hour"),
    ("jr", "junior"),
    ("kept", "keep"),
    ("kg", "kilogram"),
    ("kid", "child"),
    ("kids", "child"),
    ("kilometre", "kilometer"),
    ("kilometres", "kilometer"),
    ("km", "kilometer"),
    ("lb", "pound"),
    ("lbs", "pound"),
    ("left", "leave"),
    ("lost", "lose"),
    ("made", "make"),
    ("men", "man"),
    ("met", "meet"),
    ("metre", "meter"),
    ("metres", "meter"),
    ("min", "minute"),
    ("mins", "minute"),
    ("mom", "mother"),
    ("mr", "mister"),
    ("mt", "mount"),
    ("mum", "mother"),
    ("oz", "ounce"),
    ("people", "person"),
    ("ran", "run"),
    ("said", "say"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("spoke", "speak"),
    ("sr", "senior"),
    ("st", "saint"),
    ("taught", "teach"),
    ("theatre", "theater"),
    ("told", "tell"),
    ("took", "take"),
    ("tv", "television"),
    ("uk", "britain"),
    ("us", "america"),
    ("usa", "america"),
    ("went", "go"),
    ("wives", "wife"),
    ("women", "woman"),
    ("won", "win"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Common words of two letters beyond [`STOP`], also of names in Romance
/// languages.
const SMALL: &[&str] = &[
    "al", "da", "de", "di", "du", "el", "en", "et", "hi", "il", "la", "le", "lo", "oh", "un", "us",
];

/// Whether two letters are a common word unless they stand in capitals. `NO`
/// stays a no.
pub(super) fn is_small_word(word: &str) -> bool {
    word != "no" && (is_stop(word) || SMALL.contains(&word))
}

/// Whether a full stop after a word belongs to it: `St. Louis`.
pub(super) fn is_title(word: &str) -> bool {
    matches!(word, "Dr" | "Jr" | "Mr" | "Mrs" | "Ms" | "Mt" | "Prof" | "Sr" | "St")
}

/// Words that deny what follows in their clause.
pub(super) const NEGATIONS: &[&str] =
    &["cannot", "neither", "never", "no", "none", "nor", "not", "unlike", "without"];

/// What goes on after a negation without being denied.
pub(super) const TURNS: &[&str] = &["although", "but", "except", "however", "though"];

/// Participles that do not end in `ed`, of verbs for what happens once.
const PARTICIPLES: &[&str] = &[
    "begun", "born", "bought", "brought", "built", "chosen", "cut", "drawn", "found", "given",
    "held", "known", "led", "made", "put", "seen", "sent", "set", "shot", "sold", "spoken", "sung",
    "taken", "told", "won", "written",
];

/// Whether a word after `was` tells what was done.
pub(super) fn is_participle(word: &str) -> bool {
    PARTICIPLES.contains(&word) || word.len() > 3 && word.ends_with("ed")
}

/// Letters with marks and the plain letters they are read as.
const FOLDED: &[(&str, &str)] = &[
    ("àáâãäåāăą", "a"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņň", "n"),
    ("òóôõöøōŏőơ", "o"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ţťŧțþ", "t"),
    ("ùúûüũūŭůűųư", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    ("æ", "ae"),
    ("œ", "oe"),
    ("ß", "ss"),
];

/// Adds a letter in lower case and without its marks.
pub(super) fn fold(c: char, word: &mut String) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    for c in c.to_lowercase() {
        match FOLDED.iter().find(|(marked, _)| marked.contains(c)) {
            Some((_, plain)) => word.push_str(plain),
            None if ('\u{300}'..='\u{36f}').contains(&c) => {}
            None => word.push(c),
        }
    }
}

pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

fn alias(word: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(from, _)| *from == word).map(|(_, to)| *to)
}

/// A word without its inflection: plural, `-ed` and `-ing`, as in the first
/// step of Porter's stemmer (Program 14, 1980), with irregular forms by list.
pub(super) fn stem(word: &str) -> String {
    if let Some(to) = alias(word) {
        return to.to_owned();
    }
    if word.len() <= 3 || !word.is_ascii() {
        return word.to_owned();
    }
    let singular = singular(word);
    if let Some(to) = alias(&singular) {
        return to.to_owned();
    }
    let mut base = plain_verb(&singular);
    if base.len() > 4 && base.ends_with('e') {
        base.pop();
    }
    if base.len() > 3 && base.ends_with('y') {
        base.pop();
        base.push('i');
    }
    base
}

fn singular(word: &str) -> String {
    let es = ["sses", "shes", "ches", "xes", "zes"];
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        format!("{base}y")
    } else if es.iter().any(|ending| word.ends_with(ending)) {
        word[..word.len() - 2].to_owned()
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word[..word.len() - 1].to_owned()
    } else {
        word.to_owned()
    }
}

fn plain_verb(word: &str) -> String {
    let base = ["ing", "ed"].iter().find_map(|ending| word.strip_suffix(ending));
    let voiced = |base: &&str| base.len() >= 3 && base.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let Some(base) = base.filter(voiced) else { return word.to_owned() };
    let b = base.as_bytes();
    let doubled = b.len() > 3 && b[b.len() - 1] == b[b.len() - 2];
    let kept = matches!(b[b.len() - 1], b'l' | b's' | b'z');
    base[..base.len() - usize::from(doubled && !kept)].to_owned()
}
