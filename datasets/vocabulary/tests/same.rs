//! The counts are those of tiktoken-rs, a port of OpenAI's tiktoken.

use recap_vocabulary::count;

fn expected(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

#[test]
fn varied_texts_count_as_by_tiktoken() {
    for text in [
        "",
        "hello world",
        "I'LL say it's   what\n\n  they'd  \t said  ",
        "fn main() {\r\n    println!(\"{:>8.3}\", 12345.678);\r\n}\r\n",
        "https://example.com/a//b?c=d&e=%20\n//\n/",
        "Übergrößenträger, naïve façade, ΑΒΓ αβγ, Привет, мир",
        "上下文压缩会丢失什么？こんにちは世界。안녕하세요",
        "👩‍👩‍👧‍👦 e\u{301} \u{200b}\u{feff}",
        "\u{0}\u{1}\u{7f}",
    ] {
        assert_eq!(count(text), expected(text), "{text:?}");
    }
    for unit in ["a", " ", "\n", "ab", "0", "-=", "字"] {
        let long = unit.repeat(5000);
        assert_eq!(count(&long), expected(&long), "{unit:?}");
    }
}

#[test]
fn every_text_token_counts_as_by_tiktoken() {
    let encoding = tiktoken_rs::o200k_base_singleton();
    let mut seen = 0;
    for token in 0..199_998 {
        if let Ok(text) = encoding.decode(&[token]) {
            assert_eq!(count(&text), expected(&text), "{text:?}");
            seen += 1;
        }
    }
    assert!(seen > 190_000, "{seen}");
}

#[test]
fn a_source_file_counts_as_by_tiktoken() {
    let text = include_str!("../src/lib.rs");
    assert_eq!(count(text), expected(text));
}
