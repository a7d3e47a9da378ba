//! The one source of random choices: SplitMix64, pinned by known outputs.
//!
//! A generator from a crate may change its stream between releases; a script's seed must mean the same cuts for as
//! long as scripts are kept. This one is ten lines and never changes. It is no source of secrets.

/// SplitMix64 (Steele, Lea and Flood 2014): 64 bits of state, period 2^64.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts a stream. Equal seeds give equal streams.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// Starts the stream of one part of a script, so that adding a turn does not move the choices of another.
    pub fn for_part(seed: u64, part: u64) -> Self {
        let mut stream = SplitMix64(seed ^ part.wrapping_mul(0xd134_2543_de82_ef95));
        // One step apart, so that part 0 of a seed is not the plain stream of that seed.
        SplitMix64(stream.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 1 to 64.
    pub fn up_to_64(&mut self) -> usize {
        // The top six bits: 0 to 63, each equally likely.
        (self.next_u64() >> 58) as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut stream = SplitMix64::new(1_234_567);
        let got: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(got, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn parts_of_one_seed_have_streams_of_their_own() {
        let first = |part| SplitMix64::for_part(7, part).next_u64();
        assert_ne!(first(0), first(1));
        assert_ne!(first(0), SplitMix64::new(7).next_u64());
    }

    #[test]
    fn the_write_sizes_cover_the_whole_range() {
        let mut stream = SplitMix64::new(1);
        let sizes: std::collections::BTreeSet<usize> = (0..2_000).map(|_| stream.up_to_64()).collect();
        assert_eq!((sizes.first(), sizes.last(), sizes.len()), (Some(&1), Some(&64), 64));
    }
}
