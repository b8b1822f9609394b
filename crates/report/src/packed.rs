//! Data that the page's script unpacks: JSON, compressed (RFC 1950) and written
//! in base64 (RFC 4648 §4). The alphabet holds no character with a meaning in
//! markup, so nothing in the data can end the block that it stands in.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// Packs plain data.
pub(super) fn packed(data: &impl Serialize) -> String {
    let json = serde_json::to_vec(data).expect("plain data serialises");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&json).expect("memory takes every write");
    base64(&encoder.finish().expect("memory takes every write"))
}

/// Bytes in base64 with padding (RFC 4648 §4).
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
pub(super) fn unpacked(text: &str) -> serde_json::Value {
    use std::io::Read;
    let bytes = STANDARD.decode(text).unwrap();
    let mut json = String::new();
    flate2::read::ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let data = ["</script>", "<!--", "日本", ""];
        assert_eq!(unpacked(&packed(&data)), serde_json::json!(data));
        assert!(!packed(&data).contains(['<', '>', '&', '"']));
    }
}
