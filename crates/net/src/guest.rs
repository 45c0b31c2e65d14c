//! A connection that is not a stream yet: it is being made, or its ends are still greeting. A listener says
//! nothing until the dialler has proved itself.

use crate::connection::{Connection, Got};
use crate::greeting::{
    proof, proved, welcome, welcomed, Boot, Hello, HELLO_BYTES, LAST_WORD_BYTES, PROOF_BYTES, WELCOME_BYTES,
};
use crate::keys::{random, Prover, RunKeys};
use crate::secure::Security;
use crate::socket;
use ligament_catalogue::{fault, Code, Fault};
use ligament_path::{Nanos, StreamId};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

/// What all greetings of a domain share.
pub(crate) struct House {
    pub keys: RunKeys,
    pub prover: Prover,
    pub me: u32,
    pub boot: Boot,
    /// None if nothing is encrypted.
    pub security: Option<Security>,
}

impl House {
    pub fn new(keys: RunKeys, me: u32, encrypt: bool, boot: Boot) -> House {
        let security = encrypt.then(|| Security::new(&keys));
        House { prover: keys.prover(), keys, me, boot, security }
    }
}

/// Which stream is dialled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub domain: u32,
    pub stream: StreamId,
    pub incarnation: u32,
    /// Whether it is dialled only to say the last word of a domain.
    pub last_word: bool,
}

/// A connection that is not a stream yet.
pub(crate) struct Guest {
    pub connection: Connection,
    /// The other end.
    pub address: SocketAddr,
    /// When it is given up.
    pub deadline: Nanos,
    step: Step,
}

enum Step {
    /// Dialled; the far kernel has not answered yet.
    Dialling(Line),
    /// Our hello is sent; its welcome is due.
    Welcome { line: Line, hello: [u8; HELLO_BYTES], coming: Coming<WELCOME_BYTES> },
    /// It is connected; its hello is due.
    Hello(Coming<HELLO_BYTES>),
    /// Its hello is right; the decision whether to admit it is pending.
    Known { hello: Hello, bytes: [u8; HELLO_BYTES] },
    /// It was welcomed; its proof is due.
    Proof { hello: Hello, bytes: [u8; HELLO_BYTES], welcome: [u8; WELCOME_BYTES], coming: Coming<PROOF_BYTES> },
    /// It has proved that it speaks for a domain that is gone; its last word is due.
    LastWord { hello: Hello, coming: Box<Coming<LAST_WORD_BYTES>> },
}

/// This many bytes, of which some have arrived.
struct Coming<const N: usize> {
    bytes: [u8; N],
    got: usize,
}

impl<const N: usize> Coming<N> {
    const NONE: Self = Coming { bytes: [0; N], got: 0 };

    /// Reads on, but never a byte more than is due.
    fn read(&mut self, connection: &mut Connection) -> Result<Option<[u8; N]>, Fault> {
        while self.got < N {
            match connection.receive(&mut [IoSliceMut::new(&mut self.bytes[self.got..])]).map_err(failed)? {
                Got::Bytes(bytes) => self.got += bytes,
                Got::Nothing => return Ok(None),
                Got::End if self.got == 0 => {
                    return Err(fault!(NOT_LET_IN, "it closed the connection without a word"))
                }
                Got::End => {
                    return Err(fault!(NOT_LET_IN, "it closed the connection in the middle of its greeting"))
                }
            }
        }
        Ok(Some(self.bytes))
    }
}

/// How far a guest has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More bytes must arrive first.
    Waiting,
    /// Somebody with the run's keys wants to be admitted: `welcome` them, or close.
    Knocks(Hello),
    /// It is a stream now, dialled from here; whose.
    Answered { line: Line, boot: Boot },
    /// It is a stream now, dialled from there.
    Joined(Hello),
    /// A domain's process is gone, and the reason.
    LastWord(Hello, String),
}

pub(crate) fn failed(error: io::Error) -> Fault {
    Fault::new(Code::PATH_GIVEN_UP, error.to_string())
}

fn without_tls(error: io::Error) -> Fault {
    Fault::new(Code::ENCRYPTION_FAILED, error.to_string())
}

impl Guest {
    /// Begins to dial.
    pub fn dial(line: Line, address: SocketAddr, deadline: Nanos) -> io::Result<Guest> {
        let connection = Connection::new(socket::dial(&address)?);
        Ok(Guest { connection, address, deadline, step: Step::Dialling(line) })
    }

    /// Somebody has connected.
    pub fn arrives(connection: Connection, address: SocketAddr, deadline: Nanos) -> Guest {
        Guest { connection, address, deadline, step: Step::Hello(Coming::NONE) }
    }

    /// The stream that it will be, if it was dialled from here.
    pub fn line(&self) -> Option<Line> {
        match &self.step {
            Step::Dialling(line) | Step::Welcome { line, .. } => Some(*line),
            Step::Hello(_) | Step::Known { .. } | Step::Proof { .. } | Step::LastWord { .. } => None,
        }
    }

    /// Whether it has connected and has not identified itself yet. A hello is checked and accepted only once,
    /// so a guest that has sent one is identified.
    pub fn is_unknown(&self) -> bool {
        matches!(self.step, Step::Hello(_))
    }

    /// What is awaited, for the message that says that it did not come.
    pub fn awaited(&self) -> Fault {
        match self.step {
            Step::Dialling(_) => fault!(PATH_GIVEN_UP, "the connection was not made in time"),
            Step::Welcome { .. } => fault!(PATH_GIVEN_UP, "it did not answer the greeting in time"),
            Step::Hello(_) | Step::Known { .. } => fault!(NOT_LET_IN, "it did not say who it is in time"),
            Step::Proof { .. } => fault!(NOT_LET_IN, "it did not prove who it is in time"),
            Step::LastWord { .. } => fault!(NOT_LET_IN, "it did not say its last word in time"),
        }
    }

    /// Continues as far as is possible now.
    ///
    /// # Errors
    /// It must be closed; the reason is for this end's log only.
    pub fn advance(&mut self, house: &House) -> Result<Progress, Fault> {
        self.connection.flush().map_err(failed)?;
        if let Step::Dialling(line) = self.step {
            if !self.connection.is_writable() {
                return Ok(Progress::Waiting);
            }
            socket::dialled(self.connection.socket()).map_err(failed)?;
            self.say_hello(line, house)?;
        }
        match &mut self.step {
            Step::Dialling(_) | Step::Known { .. } => Ok(Progress::Waiting),
            Step::Welcome { line, hello, coming } => {
                let Some(answer) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let Some(boot) = welcomed(&house.prover, hello, &answer) else {
                    return Err(fault!(PATH_GIVEN_UP, "whoever listens there does not hold the run's keys"));
                };
                let proof = proof(&house.prover, hello, &answer);
                self.connection.say(&proof).map_err(failed)?;
                Ok(Progress::Answered { line: *line, boot })
            }
            Step::Hello(coming) => {
                let Some(bytes) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let hello = Hello::decode(&bytes, &house.keys, &house.prover)?;
                self.step = Step::Known { hello, bytes };
                Ok(Progress::Knocks(hello))
            }
            Step::Proof { hello, bytes, welcome, coming } => {
                let Some(answer) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                if !proved(&house.prover, bytes, welcome, &answer) {
                    return Err(fault!(NOT_LET_IN, "it only repeats what somebody else has said"));
                }
                if !hello.last_word {
                    return Ok(Progress::Joined(*hello));
                }
                self.step = Step::LastWord { hello: *hello, coming: Box::new(Coming::NONE) };
                self.advance(house)
            }
            Step::LastWord { hello, coming } => {
                let Some(word) = coming.read(&mut self.connection)? else { return Ok(Progress::Waiting) };
                let end = word.iter().position(|&byte| byte == 0).unwrap_or(word.len());
                let text = String::from_utf8_lossy(&word[..end]).into_owned();
                Ok(Progress::LastWord(*hello, text))
            }
        }
    }

    fn say_hello(&mut self, line: Line, house: &House) -> Result<(), Fault> {
        let hello = Hello {
            encrypt: house.security.is_some(),
            last_word: line.last_word,
            from: house.me,
            to: line.domain,
            boot: house.boot,
            stream: line.stream,
            incarnation: line.incarnation,
            nonce: random(),
        };
        let hello = hello.encode(&house.keys, &house.prover);
        self.connection.say(&hello).map_err(failed)?;
        if let Some(security) = &house.security {
            self.connection.secure(security.dialler().map_err(without_tls)?);
            self.connection.flush().map_err(failed)?;
        }
        self.step = Step::Welcome { line, hello, coming: Coming::NONE };
        Ok(())
    }

    /// The guest is admitted.
    pub fn welcome(&mut self, house: &House) -> Result<(), Fault> {
        let Step::Known { hello, bytes } = self.step else { return Ok(()) };
        if let Some(security) = &house.security {
            self.connection.secure(security.listener().map_err(without_tls)?);
        }
        let welcome = welcome(&house.prover, &bytes, &house.boot);
        self.connection.say(&welcome).map_err(failed)?;
        self.step = Step::Proof { hello, bytes, welcome, coming: Coming::NONE };
        Ok(())
    }
}
