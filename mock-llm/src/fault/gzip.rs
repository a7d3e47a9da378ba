//! Gzip (RFC 1952) with stored blocks: legal, larger than its input, and no compressor to trust.

/// Longest stored block of deflate.
const BLOCK: usize = 65_535;

/// A gzip member that holds `data`.
pub(super) fn stored(data: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, no extra flags, unknown system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = data.chunks(BLOCK).peekable();
    if data.is_empty() {
        out.extend_from_slice(&[1, 0, 0, 255, 255]);
    }
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&crc32(data).to_le_bytes());
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    out
}

/// The checksum of RFC 1952, bit by bit: it runs once for a script, so a table would buy nothing.
fn crc32(data: &[u8]) -> u32 {
    !data
        .iter()
        .fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_member_has_head_blocks_and_trailer() {
        let out = stored(b"hi");
        assert_eq!(out[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        assert_eq!(out[10..17], [1, 2, 0, 253, 255, b'h', b'i']);
        assert_eq!(out[out.len() - 4..], [2, 0, 0, 0]);
        let long = stored(&vec![7; BLOCK + 1]);
        assert_eq!((long[10], long[10 + 5 + BLOCK]), (0, 1));
    }
}
