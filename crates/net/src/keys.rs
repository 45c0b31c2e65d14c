//! The common secret of all domains of a run: one secret, and the keys derived from it.

use crate::private::{self, Unread};
use ligament_catalogue::{fault, Fault};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use zeroize::Zeroizing;

/// Length of the secret (bytes).
pub(crate) const SECRET_BYTES: usize = 32;

/// The keys of one run. A process that has them belongs to the run. All keys are derived from one random
/// secret, each under a label of its own: the key by which domains prove themselves (HMAC-SHA256), the name
/// of the run in greetings, and the key pair (Ed25519) that both ends of an encrypted stream must show.
#[derive(Clone, PartialEq, Eq)]
pub struct RunKeys {
    /// The secret is wiped when it is dropped, as is everything derived from it, except copies inside the
    /// library of ciphers.
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

/// A proof that its sender has a run's secret.
pub(crate) type ProofTag = [u8; 32];

impl RunKeys {
    /// Makes new keys, from the kernel's random numbers.
    ///
    /// # Panics
    /// The kernel has no random numbers.
    pub fn make() -> RunKeys {
        RunKeys { secret: Zeroizing::new(random()) }
    }

    pub(crate) fn from_secret(secret: impl Into<Zeroizing<[u8; SECRET_BYTES]>>) -> RunKeys {
        RunKeys { secret: secret.into() }
    }

    /// Reads a file with the secret, which only its owner can read.
    ///
    /// # Errors
    /// The file cannot be read, other users can read it, or its text is not 64 hexadecimal digits.
    pub fn read(path: &Path) -> Result<RunKeys, Fault> {
        let name = path.display();
        let text = private::read(path).map_err(|unread| match unread {
            Unread::Failed(error) => fault!(PATH_KEY, "{name}: the key cannot be read: {error}"),
            Unread::NoFile => fault!(PATH_KEY, "{name} is not a file, as a key is"),
            Unread::Shared(mode) => fault!(
                PATH_KEY,
                "{name} can be read or written by others than its owner (mode {mode:04o}), and whoever has the \
                 key can take part; make a new one, and keep it to yourself (chmod 600)"
            ),
            Unread::Foreign(owner) => fault!(PATH_KEY, "{name} belongs to user {owner}, not to you"),
        })?;
        RunKeys::from_hex(text.trim()).ok_or_else(|| fault!(PATH_KEY, "{name} is not 64 hexadecimal digits"))
    }

    /// Writes the secret into a new file that only its owner can read, as a whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written, or there is a file of this name. The other end may have a copy of its key.
    pub fn write(&self, path: &Path) -> Result<(), Fault> {
        let text = Zeroizing::new(format!("{}\n", self.to_hex()));
        private::write_new(path, &text).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => fault!(
                PATH_KEY,
                "{}: there is a file of this name already, and the other end may have a copy of its key; \
                 remove it if not, or name another one",
                path.display()
            ),
            _ => fault!(PATH_KEY, "{}: the key cannot be written: {error}", path.display()),
        })
    }

    /// Returns the secret as 64 hexadecimal digits.
    pub(crate) fn to_hex(&self) -> String {
        self.secret.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads a text that `to_hex` wrote.
    pub(crate) fn from_hex(text: &str) -> Option<RunKeys> {
        if text.len() != 2 * SECRET_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(RunKeys::from_secret(bytes))
    }

    fn derived(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.secret[..]);
        let signed = hmac::sign(&key, label.as_bytes());
        Zeroizing::new(signed.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Returns the name of the run in greetings.
    pub(crate) fn run(&self) -> [u8; 16] {
        self.derived("ligament 1: run")[..16].try_into().expect("16 bytes")
    }

    /// Returns the name of the relay in greetings, if this is a relay's secret.
    pub(crate) fn relay(&self) -> [u8; 16] {
        self.derived("ligament 1: relay")[..16].try_into().expect("16 bytes")
    }

    /// Returns the seed of the key pair for encryption.
    pub(crate) fn identity(&self) -> Zeroizing<[u8; 32]> {
        self.derived("ligament 1: identity")
    }

    /// Returns the prover, with which each end shows to the other that it knows the key.
    pub(crate) fn prover(&self) -> Prover {
        Prover { key: hmac::Key::new(hmac::HMAC_SHA256, &self.derived("ligament 1: proofs")[..]) }
    }
}

impl fmt::Debug for RunKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKeys(…)")
    }
}

/// Makes proofs and checks them.
pub(crate) struct Prover {
    key: hmac::Key,
}

impl Prover {
    /// Makes a proof over some parts, for one purpose. No part's length may depend on the sender.
    pub fn prove(&self, purpose: &str, parts: &[&[u8]]) -> ProofTag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(purpose.as_bytes());
        parts.iter().for_each(|part| context.update(part));
        context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Returns true if a proof is right. The comparison takes constant time.
    pub fn holds(&self, purpose: &str, parts: &[&[u8]], tag: &[u8]) -> bool {
        let message: Vec<u8> = [purpose.as_bytes()].iter().chain(parts).copied().flatten().copied().collect();
        hmac::verify(&self.key, &message, tag).is_ok()
    }
}

/// Returns random bytes.
///
/// # Panics
/// The kernel has no random numbers.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the kernel gives random numbers");
    bytes
}
