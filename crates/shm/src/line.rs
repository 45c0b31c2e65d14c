//! The connection of an endpoint to its agent: registration, and requests for memory and rings. The agent
//! answers requests in their order. Notices that the agent sends without a request may arrive between the
//! answers.

use crate::area::Layout;
use crate::endpoint::{AgentNotice, Custodian, Foundation, OpenedRing};
use crate::memory::ShmError;
use crate::socket::{Frames, Socket, SocketFrame};
use ligament_catalogue::{fault, said, Code, Fault};
use ligament_wire::control::{from_bytes, to_bytes, Notice, PortDeclaration, Request, Welcome, PROTOCOL};
use ligament_wire::steering::Steers;
use ligament_wire::EndpointId;
use rustix::fd::OwnedFd;
use std::collections::VecDeque;

/// The identity of an endpoint, and the address of its agent.
pub struct Identity {
    /// Address of the agent's socket: `@name` is an abstract socket, anything else is a path.
    pub agent: String,
    /// Name of the instance, for example `micro[3]`.
    pub instance: String,
    pub token: String,
}

/// The result of a registration: the connection, the data from the agent, and the memory that the agent
/// gave.
pub struct Registration {
    pub line: AgentLine,
    pub welcome: Welcome,
    pub foundation: Foundation,
}

/// The connection to the agent.
pub struct AgentLine<F = Socket> {
    socket: F,
    /// Notices that arrived while this side waited for an answer.
    kept: VecDeque<AgentNotice>,
}

impl AgentLine {
    /// Registers with the agent that `identity` names; see `register_over`.
    pub fn register(
        identity: &Identity,
        ports: Option<Vec<PortDeclaration>>,
        language: &str,
        light: bool,
    ) -> Result<Registration, Fault> {
        let socket = Socket::connect(&identity.agent).map_err(|why| {
            let fault = fault!(AGENT_SILENT, "the run's agent at {} cannot be reached: {why}", identity.agent);
            fault.caused_by(&why.into())
        })?;
        let (line, welcome, foundation) = AgentLine::register_over(socket, identity, ports, language, light)?;
        Ok(Registration { line, welcome, foundation })
    }
}

impl<F: Frames> AgentLine<F> {
    /// Registers over an open connection. Returns the connection, the data from the agent, and the memory
    /// that the agent gave. `light` means that this process can run all instances of its program.
    ///
    /// # Errors
    /// The agent refuses the registration (the error has its reason), or the connection fails.
    pub fn register_over(
        socket: F,
        identity: &Identity,
        ports: Option<Vec<PortDeclaration>>,
        language: &str,
        light: bool,
    ) -> Result<(AgentLine<F>, Welcome, Foundation), Fault> {
        let mut line = AgentLine { socket, kept: VecDeque::new() };
        let failed = |error: ShmError| {
            let fault = fault!(REGISTER_FAILED, "instance {} could not register: {error}", identity.instance);
            match error {
                ShmError::System { .. } => fault,
                error => fault.caused_by(&error.into()),
            }
        };
        let hello = Request::Hello {
            protocol: PROTOCOL,
            instance: identity.instance.clone(),
            token: identity.token.clone(),
            pid: std::process::id(),
            ports,
            language: language.to_owned(),
            light,
        };
        line.socket.send(&to_bytes(&hello)).map_err(failed)?;
        let (notice, mut fds) = line.answer().map_err(failed)?;
        match notice {
            Notice::Welcome(welcome) => {
                let mut fd = || {
                    fds.pop_front().ok_or_else(|| failed(ShmError::Malformed("a descriptor is missing".into())))
                };
                let (board, area, outbox) = (fd()?, fd()?, fd()?);
                let (rows, inner) =
                    welcome.light.as_ref().map_or((0, 0), |light| (light.members.len(), light.channels.len()));
                let ends = (welcome.sends.len() + 2 * inner) as u32;
                let (channels, inboxes, rows) = (welcome.channels, welcome.inboxes, rows as u32);
                let foundation = Foundation {
                    endpoint: welcome.endpoint,
                    board,
                    area,
                    outbox,
                    layout: Layout { channels, inboxes, rows, ends },
                    pinned_limit: welcome.pinned_limit,
                };
                Ok((line, *welcome, foundation))
            }
            Notice::Refused { why } => Err(Fault::heard(why, Code::PORTS_DO_NOT_FIT)),
            other => Err(failed(unexpected(&other))),
        }
    }

    /// Sends a request that has no answer.
    pub fn tell(&mut self, request: &Request) -> Result<(), ShmError> {
        self.socket.send(&to_bytes(request))
    }

    fn ask(&mut self, request: &Request) -> Result<(Notice, VecDeque<OwnedFd>), ShmError> {
        self.tell(request)?;
        self.answer()
    }

    /// Waits for the next answer. Notices that arrive before it are kept for `notices`.
    fn answer(&mut self) -> Result<(Notice, VecDeque<OwnedFd>), ShmError> {
        loop {
            let frame = match self.socket.receive() {
                Err(ShmError::Interrupted) => continue,
                other => other?,
            };
            match sort(frame)? {
                AgentFrame::OfItself(notice) => {
                    if let AgentNotice::RunEnds(why) = &notice {
                        let why = why.clone();
                        self.kept.push_back(notice);
                        return Err(ShmError::RunEnds(why));
                    }
                    self.kept.push_back(notice);
                }
                AgentFrame::Answer(notice, fds) => return Ok((notice, fds)),
            }
        }
    }
}

enum AgentFrame {
    OfItself(AgentNotice),
    Answer(Notice, VecDeque<OwnedFd>),
}

fn sort(frame: SocketFrame) -> Result<AgentFrame, ShmError> {
    let mut fds = VecDeque::from(frame.fds);
    Ok(AgentFrame::OfItself(
        match from_bytes(&frame.bytes).map_err(|why| ShmError::Malformed(why.to_string()))? {
            Notice::RingOpened { from, offset, slots, inbox } => {
                let outbox =
                    fds.pop_front().ok_or_else(|| ShmError::Malformed("a ring without memory".into()))?;
                AgentNotice::RingOpened { from, outbox, offset, slots, inbox }
            }
            Notice::SlabDropped { of, slab } => AgentNotice::SlabDropped { of, slab },
            Notice::Budget { channel, bytes } => AgentNotice::Budget { channel, bytes },
            Notice::PeerEnded { endpoint } => AgentNotice::PeerEnded(endpoint),
            Notice::PeerLost { endpoint } => AgentNotice::PeerLost(endpoint),
            Notice::Look { round } => AgentNotice::Look(round),
            Notice::Tap(tap) => {
                let memory =
                    fds.pop_front().ok_or_else(|| ShmError::Malformed("a tap without memory".into()))?;
                AgentNotice::Tap { tap, memory }
            }
            Notice::Untap { tap } => AgentNotice::Untap(tap),
            Notice::Steer { steer, members } => AgentNotice::Steer(steer, members),
            Notice::RunEnds { why } => AgentNotice::RunEnds(why),
            answer => return Ok(AgentFrame::Answer(answer, fds)),
        },
    ))
}

fn unexpected(notice: &Notice) -> ShmError {
    ShmError::Malformed(said!(OTHER_VERSION, "the agent answered {notice:?} to another question"))
}

impl<F: Frames> Custodian for AgentLine<F> {
    fn new_slab(&mut self, bytes: u64) -> Result<(u32, OwnedFd), ShmError> {
        let (notice, mut fds) = self.ask(&Request::NewSlab { bytes })?;
        match (notice, fds.pop_front()) {
            (Notice::Granted { slab }, Some(fd)) => Ok((slab, fd)),
            (Notice::Denied { why }, _) => {
                Err(ShmError::OutOfMemory { bytes, reason: Fault::heard(why, Code::MEMORY_SPENT) })
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn drop_slab(&mut self, slab: u32) -> Result<(), ShmError> {
        self.tell(&Request::DropSlab { slab })
    }

    fn open_ring(&mut self, to: EndpointId, offset: u64, slots: u32) -> Result<OpenedRing, ShmError> {
        let (notice, mut fds) = self.ask(&Request::OpenRing { to, offset, slots })?;
        match (notice, fds.pop_front()) {
            (Notice::Opened { to: opened, inbox, channels, inboxes }, Some(area)) if opened == to => {
                Ok(OpenedRing { area, layout: Layout { channels, inboxes, rows: 0, ends: 0 }, inbox })
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn fetch_slab(&mut self, of: EndpointId, slab: u32) -> Result<(OwnedFd, u64), ShmError> {
        let (notice, mut fds) = self.ask(&Request::FetchSlab { of, slab })?;
        match (notice, fds.pop_front()) {
            (Notice::Slab { bytes, .. }, Some(fd)) => Ok((fd, bytes)),
            (Notice::Slab { .. }, None) => {
                Err(ShmError::Malformed(format!("endpoint {of} names a slab {slab} that does not exist")))
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    fn steers(&mut self, change: u64, answer: Steers) -> Result<(), ShmError> {
        self.tell(&Request::Steers { change, answer })
    }

    fn notices(&mut self) -> Result<Vec<AgentNotice>, ShmError> {
        loop {
            match self.socket.try_receive() {
                Ok(Some(frame)) => match sort(frame)? {
                    AgentFrame::OfItself(notice) => self.kept.push_back(notice),
                    AgentFrame::Answer(answer, _) => return Err(unexpected(&answer)),
                },
                Ok(None) | Err(ShmError::Interrupted) => break,
                // Notices that arrived before the agent ended are still delivered.
                Err(_) if !self.kept.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.kept.drain(..).collect())
    }

    fn is_gone(&self) -> bool {
        self.socket.is_gone()
    }
}
