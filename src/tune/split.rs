//! Which sessions the search sees, and which are held back.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use recap_core::model::Session;
use recap_formats::Dataset;

/// Data set and id of a session.
pub type SessionKey = (String, String);

/// One project, or one session where no project is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Name of the project; absent where the session is on its own.
    pub project: Option<String>,
    /// Its sessions, in the order of the inputs.
    pub sessions: Vec<SessionKey>,
}

/// The sessions of the search, in the order in which they are replayed, and
/// those that are held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Clusters of the search.
    pub search: Vec<Cluster>,
    /// Clusters that are held back.
    pub held_back: Vec<Cluster>,
    /// Whether a cluster is a project; else each session is one.
    pub by_project: bool,
}

/// Why sessions cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sessions} session cannot be split into those to search on and those to hold back")]
pub struct SplitError {
    /// Number of sessions.
    pub sessions: usize,
}

/// Splits the sessions by project: within each data set the projects are
/// shuffled by the seed, and the held-back part gets this share of all projects
/// so far, so that both parts have every kind. Projects are counted and not
/// sessions, since intervals and tests rest on their number. If only one project
/// is known, sessions are split instead.
///
/// # Errors
/// If there are fewer than two sessions.
pub fn split(datasets: &[Dataset], share: f64, seed: u64) -> Result<Split, SplitError> {
    let sessions: usize = datasets.iter().map(|dataset| dataset.sessions.len()).sum();
    if sessions < 2 {
        return Err(SplitError { sessions });
    }
    let mut by_dataset: Vec<Vec<Cluster>> = datasets.iter().map(projects).collect();
    let by_project = by_dataset.iter().map(Vec::len).sum::<usize>() > 1;
    if !by_project {
        by_dataset = datasets.iter().map(singles).collect();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut search, mut held_back) = (Vec::new(), Vec::new());
    let (mut all, mut held) = (0.0, 0.0);
    for mut clusters in by_dataset {
        clusters.shuffle(&mut rng);
        for cluster in clusters {
            all += 1.0;
            // Half a cluster of tolerance: the share is met as closely as it can be.
            if held + 0.5 <= share * all {
                held += 1.0;
                held_back.push(cluster);
            } else {
                search.push(cluster);
            }
        }
    }
    search.shuffle(&mut rng);
    if search.is_empty() {
        search.extend(held_back.pop());
    }
    if held_back.is_empty() {
        held_back.extend(search.pop());
    }
    Ok(Split { search, held_back, by_project: by_project && is_by_project(datasets) })
}

/// Whether any session names its project.
fn is_by_project(datasets: &[Dataset]) -> bool {
    datasets.iter().flat_map(|dataset| &dataset.sessions).any(|one| one.project.is_some())
}

/// The projects of a data set, and its sessions that name none.
fn projects(dataset: &Dataset) -> Vec<Cluster> {
    let mut named: BTreeMap<&str, Vec<SessionKey>> = BTreeMap::new();
    let mut clusters = Vec::new();
    for session in &dataset.sessions {
        match &session.project {
            Some(name) => named.entry(name).or_default().push(key(dataset, session)),
            None => clusters.push(single(dataset, session)),
        }
    }
    clusters.extend(
        named
            .into_iter()
            .map(|(name, sessions)| Cluster { project: Some(name.to_owned()), sessions }),
    );
    clusters
}

fn singles(dataset: &Dataset) -> Vec<Cluster> {
    dataset.sessions.iter().map(|session| single(dataset, session)).collect()
}

fn single(dataset: &Dataset, session: &Session) -> Cluster {
    Cluster { project: None, sessions: vec![key(dataset, session)] }
}

fn key(dataset: &Dataset, session: &Session) -> SessionKey {
    (dataset.name.clone(), session.id.clone())
}

/// Number of sessions of several clusters.
pub(super) fn sessions(clusters: &[Cluster]) -> usize {
    clusters.iter().map(|cluster| cluster.sessions.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(name: &str, projects: &[Option<&str>]) -> Dataset {
        let session = |(at, project): (usize, &Option<&str>)| Session {
            id: format!("s{at}"),
            project: project.map(str::to_owned),
            ..Session::default()
        };
        Dataset {
            name: name.to_owned(),
            version: None,
            licence: None,
            origin: None,
            description: None,
            agent: None,
            sessions: projects.iter().enumerate().map(session).collect(),
            warnings: Vec::new(),
            files: Vec::new(),
            questions: Vec::new(),
        }
    }

    fn names(clusters: &[Cluster]) -> Vec<&str> {
        clusters.iter().filter_map(|cluster| cluster.project.as_deref()).collect()
    }

    #[test]
    fn projects_stay_whole_and_sides_share_all_datasets() {
        let projects = [Some("a"), Some("a"), Some("b"), Some("c"), Some("d"), Some("d")];
        let data = [dataset("x", &projects), dataset("y", &projects)];
        for seed in 0..50 {
            let split = split(&data, 0.5, seed).unwrap();
            assert!(split.by_project);
            assert_eq!(sessions(&split.search) + sessions(&split.held_back), 12);
            let of = |side: &[Cluster], name: &str| {
                side.iter().any(|c| c.sessions.iter().any(|(dataset, _)| dataset == name))
            };
            for name in ["x", "y"] {
                assert!(of(&split.search, name) && of(&split.held_back, name), "{seed}: {split:?}");
            }
            for cluster in split.search.iter().chain(&split.held_back) {
                let expected = if names(std::slice::from_ref(cluster)) == ["a"] { 2 } else { 1 };
                let is_d = names(std::slice::from_ref(cluster)) == ["d"];
                assert_eq!(cluster.sessions.len(), if is_d { 2 } else { expected });
            }
            assert_eq!((split.search.len(), split.held_back.len()), (4, 4), "{seed}");
        }
        assert_eq!(split(&data, 0.5, 7), split(&data, 0.5, 7));
        assert_ne!(split(&data, 0.5, 7), split(&data, 0.5, 8));
    }

    #[test]
    fn a_single_project_is_split_by_session() {
        let one = [dataset("x", &[Some("a"); 6])];
        let split = split(&one, 0.4, 1).unwrap();
        assert!(!split.by_project);
        assert_eq!(sessions(&split.search) + sessions(&split.held_back), 6);
        assert_eq!(sessions(&split.held_back), 2);
    }

    #[test]
    fn both_sides_are_filled_and_one_session_refused() {
        for share in [0.01, 0.99] {
            let split = split(&[dataset("x", &[None, None])], share, 1).unwrap();
            assert_eq!((split.search.len(), split.held_back.len()), (1, 1), "{share}");
        }
        let one = split(&[dataset("x", &[None])], 0.4, 1);
        assert_eq!(one, Err(SplitError { sessions: 1 }));
    }
}
