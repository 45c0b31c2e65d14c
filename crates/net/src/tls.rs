//! TLS 1.3 around a socket: `rustls` does the handshake, `records` carries everything afterwards.

use crate::records::{RecordContent, Records, Renewal, HEADER_BYTES, KINDS, MAX_RECORD_BYTES};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::Error;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};

/// Number of bytes received at once: room for several records.
const RECEIVE_BUFFER_BYTES: usize = 256 << 10;
/// Number of bytes sealed at once.
const SEAL_BUFFER_BYTES: usize = 256 << 10;

/// One end of an encrypted stream.
pub(crate) struct Tls {
    stage: TlsStage,
    /// Input: opened bytes that were not taken yet, followed by records.
    coming: Vec<u8>,
    opened: std::ops::Range<usize>,
    records: std::ops::Range<usize>,
    /// During the handshake: the end of the records that were shown to `rustls`.
    shown: usize,
    /// Output for the socket.
    leaving: Vec<u8>,
    /// Number of bytes of the output that the socket has taken.
    left: usize,
    /// Content that was written before the handshake was over.
    early: Vec<u8>,
    closed: bool,
}

enum TlsStage {
    Dialler(Box<UnbufferedClientConnection>),
    Listener(Box<UnbufferedServerConnection>),
    Open(Box<Records>),
    /// The stream cannot be used, because an error occurred.
    Broken,
}

/// The result of passing input to `rustls`.
enum TlsProgress {
    /// `rustls` has consumed this many bytes and can continue.
    Goes(usize),
    /// `rustls` has consumed this many bytes, and more must arrive.
    Waits(usize),
}

fn wrong(error: Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl Tls {
    pub fn dialler(connection: UnbufferedClientConnection) -> io::Result<Tls> {
        Tls::begin(TlsStage::Dialler(Box::new(connection)))
    }

    pub fn listener(connection: UnbufferedServerConnection) -> io::Result<Tls> {
        Tls::begin(TlsStage::Listener(Box::new(connection)))
    }

    fn begin(stage: TlsStage) -> io::Result<Tls> {
        let mut tls = Tls {
            stage,
            coming: Vec::new(),
            opened: 0..0,
            records: 0..0,
            shown: 0,
            leaving: Vec::new(),
            left: 0,
            early: Vec::new(),
            closed: false,
        };
        tls.shake_hands()?;
        Ok(tls)
    }

    /// Returns output that the socket must take before anything else.
    pub fn unsent(&self) -> &[u8] {
        &self.leaving[self.left..]
    }

    /// Notes that the socket has taken this many bytes.
    pub fn sent(&mut self, bytes: usize) {
        self.left += bytes;
        if self.left == self.leaving.len() {
            self.leaving.clear();
            self.left = 0;
        }
    }

    /// Seals the first of these bytes. Returns the number of bytes that were sealed.
    pub fn seal(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.stage {
            TlsStage::Open(records) => {
                records.seal(slices, SEAL_BUFFER_BYTES, &mut self.leaving).map_err(wrong)
            }
            _ => {
                let before = self.early.len();
                slices.iter().for_each(|slice| self.early.extend_from_slice(slice));
                Ok(self.early.len() - before)
            }
        }
    }

    /// Returns the buffer for the next bytes from the socket.
    pub fn room(&mut self) -> &mut [u8] {
        if self.coming.is_empty() {
            self.coming = vec![0; RECEIVE_BUFFER_BYTES];
        }
        if self.opened.is_empty() {
            let end = self.records.end;
            self.coming.copy_within(self.records.start..end, 0);
            self.shown -= self.shown.min(self.records.start);
            self.records = 0..end - self.records.start;
            self.opened = 0..0;
        }
        &mut self.coming[self.records.end..]
    }

    /// Takes in this many bytes, which have arrived in the buffer of `room`.
    pub fn came(&mut self, bytes: usize) -> io::Result<()> {
        self.records.end += bytes;
        self.shake_hands()
    }

    /// Returns true if the other end has announced its end, and all bytes were taken.
    pub fn is_closed(&self) -> bool {
        self.closed && self.opened.is_empty()
    }

    /// Returns true if `take` has bytes or an error to return without more input from the socket.
    pub fn has_more(&self) -> bool {
        !self.opened.is_empty()
            || matches!(self.stage, TlsStage::Open(_))
                && !matches!(whole(&self.coming[self.records.clone()]), Ok(None))
    }

    /// Copies plain bytes into the slices, as many as are available and fit. Returns the number of bytes.
    pub fn take(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut taken = 0;
        for place in into {
            let mut at = 0;
            while at < place.len() {
                if self.opened.is_empty() && !self.open()? {
                    return Ok(taken);
                }
                let some = self.opened.len().min(place.len() - at);
                let from = self.opened.start;
                place[at..at + some].copy_from_slice(&self.coming[from..from + some]);
                self.opened.start += some;
                (at, taken) = (at + some, taken + some);
            }
        }
        Ok(taken)
    }

    /// Opens the next record that has content. Returns true if there was such a record.
    fn open(&mut self) -> io::Result<bool> {
        while let TlsStage::Open(records) = &mut self.stage {
            let Some(len) = whole(&self.coming[self.records.clone()]).map_err(wrong)? else { return Ok(false) };
            let begin = self.records.start;
            self.records.start += len;
            match records.open(&mut self.coming[begin..begin + len]).map_err(wrong)? {
                RecordContent::Data(from, to) if from < to => {
                    self.opened = begin + from..begin + to;
                    return Ok(true);
                }
                RecordContent::Data(..) | RecordContent::Nothing => {}
                RecordContent::Closed => self.closed = true,
            }
            if self.closed {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Continues the handshake, record by record, so that `rustls` sees no record after it.
    fn shake_hands(&mut self) -> io::Result<()> {
        while !matches!(self.stage, TlsStage::Open(_)) {
            let visible = &mut self.coming[self.records.start..self.shown.max(self.records.start)];
            let outcome = match &mut self.stage {
                TlsStage::Dialler(connection) => {
                    step(connection.process_tls_records(visible), &mut self.leaving)
                }
                TlsStage::Listener(connection) => {
                    step(connection.process_tls_records(visible), &mut self.leaving)
                }
                TlsStage::Open(_) => return Ok(()),
                TlsStage::Broken => Err(Error::HandshakeNotComplete),
            };
            let (done, waits) = match outcome.map_err(wrong)? {
                TlsProgress::Goes(done) => (done, false),
                TlsProgress::Waits(done) => (done, true),
            };
            self.records.start += done;
            if waits && self.is_shaken() {
                self.open_records()?;
            } else if waits {
                let next = self.shown.max(self.records.start);
                let Some(len) = whole(&self.coming[next..self.records.end]).map_err(wrong)? else {
                    return Ok(());
                };
                self.shown = next + len;
            }
        }
        Ok(())
    }

    fn is_shaken(&self) -> bool {
        match &self.stage {
            TlsStage::Dialler(connection) => !connection.is_handshaking(),
            TlsStage::Listener(connection) => !connection.is_handshaking(),
            TlsStage::Open(_) | TlsStage::Broken => false,
        }
    }

    /// Ends the handshake: from now on this module seals and opens the records.
    fn open_records(&mut self) -> io::Result<()> {
        let records = match std::mem::replace(&mut self.stage, TlsStage::Broken) {
            TlsStage::Dialler(connection) => connection
                .dangerous_into_kernel_connection()
                .and_then(|(secrets, state)| Records::new(secrets, Renewal::Dialler(state))),
            TlsStage::Listener(connection) => connection
                .dangerous_into_kernel_connection()
                .and_then(|(secrets, state)| Records::new(secrets, Renewal::Listener(state))),
            TlsStage::Open(_) | TlsStage::Broken => Err(Error::HandshakeNotComplete),
        };
        self.stage = TlsStage::Open(Box::new(records.map_err(wrong)?));
        let early = std::mem::take(&mut self.early);
        self.seal(&[IoSlice::new(&early)]).map(|_| ())
    }
}

#[cfg(test)]
impl Tls {
    /// Renews keys after `records` records.
    pub fn renews_after(&mut self, records: u64) {
        let TlsStage::Open(open) = &mut self.stage else { panic!("hands are not shaken") };
        open.renews_after(records);
    }

    /// Announces new keys. If `asks` is 1, the other end must renew its keys, too; if it is 0, it need not.
    /// Other values are errors.
    pub fn updates_keys(&mut self, asks: u8) {
        let TlsStage::Open(open) = &mut self.stage else { panic!("hands are not shaken") };
        open.updates_keys(asks, &mut self.leaving);
    }

    /// Returns true if the handshake is under way.
    pub fn is_shaking(&self) -> bool {
        !matches!(self.stage, TlsStage::Open(_))
    }
}

/// Returns the length of the first record, if the record has arrived whole.
fn whole(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(header) = bytes.get(..HEADER_BYTES) else { return Ok(None) };
    if !KINDS.contains(&header[0]) || header[1] != 3 {
        return Err(Error::General("what was said is not of TLS".into()));
    }
    let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if len > MAX_RECORD_BYTES {
        return Err(Error::PeerSentOversizedRecord);
    }
    Ok((bytes.len() >= HEADER_BYTES + len).then_some(HEADER_BYTES + len))
}

/// Does the work that `rustls` has requested.
fn step<Data>(status: UnbufferedStatus<'_, '_, Data>, leaving: &mut Vec<u8>) -> Result<TlsProgress, Error> {
    let UnbufferedStatus { discard, state } = status;
    match state? {
        ConnectionState::EncodeTlsData(mut data) => {
            let begin = leaving.len();
            let needed = match data.encode(&mut []) {
                Err(EncodeError::InsufficientSize(size)) => size.required_size,
                _ => 0,
            };
            leaving.resize(begin + needed, 0);
            data.encode(&mut leaving[begin..])
                .map_err(|error| Error::General(format!("what TLS has to say is not written: {error}")))?;
            Ok(TlsProgress::Goes(discard))
        }
        ConnectionState::TransmitTlsData(data) => {
            // The output is sent before anything else, so no action is needed here.
            data.done();
            Ok(TlsProgress::Goes(discard))
        }
        ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => Ok(TlsProgress::Waits(discard)),
        _ => Err(Error::General("the other end speaks or closes before hands are shaken".into())),
    }
}
