//! The three messages by which two ends identify each other before a path carries anything: the dialler's
//! hello, the listener's welcome, the dialler's proof. No I/O. Their bytes are in `docs/reference/path.md`.

use crate::keys::{random, Prover, RunKeys};
use ligament_catalogue::{fault, Fault};
use ligament_path::StreamId;

const MAGIC: [u8; 8] = *b"LIGAMENT";
const VERSION: u32 = 1;
/// Flags of a hello.
const ENCRYPTED: u32 = 1;
const LAST_WORD: u32 = 2;
const OFFER: u32 = 4;
pub(crate) const HELLO_BYTES: usize = 128;
pub(crate) const WELCOME_BYTES: usize = 80;
pub(crate) const PROOF_BYTES: usize = 32;
/// Length of a last word, which is filled up with zeros.
pub(crate) const LAST_WORD_BYTES: usize = 512;
/// Maximum number of streams of a path.
pub const MAX_STREAMS: u16 = 256;

/// Identifies one process of a domain: a random number that is drawn when the process begins. A restarted
/// domain has another one.
pub(crate) type Boot = [u8; 16];

/// The first message of a dialler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// True if the connection brings a last word and is not a stream. The domain's process is gone, and the
    /// process that outlived it gives the reason.
    pub encrypt: bool,
    /// True if the connection brings a last word and is not a stream: the domain's process is gone, and the
    /// process that outlived it will give the reason.
    pub last_word: bool,
    /// True if the end that listens for this path has made the connection, so that the other end dials over
    /// it.
    pub offer: bool,
    /// The domain that sends the hello.
    pub from: u32,
    /// The domain that the sender wants to reach.
    pub to: u32,
    pub boot: Boot,
    pub stream: StreamId,
    /// Grows each time the stream is dialled.
    pub incarnation: u32,
    /// A random number of the dialler.
    pub nonce: [u8; 32],
}

/// The subject of a greeting: the domain, its process, the stream, and the flags for a last word and for an
/// offer. Each new greeting about a subject has a higher incarnation.
pub(crate) type Lineage = (u32, Boot, StreamId, bool, bool);

impl Hello {
    pub(crate) fn line(&self) -> Lineage {
        (self.from, self.boot, self.stream, self.last_word, self.offer)
    }

    /// Returns the bytes of the hello, with the proof that the sender has the run's keys.
    pub(crate) fn encode(&self, keys: &RunKeys, prover: &Prover) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let flag = |is, flag| if is { flag } else { 0 };
        let flags = flag(self.encrypt, ENCRYPTED) | flag(self.last_word, LAST_WORD) | flag(self.offer, OFFER);
        bytes[12..16].copy_from_slice(&flags.to_le_bytes());
        bytes[16..32].copy_from_slice(&keys.run());
        bytes[32..48].copy_from_slice(&self.boot);
        bytes[48..52].copy_from_slice(&self.from.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.to.to_le_bytes());
        bytes[56..58].copy_from_slice(&self.stream.to_le_bytes());
        bytes[60..64].copy_from_slice(&self.incarnation.to_le_bytes());
        bytes[64..96].copy_from_slice(&self.nonce);
        let tag = prover.prove("hello", &[&bytes[..96]]);
        bytes[96..].copy_from_slice(&tag);
        bytes
    }

    /// Reads a hello and checks its proof.
    ///
    /// # Errors
    /// The hello is wrong; the fault is for this end's log only.
    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES], keys: &RunKeys, prover: &Prover) -> Result<Hello, Fault> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if bytes[..8] != MAGIC {
            return Err(fault!(NOT_LET_IN, "the greeting is not of Ligament"));
        }
        if u32_at(8) != VERSION {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "a greeting of version {}, where this Ligament knows {VERSION}; use the same version \
                 everywhere",
                u32_at(8)
            ));
        }
        if bytes[16..32] != keys.run() {
            return Err(fault!(NOT_LET_IN, "it wants another run"));
        }
        if !prover.holds("hello", &[&bytes[..96]], &bytes[96..]) {
            return Err(fault!(NOT_LET_IN, "it does not hold the run's keys"));
        }
        let stream = u16::from_le_bytes(bytes[56..58].try_into().expect("two bytes"));
        if stream >= MAX_STREAMS
            || bytes[58..60] != [0, 0]
            || u32_at(12) & !(ENCRYPTED | LAST_WORD | OFFER) != 0
        {
            return Err(fault!(NOT_LET_IN, "a greeting that makes no sense"));
        }
        Ok(Hello {
            encrypt: u32_at(12) & ENCRYPTED != 0,
            last_word: u32_at(12) & LAST_WORD != 0,
            offer: u32_at(12) & OFFER != 0,
            from: u32_at(48),
            to: u32_at(52),
            boot: bytes[32..48].try_into().expect("16 bytes"),
            stream,
            incarnation: u32_at(60),
            nonce: bytes[64..96].try_into().expect("32 bytes"),
        })
    }
}

/// Makes a listener's answer to a hello: the listener's `Boot`, a random number, and the proof.
pub(crate) fn welcome(prover: &Prover, hello: &[u8; HELLO_BYTES], boot: &Boot) -> [u8; WELCOME_BYTES] {
    let mut bytes = [0; WELCOME_BYTES];
    bytes[..16].copy_from_slice(boot);
    bytes[16..48].copy_from_slice(&random::<32>());
    let tag = prover.prove("welcome", &[hello, &bytes[..48]]);
    bytes[48..].copy_from_slice(&tag);
    bytes
}

/// Returns the `Boot` of the domain that sent the welcome, if the welcome answers this hello and its sender
/// has the run's keys.
pub(crate) fn welcomed(
    prover: &Prover,
    hello: &[u8; HELLO_BYTES],
    welcome: &[u8; WELCOME_BYTES],
) -> Option<Boot> {
    let holds = prover.holds("welcome", &[hello, &welcome[..48]], &welcome[48..]);
    holds.then(|| welcome[..16].try_into().expect("16 bytes"))
}

/// Makes the dialler's proof that it has read the welcome, and did not only repeat a recorded hello.
pub(crate) fn proof(
    prover: &Prover,
    hello: &[u8; HELLO_BYTES],
    welcome: &[u8; WELCOME_BYTES],
) -> [u8; PROOF_BYTES] {
    prover.prove("proof", &[hello, welcome])
}

/// Returns true if `proof` is the right proof for this hello and this welcome.
pub(crate) fn proved(
    prover: &Prover,
    hello: &[u8; HELLO_BYTES],
    welcome: &[u8; WELCOME_BYTES],
    proof: &[u8; PROOF_BYTES],
) -> bool {
    prover.holds("proof", &[hello, welcome], proof)
}
