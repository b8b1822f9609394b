use crate::model::*;
use crate::seats::answerer::*;
use crate::text::Normal;
use async_trait::async_trait;

pub struct Reader;
#[async_trait]
impl Answerer for Reader {
    async fn answer(&self, shown: &Shown, questions: &[&str]) -> Vec<Result<String, NoAnswer>> {
        let texts: Vec<(String, &str)> = shown
            .passages
            .iter()
            .map(|p| (Normal::new(&p.text).as_str().to_owned(), &*p.text))
            .collect();
        questions
            .iter()
            .map(|q| {
                let n = Normal::new(q);
                let words: Vec<&str> = n.as_str().split(' ').filter(|w| w.len() > 3).collect();
                let best = texts
                    .iter()
                    .max_by_key(|(t, _)| words.iter().filter(|w| t.contains(**w)).count());
                Ok(best.map_or("I don't know.".to_owned(), |(_, t)| t.chars().take(400).collect()))
            })
            .collect()
    }
    fn name(&self) -> &str {
        "offline"
    }
    fn source(&self) -> Source {
        Source::Lexical
    }
}
