//! Suggestions for a name that is not known.

/// Least likeness (Jaro-Winkler) of a name that is suggested out of few.
const LIKE: f64 = 0.75;
/// Characters that are looked at of a name that is not known.
const LONGEST: usize = 100;
/// Names suggested at most.
const SUGGESTED: usize = 3;
/// Names listed at most where none is like the one that is not known.
const LISTED: usize = 12;

/// The known names whose similarity to an unknown one is at least `least`, the
/// most similar first.
pub fn alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, least: f64) -> Vec<&'a str> {
    // No name is as long; comparing takes time with the product of both lengths.
    let lower = name.chars().take(LONGEST).collect::<String>().to_lowercase();
    let likeness = |other: &str| strsim::jaro_winkler(&other.to_lowercase(), &lower);
    let known = known.into_iter().map(|name| (likeness(name), name));
    let mut like: Vec<(f64, &str)> = known.filter(|(likeness, _)| *likeness >= least).collect();
    like.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    like.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// The hint for an unknown name: the similar names; where there is none, the
/// known names, shortened if there are many.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let like = alike(name, known.iter().copied(), LIKE);
    if !like.is_empty() {
        return format!("did you mean {}?", quoted(&like));
    }
    match known.len() {
        0 => "there is none".to_owned(),
        n if n > LISTED => {
            format!("known are {} and {} more", quoted(&known[..LISTED]), n - LISTED)
        }
        _ => format!("known are {}", quoted(&known)),
    }
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_similar_comes_first_in_a_shortened_list() {
        let known = ["prune", "prune-once", "prune-chart", "prune-late", "fifo"];
        assert_eq!(alike("Prun", known, LIKE), ["prune", "prune-late", "prune-once"]);
        assert_eq!(suggest("fifa", known), "did you mean `fifo`?");
        assert_eq!(suggest("xyz", ["fifo"]), "known are `fifo`");
        assert_eq!(suggest("fifo", []), "there is none");
        let many: Vec<String> = (0..40).map(|n| format!("{n}")).collect();
        let hint = suggest("xyz", many.iter().map(String::as_str));
        assert!(hint.ends_with("`10`, `11` and 28 more"), "{hint}");
    }
}
