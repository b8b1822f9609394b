//! The counts are those of bpe-openai with all of its tables.

use recap_vocabulary::count;

fn expected(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[test]
fn varied_texts_count_as_with_all_tables() {
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
fn every_text_token_counts_as_with_all_tables() {
    let encoding = &bpe_openai::o200k_base().bpe;
    let mut seen = 0;
    for token in 0..u32::try_from(encoding.num_tokens()).unwrap() {
        if let Ok(text) = std::str::from_utf8(encoding.token_bytes(token)) {
            assert_eq!(count(text), expected(text), "{text:?}");
            seen += 1;
        }
    }
    assert!(seen > 190_000, "{seen}");
}

#[test]
fn a_source_file_counts_as_with_all_tables() {
    let text = include_str!("../src/lib.rs");
    assert_eq!(count(text), expected(text));
}
