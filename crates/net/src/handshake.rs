//! A connection that is not a stream yet: it is being made, or its ends still exchange greetings. The code
//! calls such a connection a guest. A listener sends nothing until the dialler has proved that it holds the
//! keys.

use crate::connection::Connection;
use crate::fixed_read::{failed, FixedRead};
use crate::greeting::{
    proof, proved, welcome, welcomed, Boot, Hello, HELLO_BYTES, LAST_WORD_BYTES, PROOF_BYTES, WELCOME_BYTES,
};
use crate::keys::{random, Prover, RunKeys};
use crate::peer::Offer;
use crate::relay::route::{DialAddress, Passage};
use crate::secure::Security;
use crate::socket;
use ligament_catalogue::{fault, Code, Fault};
use ligament_path::{Nanos, StreamId};
use std::io;
use std::net::SocketAddr;

/// Deadline of a connection that may take as long as it wants.
pub(crate) const NO_DEADLINE_NS: Nanos = Nanos::MAX;

/// The data that all greetings of a domain have in common. Local variables call it `house`.
pub(crate) struct HandshakeContext {
    pub keys: RunKeys,
    pub prover: Prover,
    pub me: u32,
    pub boot: Boot,
    /// `None` if nothing is encrypted.
    pub security: Option<Security>,
}

impl HandshakeContext {
    pub fn new(keys: RunKeys, me: u32, encrypt: bool, boot: Boot) -> HandshakeContext {
        let security = encrypt.then(|| Security::new(&keys));
        HandshakeContext { prover: keys.prover(), keys, me, boot, security }
    }
}

/// The stream that a connection is dialled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DialledStream {
    pub domain: u32,
    pub stream: StreamId,
    pub incarnation: u32,
    /// True if the connection is dialled only to send the last word of a domain.
    pub last_word: bool,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// The other end has made the connection.
    Came,
    /// This end dials a stream.
    Dials(DialledStream),
    /// The connection waits at a relay until another domain there wants this one. It is then treated as
    /// `Came`.
    Waits,
    /// This end has made the connection for `domain` to dial over it. When the domain dials, the connection
    /// is treated as `Came`.
    Offers { domain: u32, incarnation: u32, patient: bool },
    /// This domain has made the connection so that this end dials over it.
    Offered(u32),
}

/// The progress of a connection that waits for a domain of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GreetingProgress {
    Nothing,
    /// Some bytes have arrived, from an unknown sender.
    Something,
    /// A hello has arrived whose proof shows the run's keys.
    Keys,
}

/// A connection that is not a stream yet.
pub(crate) struct Handshake {
    pub connection: Connection,
    /// The address of the other end, or of the nearest relay.
    pub place: DialAddress,
    /// Time at which the connection is given up.
    pub deadline: Nanos,
    pub errand: Errand,
    /// True if the other end has sent a wrong proof: it repeats a greeting that it has recorded.
    is_repeated: bool,
    step: DialStep,
}

enum DialStep {
    /// The connection is dialled, and the far kernel has not answered yet. For a connection over relays, the
    /// passage that follows is stored here.
    Dialling(Option<Box<Passage>>),
    /// The connection is on its way over relays.
    Passing(Box<Passage>),
    /// The connection was offered to this end, which has not dialled over it yet.
    Offered,
    /// This end has sent its hello; the welcome is due.
    Welcome { line: DialledStream, hello: [u8; HELLO_BYTES], coming: FixedRead<WELCOME_BYTES> },
    /// The connection is made; the other end's hello is due.
    Hello(FixedRead<HELLO_BYTES>),
    /// The other end's hello is valid. The caller has not decided yet if it lets the other end in.
    Known { hello: Hello, bytes: [u8; HELLO_BYTES] },
    /// This end has sent its welcome; the other end's proof is due.
    Proof {
        hello: Hello,
        bytes: [u8; HELLO_BYTES],
        welcome: [u8; WELCOME_BYTES],
        coming: FixedRead<PROOF_BYTES>,
    },
    /// The other end has proved that it speaks for a domain that is gone; the last word is due.
    LastWord { hello: Hello, coming: Box<FixedRead<LAST_WORD_BYTES>> },
}

/// The progress of a greeting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More bytes must arrive first.
    Waiting,
    /// An end that seems to hold the run's keys wants to be let in. The caller must `welcome` or close it.
    Knocks(Hello),
    /// The connection is now the stream `line`, which this end has dialled.
    Answered { line: DialledStream, boot: Boot },
    /// The connection is now a stream that the other end has dialled.
    Joined(Hello),
    /// A domain's process is gone, for this reason.
    LastWord(Hello, String),
}

fn without_tls(error: io::Error) -> Fault {
    Fault::new(Code::ENCRYPTION_FAILED, error.to_string())
}

impl Handshake {
    /// Begins to dial a stream.
    pub fn dial(
        line: DialledStream,
        place: &DialAddress,
        deadline: Nanos,
        house: &HandshakeContext,
    ) -> io::Result<Handshake> {
        let passage = place.way().map(|way| Passage::to(way, house.keys.run(), line.domain));
        Handshake::leave(Errand::Dials(line), place, passage, deadline)
    }

    /// Begins to connect to a relay, to wait there.
    pub fn wait(place: &DialAddress, deadline: Nanos, house: &HandshakeContext) -> io::Result<Handshake> {
        let Some(way) = place.way() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let passage = Passage::wait(way, house.keys.run(), house.me, &house.boot);
        Handshake::leave(Errand::Waits, place, Some(passage), deadline)
    }

    /// Begins to make a connection over which a domain then dials. The connection is closed at its deadline,
    /// unless the domain is known to be at this place.
    pub fn offer(offer: Offer, domain: u32, deadline: Nanos) -> io::Result<Handshake> {
        let Offer { place, incarnation, patient } = offer;
        Handshake::leave(Errand::Offers { domain, incarnation, patient }, &place, None, deadline)
    }

    /// Keeps the connection, so that a stream can be dialled over it later.
    pub fn is_offered(&mut self, domain: u32) {
        self.errand = Errand::Offered(domain);
        self.deadline = NO_DEADLINE_NS;
        self.step = DialStep::Offered;
    }

    /// Dials a stream over the connection, as if this end had made the connection.
    pub fn dial_over(
        &mut self,
        line: DialledStream,
        deadline: Nanos,
        house: &HandshakeContext,
    ) -> Result<(), Fault> {
        self.errand = Errand::Dials(line);
        self.deadline = deadline;
        self.say_hello(line, house)
    }

    /// Returns true if the connection is dialled without relays, and the far kernel has not answered yet.
    pub fn is_dialling(&self) -> bool {
        matches!(self.step, DialStep::Dialling(None))
    }

    fn leave(
        errand: Errand,
        place: &DialAddress,
        passage: Option<Passage>,
        deadline: Nanos,
    ) -> io::Result<Handshake> {
        let connection = match place.gate() {
            None => {
                let socket = socket::dial(&place.address())?;
                if passage.is_some() {
                    socket::keep_alive(&socket)?;
                }
                Connection::new(socket)
            }
            Some(gate) => {
                let (socket, helper) = gate.dial(&place.address())?;
                Connection::through(socket, helper)
            }
        };
        let place = place.clone();
        let step = DialStep::Dialling(passage.map(Box::new));
        Ok(Handshake { connection, place, deadline, errand, is_repeated: false, step })
    }

    /// Begins the greeting of a connection that another end has made.
    pub fn arrives(connection: Connection, address: SocketAddr, deadline: Nanos) -> Handshake {
        let (place, errand) = (DialAddress::At(address), Errand::Came);
        let step = DialStep::Hello(FixedRead::NONE);
        Handshake { connection, place, deadline, errand, is_repeated: false, step }
    }

    /// Returns the stream that the connection will be, if this end has dialled it.
    pub fn line(&self) -> Option<DialledStream> {
        match self.errand {
            Errand::Dials(line) => Some(line),
            Errand::Came | Errand::Waits | Errand::Offers { .. } | Errand::Offered(_) => None,
        }
    }

    /// Returns true if the other end has connected and not identified itself yet. A hello is checked and
    /// accepted only once, so an end that has sent a hello counts as identified.
    pub fn is_unknown(&self) -> bool {
        self.errand == Errand::Came && matches!(self.step, DialStep::Hello(_))
    }

    /// Returns the hello of the other end, if this end has welcomed it; `None` if the proof was wrong.
    pub fn welcomed_hello(&self) -> Option<&Hello> {
        match &self.step {
            DialStep::Proof { hello, .. } | DialStep::LastWord { hello, .. } if !self.is_repeated => {
                Some(hello)
            }
            _ => None,
        }
    }

    /// Returns the progress of a connection that waited at a relay, or was offered.
    pub fn heard(&self) -> GreetingProgress {
        match (self.errand, &self.step) {
            (Errand::Waits | Errand::Offers { .. }, DialStep::Hello(coming)) if coming.has_begun() => {
                GreetingProgress::Something
            }
            (
                Errand::Waits | Errand::Offers { .. },
                DialStep::Known { .. } | DialStep::Proof { .. } | DialStep::LastWord { .. },
            ) => GreetingProgress::Keys,
            _ => GreetingProgress::Nothing,
        }
    }

    /// Returns the fault for an answer that did not arrive in time.
    pub fn awaited(&self) -> Fault {
        match self.step {
            DialStep::Dialling(_) | DialStep::Offered => {
                fault!(PATH_GIVEN_UP, "the connection was not made in time")
            }
            DialStep::Passing(_) => fault!(PATH_GIVEN_UP, "a relay did not answer in time"),
            DialStep::Welcome { .. } => fault!(PATH_GIVEN_UP, "it did not answer the greeting in time"),
            DialStep::Hello(_) | DialStep::Known { .. } => {
                fault!(NOT_LET_IN, "it did not say who it is in time")
            }
            DialStep::Proof { .. } => fault!(NOT_LET_IN, "it did not prove who it is in time"),
            DialStep::LastWord { .. } => fault!(NOT_LET_IN, "it did not say its last word in time"),
        }
    }

    /// Continues as far as is possible now.
    ///
    /// # Errors
    /// The connection must be closed. The reason is for this end's log only.
    pub fn advance(&mut self, house: &HandshakeContext) -> Result<Progress, Fault> {
        self.connection.flush().map_err(failed)?;
        if let DialStep::Dialling(passage) = &mut self.step {
            if !self.connection.is_writable() {
                return Ok(Progress::Waiting);
            }
            socket::dialled(self.connection.socket()).map_err(failed)?;
            match passage.take() {
                None => self.is_there(house)?,
                Some(mut passage) => {
                    passage.ask(&mut self.connection)?;
                    self.step = DialStep::Passing(passage);
                }
            }
        }
        if let DialStep::Passing(passage) = &mut self.step {
            if !passage.advance(&mut self.connection)? {
                return Ok(Progress::Waiting);
            }
            self.is_there(house)?;
        }
        match &mut self.step {
            DialStep::Offered if self.connection.is_closed() => {
                Err(fault!(PATH_GIVEN_UP, "an offered connection was closed"))
            }
            DialStep::Dialling(_) | DialStep::Passing(_) | DialStep::Offered | DialStep::Known { .. } => {
                Ok(Progress::Waiting)
            }
            DialStep::Welcome { line, hello, coming } => {
                let Some(answer) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let Some(boot) = welcomed(&house.prover, hello, &answer) else {
                    return Err(fault!(PATH_GIVEN_UP, "whoever listens there does not hold the run's keys"));
                };
                let proof = proof(&house.prover, hello, &answer);
                self.connection.say(&proof).map_err(failed)?;
                Ok(Progress::Answered { line: *line, boot })
            }
            DialStep::Hello(coming) => {
                let Some(bytes) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let hello = Hello::decode(&bytes, &house.keys, &house.prover)?;
                self.step = DialStep::Known { hello, bytes };
                Ok(Progress::Knocks(hello))
            }
            DialStep::Proof { hello, bytes, welcome, coming } => {
                let Some(answer) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                if !proved(&house.prover, bytes, welcome, &answer) {
                    self.is_repeated = true;
                    return Err(fault!(NOT_LET_IN, "it repeats a greeting of somebody else"));
                }
                if !hello.last_word {
                    return Ok(Progress::Joined(*hello));
                }
                self.step = DialStep::LastWord { hello: *hello, coming: Box::new(FixedRead::NONE) };
                self.advance(house)
            }
            DialStep::LastWord { hello, coming } => {
                let Some(word) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let end = word.iter().position(|&byte| byte == 0).unwrap_or(word.len());
                let text = String::from_utf8_lossy(&word[..end]).into_owned();
                Ok(Progress::LastWord(*hello, text))
            }
        }
    }

    /// Begins the greeting, because the dialled address has been reached.
    fn is_there(&mut self, house: &HandshakeContext) -> Result<(), Fault> {
        match self.errand {
            Errand::Dials(line) => self.say_hello(line, house),
            Errand::Came | Errand::Waits | Errand::Offered(_) => {
                self.deadline = NO_DEADLINE_NS;
                self.step = DialStep::Hello(FixedRead::NONE);
                Ok(())
            }
            Errand::Offers { domain, incarnation, patient } => {
                let line = DialledStream { domain, stream: 0, incarnation, last_word: false };
                let hello = Hello { offer: true, ..hello_of(line, house) };
                self.connection.say(&hello.encode(&house.keys, &house.prover)).map_err(failed)?;
                if patient {
                    self.deadline = NO_DEADLINE_NS;
                }
                self.step = DialStep::Hello(FixedRead::NONE);
                Ok(())
            }
        }
    }

    fn say_hello(&mut self, line: DialledStream, house: &HandshakeContext) -> Result<(), Fault> {
        let hello = hello_of(line, house).encode(&house.keys, &house.prover);
        self.connection.say(&hello).map_err(failed)?;
        if let Some(security) = &house.security {
            self.connection.secure(security.dialler().map_err(without_tls)?);
            self.connection.flush().map_err(failed)?;
        }
        self.step = DialStep::Welcome { line, hello, coming: FixedRead::NONE };
        Ok(())
    }

    /// Lets the other end in, by sending it the welcome.
    pub fn welcome(&mut self, house: &HandshakeContext) -> Result<(), Fault> {
        let DialStep::Known { hello, bytes } = self.step else { return Ok(()) };
        if let Some(security) = &house.security {
            self.connection.secure(security.listener().map_err(without_tls)?);
        }
        let welcome = welcome(&house.prover, &bytes, &house.boot);
        self.connection.say(&welcome).map_err(failed)?;
        self.step = DialStep::Proof { hello, bytes, welcome, coming: FixedRead::NONE };
        Ok(())
    }
}

fn hello_of(line: DialledStream, house: &HandshakeContext) -> Hello {
    Hello {
        encrypt: house.security.is_some(),
        last_word: line.last_word,
        offer: false,
        from: house.me,
        to: line.domain,
        boot: house.boot,
        stream: line.stream,
        incarnation: line.incarnation,
        nonce: random(),
    }
}
