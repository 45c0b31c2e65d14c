//! The three messages of a connection's greeting at a relay: the caller's request, the relay's challenge,
//! the caller's proof. The relay passes nothing on before. No I/O.

use crate::keys::{random, Prover};
use ligament_catalogue::{fault, Fault};

const MAGIC: [u8; 8] = *b"LIGRELAY";
const VERSION: u32 = 1;
pub(crate) const ASK_BYTES: usize = 120;
pub(crate) const CHALLENGE_BYTES: usize = 64;
pub(crate) const PROOF_BYTES: usize = 32;

/// The request to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Joins this connection with a connection of a domain that waits.
    Meet(MeetingPoint),
    /// Makes this connection wait as the domain until another connection wants that domain.
    Wait(MeetingPoint),
    /// Joins this connection with the next relay, which has this name.
    Onward([u8; 16]),
}

/// The name of a domain of a run, which connections give that want the domain or wait as it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MeetingPoint {
    pub run: [u8; 16],
    pub domain: u32,
}

/// The first message to a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub want: Want,
    /// Number that is the same at all relays that one connection passes, so that a relay notices a loop.
    pub circuit: [u8; 16],
    pub nonce: [u8; 32],
}

impl Ask {
    pub fn encode(&self, prover: &Prover) -> [u8; ASK_BYTES] {
        let mut bytes = [0; ASK_BYTES];
        let (what, name, domain) = match self.want {
            Want::Meet(MeetingPoint { run, domain }) => (1_u32, run, domain),
            Want::Wait(MeetingPoint { run, domain }) => (2, run, domain),
            Want::Onward(name) => (3, name, 0),
        };
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&what.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.circuit);
        bytes[32..48].copy_from_slice(&name);
        bytes[48..52].copy_from_slice(&domain.to_le_bytes());
        bytes[56..88].copy_from_slice(&self.nonce);
        let tag = prover.prove("ask", &[&bytes[..88]]);
        bytes[88..].copy_from_slice(&tag);
        bytes
    }

    /// Reads a request and checks its proof.
    ///
    /// # Errors
    /// The request is wrong; the fault is for the relay's own log only.
    pub fn decode(bytes: &[u8; ASK_BYTES], prover: &Prover) -> Result<Ask, Fault> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if bytes[..8] != MAGIC {
            return Err(fault!(NOT_LET_IN, "the greeting is not meant for a relay of Ligament"));
        }
        if u32_at(8) != VERSION {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "a request of version {}, where this relay knows {VERSION}; use the same version everywhere",
                u32_at(8)
            ));
        }
        if !prover.holds("ask", &[&bytes[..88]], &bytes[88..]) {
            return Err(fault!(NOT_LET_IN, "it does not hold the relay's key"));
        }
        let (name, domain) = (bytes[32..48].try_into().expect("16 bytes"), u32_at(48));
        let meeting = MeetingPoint { run: name, domain };
        let want = match u32_at(12) {
            1 => Want::Meet(meeting),
            2 => Want::Wait(meeting),
            3 if domain == 0 => Want::Onward(name),
            _ => return Err(fault!(NOT_LET_IN, "a request that makes no sense")),
        };
        if u32_at(52) != 0 {
            return Err(fault!(NOT_LET_IN, "a request that makes no sense"));
        }
        Ok(Ask {
            want,
            circuit: bytes[16..32].try_into().expect("16 bytes"),
            nonce: bytes[56..88].try_into().expect("32 bytes"),
        })
    }
}

/// Returns the relay's answer to a request: a random number, and the proof that the relay holds the key.
pub(crate) fn challenge(prover: &Prover, ask: &[u8; ASK_BYTES]) -> [u8; CHALLENGE_BYTES] {
    let mut bytes = [0; CHALLENGE_BYTES];
    bytes[..32].copy_from_slice(&random::<32>());
    let tag = prover.prove("challenge", &[ask, &bytes[..32]]);
    bytes[32..].copy_from_slice(&tag);
    bytes
}

/// Returns true if `answer` answers this request and its sender holds the key.
pub(crate) fn is_challenge(prover: &Prover, ask: &[u8; ASK_BYTES], answer: &[u8; CHALLENGE_BYTES]) -> bool {
    prover.holds("challenge", &[ask, &answer[..32]], &answer[32..])
}

/// Returns the caller's proof that it has not only repeated a recorded request.
pub(crate) fn proof(
    prover: &Prover,
    ask: &[u8; ASK_BYTES],
    challenge: &[u8; CHALLENGE_BYTES],
) -> [u8; PROOF_BYTES] {
    prover.prove("passage", &[ask, challenge])
}

/// Returns true if `proof` is the right proof for this request and this challenge.
pub(crate) fn is_proof(
    prover: &Prover,
    ask: &[u8; ASK_BYTES],
    challenge: &[u8; CHALLENGE_BYTES],
    proof: &[u8; PROOF_BYTES],
) -> bool {
    prover.holds("passage", &[ask, challenge], proof)
}
