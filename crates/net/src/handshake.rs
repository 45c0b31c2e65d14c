//! A connection that is not a stream yet: it is being made, or its ends are still greeting. A listener says
//! nothing until the dialler has proved itself.

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

/// When a guest is given up that may take as long as it wants.
pub(crate) const NO_DEADLINE_NS: Nanos = Nanos::MAX;

/// The common part of all greetings of a domain.
pub(crate) struct HandshakeContext {
    pub keys: RunKeys,
    pub prover: Prover,
    pub me: u32,
    pub boot: Boot,
    /// None if nothing is encrypted.
    pub security: Option<Security>,
}

impl HandshakeContext {
    pub fn new(keys: RunKeys, me: u32, encrypt: bool, boot: Boot) -> HandshakeContext {
        let security = encrypt.then(|| Security::new(&keys));
        HandshakeContext { prover: keys.prover(), keys, me, boot, security }
    }
}

/// Which stream is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DialledStream {
    pub domain: u32,
    pub stream: StreamId,
    pub incarnation: u32,
    /// True if it is dialled only to say the last word of a domain.
    pub last_word: bool,
}

/// Why there is a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Somebody has come.
    Came,
    /// A stream is dialled from here.
    Dials(DialledStream),
    /// It waits at a relay until somebody there wants this domain; then it is one that came.
    Waits,
    /// It was made from here for this domain to dial over it; when it does, it is one that came.
    Offers { domain: u32, incarnation: u32, patient: bool },
    /// This domain has made it, so that it is dialled over from here.
    Offered(u32),
}

/// The progress of a connection that waits for somebody of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GreetingProgress {
    Nothing,
    /// Some bytes, of nobody knows whom.
    Something,
    /// A hello that is proved by the run's keys.
    Keys,
}

/// A connection that is not a stream yet.
pub(crate) struct Handshake {
    pub connection: Connection,
    /// The other end, or the nearest relay.
    pub place: DialAddress,
    /// When it is given up.
    pub deadline: Nanos,
    pub errand: Errand,
    /// It sent a wrong proof: somebody repeats the greeting of another one.
    is_repeated: bool,
    step: DialStep,
}

enum DialStep {
    /// Dialled; the far kernel has not answered yet. Over relays, what is then said to them.
    Dialling(Option<Box<Passage>>),
    /// On its way over relays.
    Passing(Box<Passage>),
    /// It was offered; nobody has dialled over it yet.
    Offered,
    /// Our hello is sent; its welcome is due.
    Welcome { line: DialledStream, hello: [u8; HELLO_BYTES], coming: FixedRead<WELCOME_BYTES> },
    /// It is connected; its hello is due.
    Hello(FixedRead<HELLO_BYTES>),
    /// Its hello is right; the decision whether to admit it is pending.
    Known { hello: Hello, bytes: [u8; HELLO_BYTES] },
    /// It was welcomed; its proof is due.
    Proof {
        hello: Hello,
        bytes: [u8; HELLO_BYTES],
        welcome: [u8; WELCOME_BYTES],
        coming: FixedRead<PROOF_BYTES>,
    },
    /// It has proved that it speaks for a domain that is gone; its last word is due.
    LastWord { hello: Hello, coming: Box<FixedRead<LAST_WORD_BYTES>> },
}

/// How far a guest has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More bytes must arrive first.
    Waiting,
    /// Somebody with the run's keys wants to be admitted: `welcome` them, or close.
    Knocks(Hello),
    /// It is a stream now, dialled from here; whose.
    Answered { line: DialledStream, boot: Boot },
    /// It is a stream now, dialled from there.
    Joined(Hello),
    /// A domain's process is gone, and the reason.
    LastWord(Hello, String),
}

fn without_tls(error: io::Error) -> Fault {
    Fault::new(Code::ENCRYPTION_FAILED, error.to_string())
}

impl Handshake {
    /// Begins to dial.
    pub fn dial(
        line: DialledStream,
        place: &DialAddress,
        deadline: Nanos,
        house: &HandshakeContext,
    ) -> io::Result<Handshake> {
        let passage = place.way().map(|way| Passage::to(way, house.keys.run(), line.domain));
        Handshake::leave(Errand::Dials(line), place, passage, deadline)
    }

    /// Begins to go to a relay, to wait there.
    pub fn wait(place: &DialAddress, deadline: Nanos, house: &HandshakeContext) -> io::Result<Handshake> {
        let Some(way) = place.way() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let passage = Passage::wait(way, house.keys.run(), house.me, &house.boot);
        Handshake::leave(Errand::Waits, place, Some(passage), deadline)
    }

    /// Begins to make a connection for a domain to dial over: until its deadline, or as long as it takes where
    /// the domain is known to be.
    pub fn offer(offer: Offer, domain: u32, deadline: Nanos) -> io::Result<Handshake> {
        let Offer { place, incarnation, patient } = offer;
        Handshake::leave(Errand::Offers { domain, incarnation, patient }, &place, None, deadline)
    }

    /// It is kept to be dialled over.
    pub fn is_offered(&mut self, domain: u32) {
        self.errand = Errand::Offered(domain);
        self.deadline = NO_DEADLINE_NS;
        self.step = DialStep::Offered;
    }

    /// It is dialled over: as if the connection had been made from here.
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

    /// Returns true if the far kernel has not answered yet, directly.
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

    /// Somebody has connected.
    pub fn arrives(connection: Connection, address: SocketAddr, deadline: Nanos) -> Handshake {
        let (place, errand) = (DialAddress::At(address), Errand::Came);
        let step = DialStep::Hello(FixedRead::NONE);
        Handshake { connection, place, deadline, errand, is_repeated: false, step }
    }

    /// The stream that it will be, if it was dialled from here.
    pub fn line(&self) -> Option<DialledStream> {
        match self.errand {
            Errand::Dials(line) => Some(line),
            Errand::Came | Errand::Waits | Errand::Offers { .. } | Errand::Offered(_) => None,
        }
    }

    /// Returns true if it has connected and has not identified itself yet. A hello is checked and accepted only
    /// once, so a guest that has sent one is identified.
    pub fn is_unknown(&self) -> bool {
        self.errand == Errand::Came && matches!(self.step, DialStep::Hello(_))
    }

    /// The hello of a guest that was welcomed; `None` if its proof was wrong.
    pub fn welcomed_hello(&self) -> Option<&Hello> {
        match &self.step {
            DialStep::Proof { hello, .. } | DialStep::LastWord { hello, .. } if !self.is_repeated => {
                Some(hello)
            }
            _ => None,
        }
    }

    /// The progress of a connection that waited at a relay, or was offered.
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

    /// The awaited answer, for the message that says that it did not come.
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
    /// It must be closed; the reason is for this end's log only.
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

    /// The dialled address has been reached.
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

    /// The guest is admitted.
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
