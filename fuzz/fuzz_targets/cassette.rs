//! Recorded calls: cassettes, and `replies.jsonl` of a run.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use recap_billing::pricing::{ModelPrices, PriceList};
use recap_fuzz::{home, put, told, told_text};
use recap_llm::Cassette;
use recap_llm::cassette::Mode;

/// The prices of a model, by the bundled list.
fn priced(model: &str) -> Option<ModelPrices> {
    static LIST: LazyLock<PriceList> = LazyLock::new(PriceList::bundled);
    LIST.priced(model).cloned()
}

fuzz_target!(|input: &[u8]| {
    let file = home().join("calls.jsonl");
    put(&file, input);
    let open = |mode| Cassette::open(&file, mode, Arc::new(str::to_owned));
    let (held, used) = match open(Mode::Replay) {
        Ok((cassette, warnings)) => {
            warnings.iter().for_each(|warning| told_text(warning));
            (cassette.count(), cassette.usd(priced))
        }
        Err(error) => return told(error),
    };
    // What a recording run keeps of it is the same.
    let (cassette, _) = open(Mode::Record).expect("it was just read");
    assert_eq!(cassette.count(), held);
    cassette.finish().expect("the temporary folder can be written");
    drop(cassette);
    let (again, warnings) = open(Mode::Replay).expect("what was written can be read");
    assert_eq!((again.count(), again.usd(priced)), (held, used));
    assert_eq!(warnings, [""; 0]);
});
