//! Data that the page's script unpacks: JSON, compressed (RFC 1950) and written
//! in base64 (RFC 4648 §4). The alphabet holds no character with a meaning in
//! markup, so nothing in the data can end the block that it stands in.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Packs plain data.
pub(super) fn packed(data: &impl Serialize) -> String {
    let json = serde_json::to_vec(data).expect("plain data serialises");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&json).expect("memory takes every write");
    base64(&encoder.finish().expect("memory takes every write"))
}

/// Bytes in base64 with padding (RFC 4648 §4).
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let six = (bits >> (18 - 6 * at)) & 63;
            let sign = if at <= chunk.len() { ALPHABET[six as usize] } else { b'=' };
            out.push(char::from(sign));
        }
    }
    out
}

#[cfg(test)]
pub(super) fn unpacked(text: &str) -> serde_json::Value {
    use std::io::Read;
    let six = |c: u8| ALPHABET.iter().position(|a| *a == c).map(|at| at as u32);
    let mut bytes = Vec::new();
    for quad in text.as_bytes().chunks(4) {
        let bits = quad.iter().fold(0, |bits, &c| bits << 6 | six(c).unwrap_or(0));
        let padding = quad.iter().filter(|&&c| c == b'=').count();
        bytes.extend(&bits.to_be_bytes()[1..4 - padding]);
    }
    let mut json = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        // RFC 4648 §10.
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in vectors.iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), *expected);
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let data = ["</script>", "<!--", "日本", ""];
        assert_eq!(unpacked(&packed(&data)), serde_json::json!(data));
        assert!(!packed(&data).contains(['<', '>', '&', '"']));
    }
}
