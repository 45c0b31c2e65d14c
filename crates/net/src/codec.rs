//! Compression of pieces, by LZ4 or Zstandard. The bytes of numbers are first sorted by their place in the
//! number. A piece that does not get smaller is sent unpacked. `compression_choice` decides for which
//! conduits compression is tried at all.

use crate::compression_choice::{CompressionChoice, Verdict};
use crate::{Compression, MessageStore};
use ligament_catalogue::{fault, Fault};
use ligament_path::{FrameHeader, MessageId};
use std::time::{Duration, Instant};

/// Minimum length of a piece that is packed (bytes).
const MIN_PACKED_BYTES: u32 = 4 << 10;
/// Length of the sample on which the methods are tried (bytes).
const SAMPLE_BYTES: usize = 32 << 10;
/// Zstandard's level.
const LEVEL: i32 = 1;

/// The packing of a piece. The low four bits are the method. If the high four bits are n > 0, numbers have 2^n
/// bytes, and the bytes are grouped: all first bytes of the numbers, then all second bytes. 0: not grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackingMethod(u8);

impl PackingMethod {
    const LZ4: u8 = 1;
    const ZSTD: u8 = 2;
    /// All methods that are tried, the faster ones first.
    pub const ALL: [PackingMethod; 6] = [
        PackingMethod(0x01),
        PackingMethod(0x21),
        PackingMethod(0x31),
        PackingMethod(0x02),
        PackingMethod(0x22),
        PackingMethod(0x32),
    ];

    fn known(code: u8) -> Option<PackingMethod> {
        PackingMethod::ALL.into_iter().find(|method| method.0 == code)
    }

    /// Returns the size of a number (bytes).
    fn element(self) -> usize {
        1 << (self.0 >> 4)
    }
}

/// Packs and unpacks the pieces of one path.
pub(crate) struct Codec {
    wanted: Compression,
    pays: CompressionChoice,
    packer: Option<zstd::bulk::Compressor<'static>>,
    unpacker: Option<zstd::bulk::Decompressor<'static>>,
    raw: Vec<u8>,
    sorted: Vec<u8>,
}

impl Codec {
    pub fn new(wanted: Compression) -> Codec {
        Codec {
            wanted,
            pays: CompressionChoice::default(),
            packer: None,
            unpacker: None,
            raw: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// Returns the method and the packed piece, or `None` if it is better to send the piece unpacked.
    /// `link` is the rate of the path in bytes per second, if the link is the bottleneck.
    pub fn pack(
        &mut self,
        domain: u32,
        header: &FrameHeader,
        id: MessageId,
        link: Option<f64>,
        cargo: &dyn MessageStore,
    ) -> Option<(u8, Vec<u8>)> {
        if self.wanted == Compression::Never || header.len < MIN_PACKED_BYTES {
            return None;
        }
        let link = if self.wanted == Compression::Always { Some(1.0) } else { link };
        let verdict = self.pays.ask(id.conduit, link);
        if verdict == Verdict::AsItIs {
            return None;
        }
        self.gather(domain, header, id, cargo);
        let raw = std::mem::take(&mut self.raw);
        let method = match verdict {
            Verdict::AsItIs => None,
            Verdict::By(method) => Some(method),
            Verdict::Try => self.best(&raw, link?).inspect(|method| self.pays.found(id.conduit, *method)),
        };
        let packed = method.and_then(|method| self.packed(&raw, method)).filter(|(_, bytes)| {
            // A gain of a sixteenth or less is not worth the work.
            bytes.len() < raw.len() - raw.len() / 16
        });
        self.raw = raw;
        self.pays.was(id.conduit, packed.is_some());
        packed
    }

    fn gather(&mut self, domain: u32, header: &FrameHeader, id: MessageId, cargo: &dyn MessageStore) {
        let mut slices = Vec::new();
        cargo.slices(domain, id, header.offset, header.len, &mut slices);
        self.raw.clear();
        slices.iter().for_each(|slice| self.raw.extend_from_slice(slice));
    }

    /// Returns the method by which a piece like this one arrives soonest, or `None` if sending it unpacked
    /// is faster. One piece is packed while others are sent, so the slower of the two sets the pace.
    fn best(&mut self, raw: &[u8], link: f64) -> Option<PackingMethod> {
        let from = (raw.len() / 2).saturating_sub(SAMPLE_BYTES / 2) & !7;
        let sample = &raw[from..raw.len().min(from + SAMPLE_BYTES)];
        let mut best = (link * 1.1, None);
        // Work that is done only once, such as making a packer, is not measured.
        let _ = PackingMethod::ALL.map(|method| self.packed(&[], method));
        for method in PackingMethod::ALL {
            let began = Instant::now();
            let Some((_, packed)) = self.packed(sample, method) else { continue };
            let took = began.elapsed().max(Duration::from_nanos(1));
            let packs = sample.len() as f64 / took.as_secs_f64();
            let leaves = link * sample.len() as f64 / packed.len() as f64;
            let pace = packs.min(leaves);
            if pace > best.0 {
                best = (pace, Some(method));
            }
        }
        best.1
    }

    fn packed(&mut self, raw: &[u8], method: PackingMethod) -> Option<(u8, Vec<u8>)> {
        let bytes = if method.element() > 1 {
            sort(raw, method.element(), &mut self.sorted);
            &self.sorted
        } else {
            raw
        };
        let packed = match method.0 & 15 {
            PackingMethod::LZ4 => lz4_flex::block::compress(bytes),
            PackingMethod::ZSTD => {
                if self.packer.is_none() {
                    self.packer = zstd::bulk::Compressor::new(LEVEL).ok();
                }
                self.packer.as_mut()?.compress(bytes).ok()?
            }
            _ => return None,
        };
        Some((method.0, packed))
    }

    /// Unpacks a piece into the memory of its message.
    ///
    /// # Errors
    /// The method is not known, or the length of the result is wrong.
    pub fn unpack(&mut self, code: u8, packed: &[u8], into: &mut [u8]) -> Result<(), Fault> {
        let Some(method) = PackingMethod::known(code) else {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "a piece packed by method {code}, which this version does not know"
            ));
        };
        let mut sorted = std::mem::take(&mut self.sorted);
        let unsort = method.element() > 1;
        sorted.resize(if unsort { into.len() } else { 0 }, 0);
        let target: &mut [u8] = if unsort { &mut sorted } else { into };
        let unpacked = match method.0 & 15 {
            PackingMethod::LZ4 => {
                lz4_flex::block::decompress_into(packed, target).map_err(|error| damaged(&error))
            }
            _ => {
                if self.unpacker.is_none() {
                    self.unpacker = zstd::bulk::Decompressor::new().ok();
                }
                match &mut self.unpacker {
                    Some(unpacker) => {
                        unpacker.decompress_to_buffer(packed, target).map_err(|error| damaged(&error))
                    }
                    None => Err(fault!(NO_MEMORY_FOR_OTHERS, "there is no memory for it")),
                }
            }
        };
        let wanted = into.len();
        if unsort && unpacked == Ok(wanted) {
            unsorted(&sorted, method.element(), into);
        }
        self.sorted = sorted;
        match unpacked {
            Ok(bytes) if bytes == wanted => Ok(()),
            Ok(bytes) => Err(fault!(DOMAIN_SENDS_NONSENSE, "a piece of {wanted} bytes, unpacked: {bytes}")),
            Err(why) => Err(why),
        }
    }
}

/// Puts the first bytes of all numbers first, then the second bytes, and so on; remaining bytes stay at the
/// end.
fn sort(bytes: &[u8], element: usize, into: &mut Vec<u8>) {
    into.clear();
    let numbers = bytes.chunks_exact(element);
    for place in 0..element {
        into.extend(numbers.clone().map(|number| number[place]));
    }
    into.extend_from_slice(numbers.remainder());
}

/// Undoes `sort`.
fn unsorted(sorted: &[u8], element: usize, into: &mut [u8]) {
    let many = into.len() / element;
    for (place, bytes) in sorted.chunks_exact(many.max(1)).take(element).enumerate() {
        into.chunks_exact_mut(element).zip(bytes).for_each(|(number, byte)| number[place] = *byte);
    }
    let whole = many * element;
    into[whole..].copy_from_slice(&sorted[whole..]);
}

fn damaged(error: &dyn std::fmt::Display) -> Fault {
    fault!(DOMAIN_SENDS_NONSENSE, "a piece cannot be unpacked: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(bytes: &[u8], method: PackingMethod) {
        let mut codec = Codec::new(Compression::Always);
        let (code, packed) = codec.packed(bytes, method).unwrap();
        let mut back = vec![0; bytes.len()];
        codec.unpack(code, &packed, &mut back).unwrap();
        assert_eq!(back, bytes, "{method:?}");
    }

    proptest! {
        #[test]
        fn whatever_is_packed_by_any_method_comes_back(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000), few in 1u8..
        ) {
            for method in PackingMethod::ALL {
                there_and_back(&bytes, method);
                there_and_back(&bytes.iter().map(|byte| byte % few).collect::<Vec<_>>(), method);
            }
        }

        #[test]
        fn garbage_is_never_unpacked_beyond_its_place_nor_with_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), len in 0usize..500
        ) {
            let mut codec = Codec::new(Compression::Always);
            for code in 0..=255 {
                let _ = codec.unpack(code, &bytes, &mut vec![0; len]);
            }
        }
    }

    #[test]
    fn numbers_that_change_little_get_smaller_when_their_bytes_are_sorted() {
        let field: Vec<u8> = (0..20_000).flat_map(|i| (300.0 + f64::from(i).sin()).to_le_bytes()).collect();
        let mut codec = Codec::new(Compression::Always);
        let plain = codec.packed(&field, PackingMethod(0x02)).unwrap().1.len();
        let sorted = codec.packed(&field, PackingMethod(0x32)).unwrap().1.len();
        assert!(sorted < plain, "{sorted} and {plain}");
    }

    #[test]
    fn a_piece_that_unpacks_to_another_length_is_refused() {
        let mut codec = Codec::new(Compression::Always);
        for method in PackingMethod::ALL {
            let (code, packed) = codec.packed(&[7; 1000], method).unwrap();
            assert!(codec.unpack(code, &packed, &mut [0; 999]).is_err(), "{method:?}");
            assert!(codec.unpack(code, &packed, &mut [0; 1001]).is_err(), "{method:?}");
        }
        assert!(codec.unpack(0x41, &[], &mut []).unwrap_err().contains("method 65"));
    }
}
