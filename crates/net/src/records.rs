//! TLS 1.3 records (RFC 8446, sections 5 and 7.2) with the keys that the handshake in `tls` has agreed on.
//! Records are sealed directly from the memory of a message, and opened in place. Keys are renewed long
//! before their limit.
//!
//! The TLS library's own connection copies arriving bytes twice and reads 4 KiB at a time; this module
//! copies each byte once in each direction, and reads 256 KiB at once. Tests run this module against the
//! library's own connections.

use ligament_catalogue::said;
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, CHACHA20_POLY1305, NONCE_LEN};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ConnectionTrafficSecrets, Error, ExtractedSecrets};
use std::io::IoSlice;

/// Number of bytes before a record's content.
pub(crate) const HEADER_BYTES: usize = 5;
/// Maximum number of plain bytes of a record.
const MAX_PLAIN_BYTES: usize = 1 << 14;
/// Maximum number of bytes that may follow a record's header.
pub(crate) const MAX_RECORD_BYTES: usize = MAX_PLAIN_BYTES + 256;
/// The kinds of records of TLS.
pub(crate) const KINDS: std::ops::RangeInclusive<u8> = 20..=23;
const TAG: usize = 16;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// A message that announces new keys of this end, and does not ask the other end for new keys.
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];
/// Maximum number of records sealed with one key; the limit of RFC 8446, section 5.5, is twice that.
const RECORDS_PER_KEY: u64 = 1 << 23;

/// Derives new keys from old ones.
pub(crate) enum Renewal {
    Dialler(KernelConnection<ClientConnectionData>),
    Listener(KernelConnection<ServerConnectionData>),
}

impl Renewal {
    fn sealing(&mut self) -> Result<Protection, Error> {
        Protection::new(match self {
            Renewal::Dialler(state) => state.update_tx_secret()?,
            Renewal::Listener(state) => state.update_tx_secret()?,
        })
    }

    fn opening(&mut self) -> Result<Protection, Error> {
        Protection::new(match self {
            Renewal::Dialler(state) => state.update_rx_secret()?,
            Renewal::Listener(state) => state.update_rx_secret()?,
        })
    }
}

/// A key, and the number of records that it has protected.
struct Protection {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    sequence: u64,
}

impl Protection {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets)) -> Result<Protection, Error> {
        let (algorithm, key, iv) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(Error::General(said!(ENCRYPTION_FAILED, "a cipher that was not offered"))),
        };
        let unfit = |_| Error::General(said!(ENCRYPTION_FAILED, "a key of another length"));
        let key = LessSafeKey::new(UnboundKey::new(algorithm, key.as_ref()).map_err(unfit)?);
        let iv = iv
            .as_ref()
            .try_into()
            .map_err(|_| Error::General(said!(ENCRYPTION_FAILED, "a nonce of another length")))?;
        Ok(Protection { key, iv, sequence })
    }

    /// Returns the next nonce. No nonce is ever used twice, because the sequence only grows.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
        self.sequence += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// The content of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RecordContent {
    /// Data bytes, from the first position to before the second.
    Data(usize, usize),
    /// Nothing that matters outside TLS itself.
    Nothing,
    /// The other end has closed its direction.
    Closed,
}

/// Both directions of an encrypted stream.
pub(crate) struct Records {
    seals: Protection,
    opens: Protection,
    renewal: Renewal,
    records_per_key: u64,
    /// True if the other end has asked for a new key of this end.
    asked: bool,
}

impl Records {
    pub fn new(secrets: ExtractedSecrets, renewal: Renewal) -> Result<Records, Error> {
        let (seals, opens) = (Protection::new(secrets.tx)?, Protection::new(secrets.rx)?);
        Ok(Records { seals, opens, renewal, records_per_key: RECORDS_PER_KEY, asked: false })
    }

    /// Encrypts the bytes of `slices`, up to `max_plain_bytes` of them, and appends the records to `into`.
    /// Returns how many bytes of the slices the records contain.
    pub fn seal(
        &mut self,
        slices: &[IoSlice<'_>],
        max_plain_bytes: usize,
        into: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let all = slices.iter().map(|slice| slice.len()).sum::<usize>().min(max_plain_bytes);
        let mut rest = slices.iter();
        let mut current: &[u8] = &[];
        let mut done = 0;
        while done < all {
            if self.asked || self.seals.sequence >= self.records_per_key {
                self.asked = false;
                self.seal_one(HANDSHAKE, |into| into.extend_from_slice(&KEY_UPDATE), into)?;
                self.seals = self.renewal.sealing()?;
            }
            let len = MAX_PLAIN_BYTES.min(all - done);
            let fill = |into: &mut Vec<u8>| {
                let mut left = len;
                while left > 0 {
                    if current.is_empty() {
                        let Some(next) = rest.next() else { break };
                        current = next;
                        continue;
                    }
                    let (now, later) = current.split_at(current.len().min(left));
                    into.extend_from_slice(now);
                    (current, left) = (later, left - now.len());
                }
            };
            self.seal_one(DATA, fill, into)?;
            done += len;
        }
        Ok(done)
    }

    fn seal_one(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>), into: &mut Vec<u8>) -> Result<(), Error> {
        let begin = into.len();
        into.extend_from_slice(&[DATA, 3, 3, 0, 0]);
        fill(into);
        into.push(kind);
        let len = (into.len() - begin - HEADER_BYTES + TAG) as u16;
        into[begin + 3..begin + HEADER_BYTES].copy_from_slice(&len.to_be_bytes());
        let (header, content) = into[begin..].split_at_mut(HEADER_BYTES);
        let nonce = self.seals.nonce();
        let tag = self.seals.key.seal_in_place_separate_tag(nonce, Aad::from(&*header), content);
        let tag = tag.map_err(|_| Error::EncryptError)?;
        into.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Opens a whole record in place.
    pub fn open(&mut self, record: &mut [u8]) -> Result<RecordContent, Error> {
        let (header, content) = record.split_at_mut(HEADER_BYTES);
        if header[0] != DATA {
            return Err(Error::General(said!(
                ENCRYPTION_FAILED,
                "a record of kind {} that is not encrypted",
                header[0]
            )));
        }
        let nonce = self.opens.nonce();
        let opened = self.opens.key.open_in_place(nonce, Aad::from(&*header), content);
        let plain = opened.map_err(|_| Error::DecryptError)?;
        // The content is followed by its kind and zeros.
        let Some(end) = plain.iter().rposition(|byte| *byte != 0) else {
            return Err(Error::General(said!(ENCRYPTION_FAILED, "a record of no kind")));
        };
        if end > MAX_PLAIN_BYTES {
            return Err(Error::PeerSentOversizedRecord);
        }
        match (plain[end], &plain[..end]) {
            (DATA, _) => Ok(RecordContent::Data(HEADER_BYTES, HEADER_BYTES + end)),
            // RFC 8446, section 4.6.3: any other value closes the stream.
            (HANDSHAKE, [24, 0, 0, 1, asks @ (0 | 1)]) => {
                // The request is answered before the next record is sealed.
                self.asked |= *asks == 1;
                self.opens = self.renewal.opening()?;
                Ok(RecordContent::Nothing)
            }
            (ALERT, [_, 0]) => Ok(RecordContent::Closed),
            (ALERT, [_, what]) => {
                Err(Error::General(said!(ENCRYPTION_FAILED, "the other end reports TLS alert {what}")))
            }
            (kind, _) => Err(Error::General(said!(
                ENCRYPTION_FAILED,
                "a record of kind {kind} that has no business here"
            ))),
        }
    }
}

#[cfg(test)]
impl Records {
    /// Renews keys after `records` records.
    pub fn renews_after(&mut self, records: u64) {
        self.records_per_key = records;
    }

    /// Announces new keys. If `asks` is 1, the other end must renew its keys, too.
    pub fn updates_keys(&mut self, asks: u8, into: &mut Vec<u8>) {
        self.seal_one(HANDSHAKE, |into| into.extend_from_slice(&[24, 0, 0, 1, asks]), into).unwrap();
        self.seals = self.renewal.sealing().unwrap();
    }
}
