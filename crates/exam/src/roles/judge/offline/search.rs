//! Searches a text for values.

use rustc_hash::{FxHashMap, FxHashSet};

use super::reading::{Term, read};
use recap_core::text::language::{is_in, is_stop, is_unspaced};

/// Number of terms from which a text is long: then the words of a value must be
/// near each other, within at least this many terms and three for each word.
const LONG: usize = 40;
const WINDOW: usize = 12;

/// Largest number of words in a part of a list: longer parts are clauses of one
/// statement.
const MOST_WORDS: usize = 4;

/// The share of a value's words that a text must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// All of up to two words, more than half of more: other words may express
    /// the rest, and words may change their endings.
    Main,
    /// All of up to four words, four fifths of more.
    Most,
}

/// The words that a question itself contains.
#[derive(Debug, Default)]
pub(super) struct Question {
    stems: FxHashSet<String>,
    /// Whether it negates something, which a value then need not repeat.
    is_denied: bool,
}

impl Question {
    pub(super) fn new(text: &str) -> Self {
        let terms = read(text);
        let is_denied = terms.iter().any(|term| term.is_denied);
        let content = terms.into_iter().filter(|t| !t.is_number() && !is_stop(&t.word));
        Self { stems: content.map(|term| term.key).collect(), is_denied }
    }
}

/// A parsed value, which can be searched for in several texts.
#[derive(Clone, Debug)]
pub struct Sought {
    value: String,
    words: Vec<String>,
    numbers: Vec<String>,
    /// Whether the value itself contains a negation.
    is_denied: bool,
    /// Whether its script has no spaces: its characters stand side by side.
    is_unspaced: bool,
    /// First and last word of a person's name.
    name: Option<(String, String)>,
    is_yes_no: bool,
}

impl Sought {
    /// Parses `value` for searches; text in parentheses is not required.
    pub fn new(value: &str) -> Sought {
        let short = without_parentheses(value);
        let text = short.as_deref().unwrap_or(value);
        let terms = read(text);
        let (numbers, others): (Vec<&Term>, Vec<&Term>) =
            terms.iter().partition(|term| term.is_number());
        let is_bare = numbers.is_empty() && others.iter().all(|term| is_stop(&term.word));
        let words = others.iter().filter(|term| is_bare || !is_stop(&term.word));
        Sought {
            value: value.to_owned(),
            words: once(words.map(|term| &term.key)),
            numbers: once(numbers.iter().map(|term| &term.key)),
            is_denied: terms.iter().any(|term| term.is_denied),
            is_unspaced: text.contains(is_unspaced),
            name: name(text, &terms),
            is_yes_no: polarity(value).is_some(),
        }
    }

    /// Whether the value is only yes or no, which no text states.
    pub fn is_yes_no(&self) -> bool {
        self.is_yes_no
    }

    /// The values to search for one by one: the parts of a list, or the value
    /// as a whole.
    pub fn parts(&self) -> Vec<Sought> {
        let marks = [", and ", ", ", "; ", " & ", " and ", "\n"];
        let marked = marks.iter().fold(self.value.clone(), |text, mark| text.replace(mark, "\0"));
        let parts: Vec<Sought> =
            marked.split('\0').map(Sought::new).filter(|part| !part.is_empty()).collect();
        // `7 May, 2023` is no list.
        let is_part = |part: &Sought| part.words.len() <= MOST_WORDS && !part.words.is_empty();
        if parts.len() > 1 && parts.iter().all(is_part) { parts } else { vec![self.clone()] }
    }

    /// The number of parts that must be stated: both of two, two thirds of
    /// more.
    pub fn needed(parts: usize) -> usize {
        if parts <= 2 { parts } else { (2 * parts).div_ceil(3) }
    }

    /// Whether another value has everything that this one has.
    pub(super) fn is_part_of(&self, other: &Sought) -> bool {
        self.words.iter().all(|word| other.words.contains(word))
            && self.numbers.iter().all(|number| other.numbers.contains(number))
    }

    /// Whether there is nothing to search for: the value is punctuation.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.numbers.is_empty()
    }
}

/// Each text once, in order: a repetition in a value requires nothing more.
fn once<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = FxHashSet::default();
    keys.filter(|key| seen.insert(*key)).cloned().collect()
}

/// The value without text in parentheses, if a word is left.
fn without_parentheses(value: &str) -> Option<String> {
    let (before, rest) = value.split_once('(')?;
    let (_, after) = rest.split_once(')')?;
    let short = format!("{before} {after}");
    short.contains(char::is_alphanumeric).then_some(short)
}

/// First and last word of a person's name: two to five capitalised words, none of
/// them a common word.
fn name(value: &str, terms: &[Term]) -> Option<(String, String)> {
    let is_part =
        |t: &Term| t.is_capital && !is_stop(&t.word) || is_in("de da der la van von", &t.word);
    let is_name = (2..=5).contains(&terms.len())
        && !value.contains([',', ';', '&', '(', ':'])
        && terms.iter().all(|term| !term.is_number() && is_part(term));
    let (first, last) = (terms.first()?, terms.last()?);
    is_name.then(|| (first.key.clone(), last.key.clone()))
}

/// Whether a value means yes (`true`) or no, also with "likely" or an
/// explanation: `Likely no, since …`. `No Doubt` and `True Blood` mean neither.
pub(super) fn polarity(value: &str) -> Option<bool> {
    let value = value.trim().to_lowercase();
    let short =
        ["likely ", "probably ", "most likely "].iter().find_map(|lead| value.strip_prefix(lead));
    let text = short.unwrap_or(&value);
    let says = ["yes", "true", "no", "false"].into_iter().find(|word| {
        let rest = text.strip_prefix(word).map(str::trim_start);
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with(|c: char| c.is_ascii_punctuation() || c == '–')
                || short.is_some() && text[word.len()..].starts_with(' ')
        })
    });
    says.map(|word| matches!(word, "yes" | "true"))
}

/// A text that is searched for values: read once, in time linear in its length.
#[derive(Debug)]
pub struct Haystack {
    pub(super) terms: Vec<Term>,
    places: FxHashMap<String, Vec<u32>>,
}

/// How a value is looked for.
pub(super) struct Search<'a> {
    pub question: &'a Question,
    pub share: Share,
    /// Whether a place that the text calls past counts.
    pub past: bool,
}

impl Haystack {
    /// Reads a text.
    pub fn new(text: &str) -> Haystack {
        let terms = read(text);
        let mut places: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (at, term) in (0..).zip(&terms) {
            places.entry(term.key.clone()).or_default().push(at);
        }
        Haystack { terms, places }
    }

    /// The position of the last word by which the text states a value and does not
    /// deny it in the same clause; with `past` false, nor call it past. All numbers
    /// are required, and the words near each other: all of up to four, four fifths of
    /// more. Yes and no are never stated ([`Sought::is_yes_no`]).
    pub fn last(&self, sought: &Sought, past: bool) -> Option<usize> {
        let search = Search { question: &Question::default(), share: Share::Most, past };
        self.find(sought, &search).ok().filter(|_| !sought.is_yes_no())
    }

    /// The position of the last word of a value, or the missing part in words.
    pub(super) fn find(&self, sought: &Sought, search: &Search<'_>) -> Result<usize, String> {
        if sought.is_empty() {
            return Err("a word to look for".to_owned());
        }
        let counts = |at: &usize| {
            let term = &self.terms[*at];
            (!term.is_denied || sought.is_denied) && (!term.is_past || search.past)
        };
        if let Some(at) = self.name(sought, counts) {
            return Ok(at);
        }
        if sought.is_denied && !search.question.is_denied && self.terms.iter().all(|t| !t.is_denied)
        {
            return Err("its negation".to_owned());
        }
        let mut last = 0;
        for number in &sought.numbers {
            let at = self.at(number).filter(counts).last();
            last = last.max(at.ok_or_else(|| format!("the number {}", &number[1..]))?);
        }
        let is_new = |word: &&String| !search.question.stems.contains(*word);
        let mut words: Vec<&String> = sought.words.iter().filter(is_new).collect();
        let says_nothing_new = words.is_empty() && sought.numbers.is_empty();
        if says_nothing_new {
            words = sought.words.iter().collect();
        }
        let needed = match (search.share, words.len()) {
            (_, all) if says_nothing_new || sought.is_unspaced => all,
            (Share::Main, few @ 0..=2) | (Share::Most, few @ 0..=4) => few,
            (Share::Main, many) => many / 2 + 1,
            (Share::Most, many) => (many * 4).div_ceil(5),
        };
        let width = match sought.is_unspaced {
            true => words.len(),
            false if self.terms.len() > LONG => WINDOW.max(3 * words.len()),
            false => usize::MAX,
        };
        let near = search.share == Share::Main;
        let found: Vec<Vec<usize>> =
            words.iter().map(|word| self.word(word, near).filter(counts).collect()).collect();
        match together(&found, needed, width) {
            Some(end) => Ok(last.max(end)),
            None => Err(missing(&words, &found)),
        }
    }

    fn at(&self, key: &str) -> impl Iterator<Item = usize> + '_ {
        self.places.get(key).into_iter().flatten().map(|at| *at as usize)
    }

    /// The places of a word; if there are none and `near` holds, of words that
    /// differ only by their ending.
    fn word<'a>(&'a self, word: &'a str, near: bool) -> Box<dyn Iterator<Item = usize> + 'a> {
        if self.places.contains_key(word) || !near {
            return Box::new(self.at(word));
        }
        let keys = (0..self.terms.len()).filter(|at| is_near(word, &self.terms[*at].key));
        Box::new(keys)
    }

    /// The last place of the surname with the first name or its beginning right
    /// before it: `M. Lund`, `Dave Meyer` for `David Meyer`.
    fn name(&self, sought: &Sought, counts: impl Fn(&usize) -> bool) -> Option<usize> {
        let (first, last) = sought.name.as_ref()?;
        let opens = |term: &Term| {
            let alike = term.key.get(..2).unwrap_or(&term.key);
            term.key == *first
                || term.is_capital && (first.starts_with(alike) || alike.starts_with(&**first))
        };
        let is_led = |at: &usize| self.terms[at.saturating_sub(3)..*at].iter().any(opens);
        self.at(last).filter(|at| counts(at) && is_led(at)).last()
    }
}

/// The end of the last stretch of at most `width` terms with at least `needed` of the
/// words, whose places are given.
fn together(found: &[Vec<usize>], needed: usize, width: usize) -> Option<usize> {
    if needed == 0 {
        return Some(0);
    }
    let each = found.iter().enumerate();
    let mut spots: Vec<(usize, usize)> =
        each.flat_map(|(word, places)| places.iter().map(move |place| (*place, word))).collect();
    spots.sort_unstable();
    let mut held = vec![0_u32; found.len()];
    let (mut low, mut distinct, mut end) = (0, 0, None);
    for &(place, word) in &spots {
        distinct += usize::from(held[word] == 0);
        held[word] += 1;
        while place - spots[low].0 >= width {
            held[spots[low].1] -= 1;
            distinct -= usize::from(held[spots[low].1] == 0);
            low += 1;
        }
        if distinct >= needed {
            end = Some(place);
        }
    }
    end
}

/// The words that a text lacks, or has apart from each other.
fn missing(words: &[&String], found: &[Vec<usize>]) -> String {
    let quoted =
        |words: &[&&String]| words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    let absent = words.iter().zip(found).filter(|(_, places)| places.is_empty());
    let absent: Vec<&&String> = absent.map(|(word, _)| word).collect();
    match absent.is_empty() {
        true => format!("{} together", quoted(&words.iter().collect::<Vec<_>>())),
        false => quoted(&absent),
    }
}

/// Whether two stems differ only by an ending: `canada`, `canadian`.
fn is_near(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    same >= 5 && same + 1 >= short && long - same <= 4
}
