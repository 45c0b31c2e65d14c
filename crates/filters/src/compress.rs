//! The filters that compress a message. The sender's end turns a value into compressed bytes, and the
//! receiver's end turns the bytes back into the value.
//!
//! The compressed bytes are: method (u8: 1 LZ4, 2 zstd), number of parts (u16), length of the body (u64),
//! all little-endian, then the compressed body of a message (`docs/reference/message.md`).

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::parcel::{kind_of, Data, Parcel};
use crate::view::{allowed, room};
use ligament_catalogue::{fault, Fault};
use ligament_wire::{decode_body, Bytes, Encoder, Limits, Value};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

const LZ4: u8 = 1;
const ZSTD: u8 = 2;
const HEAD: usize = 11;
/// Usual maximum of the ratio of uncompressed to compressed bytes. Few messages have a larger one.
const MAX_USUAL_RATIO: usize = 256;
/// The compression level of zstd, which is also zstd's own default.
const LEVEL: i32 = 3;

/// The filter that compresses a message at the sender.
pub(crate) struct Compress {
    /// The compression level of zstd. None means LZ4.
    level: Option<i32>,
    encoder: Encoder,
    body: Vec<u8>,
    /// The working memory of zstd, which is reused for each message.
    zstd: Option<zstd::bulk::Compressor<'static>>,
    /// Maximum length of a message before compression, in bytes. None means no limit.
    most: Option<u64>,
}

/// Refuses a message that is larger before compression than the conduit's message size allows. The same
/// message would be refused without compression.
fn within(length: u64, most: Option<u64>) -> Result<(), Fault> {
    match most.filter(|&most| length > most.max(MAX_USUAL_RATIO as u64)) {
        None => Ok(()),
        Some(most) => Err(fault!(
            FILTER_FAILED,
            "without compression the message has {length} bytes, and those of this conduit may have {most} \
             (\"message_size\", \"message_sizes\")"
        )),
    }
}

impl Compress {
    pub fn new(method: Option<&str>, level: Option<u64>) -> Result<Compress, Fault> {
        let level = match (method, level) {
            (Some("zstd"), None) => Some(LEVEL),
            (Some("zstd"), Some(level @ 1..=22)) => Some(level as i32),
            (Some("zstd"), Some(level)) => {
                return Err(fault!(FILTER_FAILED, "zstd has levels 1 to 22, and this is {level}"))
            }
            (_, None) => None,
            (_, Some(_)) => {
                return Err(fault!(FILTER_FAILED, "only zstd has levels; write \"method: zstd\", or no level"))
            }
        };
        Ok(Compress { level, encoder: Encoder::new(), body: Vec::new(), zstd: None, most: None })
    }

    /// Returns the filter with a maximum length of messages before compression, in bytes.
    pub fn up_to(self, most: Option<u64>) -> Compress {
        Compress { most, ..self }
    }
}

impl FilterStep for Compress {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let value = parcel.data.to_send();
        let plan = self.encoder.plan(&value).map_err(|error| fault!(FILTER_FAILED, "{error}"))?;
        let length = plan.body_len();
        within(length, self.most)?;
        self.body.resize(length as usize, 0);
        plan.write_body(&mut self.body);
        let room = match self.level {
            None => lz4_flex::block::get_maximum_output_size(self.body.len()),
            Some(_) => zstd::zstd_safe::compress_bound(self.body.len()),
        };
        let mut out = vec![0; HEAD + room];
        out[0] = if self.level.is_some() { ZSTD } else { LZ4 };
        out[1..3].copy_from_slice(&plan.parts().to_le_bytes());
        out[3..HEAD].copy_from_slice(&length.to_le_bytes());
        let written = match self.level {
            None => lz4_flex::block::compress_into(&self.body, &mut out[HEAD..])
                .map_err(|e| fault!(FILTER_FAILED, "{e}")),
            Some(level) => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none
                        .insert(zstd::bulk::Compressor::new(level).map_err(|e| fault!(FILTER_FAILED, "{e}"))?),
                };
                zstd.compress_to_buffer(&self.body, &mut out[HEAD..]).map_err(|e| fault!(FILTER_FAILED, "{e}"))
            }
        }?;
        out.truncate(HEAD + written);
        Ok(StepOutput::One(parcel.with(Data::Kept(Value::Bytes(Bytes::from(out))))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

/// The filter that restores a message at the receiver. Another process has written the length of the body,
/// so the filter does not trust it: memory for zstd's output grows as the output is produced.
#[derive(Default)]
pub(crate) struct Decompress {
    /// The working memory of zstd, which is reused for each message.
    zstd: Option<Decoder<'static>>,
    /// Maximum length of a message after decompression, in bytes. None means no limit.
    most: Option<u64>,
}

impl FilterStep for Decompress {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let bytes = match &parcel.data {
            Data::Kept(Value::Bytes(bytes)) if bytes.len() >= HEAD => bytes,
            other => {
                return Err(fault!(
                    FILTER_FAILED,
                    "compressed bytes should have come, and this is {}",
                    kind_of(other)
                ))
            }
        };
        let parts = u16::from_le_bytes([bytes[1], bytes[2]]);
        let length = u64::from_le_bytes(bytes[3..HEAD].try_into().expect("eight bytes"));
        let packed = &bytes[HEAD..];
        within(length, self.most)?;
        // LZ4 makes at most 255 bytes of one byte. zstd makes more than that only of repeated data, and
        // within its own limits.
        let whole = allowed(&[length], 1)?;
        if bytes[0] == LZ4 && length / 256 > packed.len() as u64 {
            return Err(fault!(FILTER_FAILED, "{} compressed bytes cannot be {length} bytes", packed.len()));
        }
        let body = match bytes[0] {
            LZ4 => {
                let mut body = room(&[length])?;
                body.resize(whole, 0);
                let written = lz4_flex::block::decompress_into(packed, &mut body)
                    .map_err(|e| fault!(FILTER_FAILED, "{e}"))?;
                body.truncate(written);
                body
            }
            ZSTD => self.unpacked(packed, whole)?,
            other => return Err(fault!(FILTER_FAILED, "there is no compression of number {other}")),
        };
        if body.len() as u64 != length {
            return Err(fault!(
                FILTER_FAILED,
                "{length} bytes should have come out of compression, and {} did",
                body.len()
            ));
        }
        let value = decode_body(parts, Bytes::from(body), &Limits::default())
            .map_err(|e| fault!(FILTER_FAILED, "{e}"))?;
        Ok(StepOutput::One(parcel.with(Data::Kept(value))))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

impl Decompress {
    /// Returns the filter with a maximum length of messages after decompression, in bytes.
    pub fn up_to(self, most: Option<u64>) -> Decompress {
        Decompress { most, ..self }
    }

    /// Decompresses data of zstd to at most `most` bytes.
    fn unpacked(&mut self, packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
        let wrong = |error: std::io::Error| fault!(FILTER_FAILED, "{error}");
        let decoder = match &mut self.zstd {
            Some(decoder) => decoder,
            none => none.insert(Decoder::new().map_err(wrong)?),
        };
        decoder.reinit().map_err(wrong)?;
        let mut body = Vec::new();
        let mut from = InBuffer::around(packed);
        loop {
            // The first buffer is large enough for most messages. For a message with a higher ratio, the
            // buffer doubles as bytes are produced.
            let more = body.len().max(packed.len().saturating_mul(MAX_USUAL_RATIO)).min(most - body.len());
            let no_memory = |_| fault!(FILTER_FAILED, "there is no memory for {most} bytes");
            body.try_reserve_exact(more).map_err(no_memory)?;
            let before = (from.pos(), body.len());
            let at = body.len();
            let left = decoder.run(&mut from, &mut OutBuffer::around_pos(&mut body, at)).map_err(wrong)?;
            if left == 0 {
                return Ok(body);
            }
            if body.len() > most || (from.pos(), body.len()) == before {
                return Err(fault!(
                    FILTER_FAILED,
                    "{most} bytes should have come out of compression, and these do not end there"
                ));
            }
        }
    }
}
