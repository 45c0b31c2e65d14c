//! A trunk: one path between two relays, which carries all bytes that go from one relay to the other.
//! `circuits` has the logic; this file has the sockets. To the rest of the relay a circuit looks like any
//! other connection: the relay has one half of a pair of sockets, and the trunk has the other half.

mod circuits;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod hold;

use crate::connection::{Connection, ReadOutcome};
use crate::keys::random;
use crate::net::ALL as EDGES;
use crate::{now, socket, Compression, Event, Nanos, Net, NetOptions, Route, RunKeys};
use circuits::{CircuitEvent, MAX_MESSAGE_BYTES};
use hold::{Half, Hold};
use ligament_catalogue::{fault, Fault};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{shutdown, sockopt, Shutdown};
use rustix::time::Timespec;
use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Number of the dialled relay as a domain of the trunk's path.
const DIALLED: u32 = 0;
/// Maximum number of trunks that other relays dial to this relay.
const MAX_DIALLED_TRUNKS: usize = 16;
/// Token of epoll for the trunk's paths. The other tokens belong to circuits.
const PATHS: u64 = u64::MAX;
/// Maximum number of sockets that epoll reports at once.
const READY: usize = 256;
/// Maximum number of messages of one circuit that are sent before the other circuits are served.
const MAX_MESSAGES_IN_A_TURN: usize = 4;
/// Size of the kernel's buffer between the two halves of a circuit (bytes).
const KERNEL_BUFFER_BYTES: usize = 64 << 10;

/// Returns the options of a trunk. The domains behind a trunk take their streams for dead before the trunk
/// gives up.
pub(super) fn tuning() -> NetOptions {
    let second = 1_000_000_000;
    let path = ligament_path::PathOptions {
        piece: MAX_MESSAGE_BYTES as u32,
        longest: MAX_MESSAGE_BYTES as u64,
        most: 1 << 17,
        conduits: circuits::MAX_CIRCUITS.into(),
        patience: 10 * second,
        ..ligament_path::PathOptions::default()
    };
    // The traffic is encrypted, so it cannot be compressed.
    NetOptions { path, connect: 2 * second, compression: Compression::Never, ..NetOptions::default() }
}

/// The trunk to another relay, or all trunks that other relays have dialled to this one.
pub(super) struct Trunk {
    epoll: OwnedFd,
    net: Net,
    hold: Hold,
    /// Addresses of the other relays, by their numbers in the path.
    addresses: HashMap<u32, SocketAddr>,
    arrived: VecDeque<(OwnedFd, SocketAddr)>,
    parted: VecDeque<(SocketAddr, Fault)>,
    /// True if this relay dials the trunk.
    dials: bool,
    /// True if a dialled trunk is over.
    over: bool,
    buffer: Vec<u8>,
}

/// Returns the reason why there is no circuit.
pub(super) fn no_descriptors() -> Fault {
    fault!(NOT_LET_IN, "there are no descriptors for a circuit")
}

fn token(far: u32, circuit: u32) -> u64 {
    u64::from(far) << 32 | u64::from(circuit)
}

impl Trunk {
    fn new(net: Net, to: Option<SocketAddr>) -> Option<Trunk> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).ok()?;
        epoll::add(&epoll, net.poll_fd(), EventData::new_u64(PATHS), EventFlags::IN).ok()?;
        let hold = Hold::new(to.is_some());
        Some(Trunk {
            epoll,
            net,
            hold,
            addresses: to.into_iter().map(|to| (DIALLED, to)).collect(),
            arrived: VecDeque::new(),
            parted: VecDeque::new(),
            dials: to.is_some(),
            over: false,
            buffer: vec![0; MAX_MESSAGE_BYTES],
        })
    }

    /// Makes a trunk to the relay that has these keys. `way` leads to this relay and over no other one.
    /// Returns `None` if the kernel has no descriptors.
    pub fn to(keys: &RunKeys, way: &Arc<Route>, tuning: NetOptions) -> Option<Trunk> {
        let places = way.places_of_relay();
        let to = places.first()?.address();
        // Each trunk draws a number of its own, so that a new trunk is not taken for the trunk before.
        let me = u32::from_le_bytes(random()) | 1;
        let mut net = Net::new(keys.clone(), me, true, tuning).ok()?;
        net.dial(DIALLED, places, 0);
        Trunk::new(net, Some(to))
    }

    /// Makes the trunks that other relays dial to this one. Returns `None` if the kernel has no
    /// descriptors.
    pub fn here(keys: &RunKeys, tuning: NetOptions) -> Option<Trunk> {
        let mut net = Net::new(keys.clone(), DIALLED, true, tuning).ok()?;
        net.admit(MAX_DIALLED_TRUNKS);
        Trunk::new(net, None)
    }

    /// Returns a descriptor that is readable when a socket gives `turn` something to do.
    pub fn poll_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Returns the time at which `turn` is due even if no socket is ready.
    pub fn deadline(&self) -> Option<Nanos> {
        if self.hold.is_due() || !self.arrived.is_empty() {
            return Some(0);
        }
        self.net.deadline()
    }

    /// Returns true if the trunk can no longer be used.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Takes over a connection that is to be a stream of a trunk to this relay.
    pub fn take(&mut self, connection: Connection, from: SocketAddr) {
        self.net.take(connection, from, now());
    }

    /// Returns the next circuit that another relay has opened, and the address of that relay.
    pub fn arrived(&mut self) -> Option<(OwnedFd, SocketAddr)> {
        self.arrived.pop_front()
    }

    /// Returns the address of the next relay or unknown connection that was closed, and the reason.
    pub fn parted(&mut self) -> Option<(SocketAddr, Fault)> {
        self.parted.pop_front()
    }

    /// Returns the numbers of streams and circuits, and of bytes that arrived or were sent and were not
    /// passed on.
    pub fn load(&self) -> (usize, usize, usize) {
        let (circuits, kept) = self.hold.load();
        (self.net.streams(), circuits, kept)
    }

    /// Opens a circuit to the other relay.
    ///
    /// # Errors
    /// There are too many circuits, the kernel has no descriptors for one more, or the trunk is over.
    pub fn open(&mut self) -> Result<(OwnedFd, SocketAddr), Fault> {
        let Some(&to) = self.addresses.get(&DIALLED).filter(|_| !self.over) else {
            return Err(fault!(NOT_LET_IN, "the trunk to the next relay is over"));
        };
        let (near, half) = halves().map_err(|_| no_descriptors())?;
        let Some((circuit, message)) = self.hold.far(DIALLED).circuits.open() else {
            return Err(fault!(NOT_LET_IN, "there are too many circuits to the next relay"));
        };
        self.say(DIALLED, circuit, message, false);
        if self.join(DIALLED, circuit, near) {
            Ok((half, to))
        } else {
            Err(no_descriptors())
        }
    }

    /// Returns true if the kernel watches the trunk's half of a circuit; otherwise the circuit is broken
    /// off.
    fn join(&mut self, far: u32, circuit: u32, near: OwnedFd) -> bool {
        let data = EventData::new_u64(token(far, circuit));
        let watched = epoll::add(&self.epoll, &near, data, EDGES).is_ok();
        if watched {
            self.hold.far(far).halves.insert(circuit, Half::new(Connection::new(near)));
        } else {
            self.break_off(far, circuit)
        }
        watched
    }

    fn say(&mut self, far: u32, circuit: u32, message: Vec<u8>, bulk: bool) {
        let total = message.len() as u64;
        let id =
            if bulk { self.net.send_as_large(far, circuit, total) } else { self.net.send(far, circuit, total) };
        self.hold.far(far).leaves(id, message);
    }

    /// Does all work that needs no waiting, up to a limit.
    pub fn turn(&mut self) {
        self.look();
        self.pass_on();
        self.net.turn(&mut self.hold, now());
        while let Some(event) = self.net.event() {
            match event {
                Event::GivenUp { domain, why } => {
                    self.hang_up(domain, why.told(|why| format!("a trunk is over: {why}")));
                }
                Event::Gone { domain, .. } | Event::Ended { domain } => {
                    self.hang_up(domain, fault!(NOT_LET_IN, "the other relay of a trunk has ended it"));
                }
                Event::Refused { from, why, .. } => {
                    self.parted.push_back((from, fault!(NOT_LET_IN, "a trunk: {why}")));
                }
                Event::PathUp { domain } => {
                    self.addresses.extend(self.net.address(domain).map(|at| (domain, at)))
                }
                Event::PathDown { .. } | Event::StreamLost { .. } => {}
            }
        }
        for (far, why) in self.hold.take_wrong() {
            self.hang_up(far, why);
        }
        for (far, circuit, came) in self.hold.take_came() {
            self.came(far, circuit, came);
        }
        self.pass_on();
    }

    /// Asks the kernel for the circuits whose sockets have become ready.
    fn look(&mut self) {
        let mut happened = [const { MaybeUninit::<epoll::Event>::uninit() }; READY];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Only a signal can interrupt the call, and the next turn then asks again.
        let Ok((happened, _)) = epoll::wait(&self.epoll, &mut happened[..], Some(&at_once)) else { return };
        for &mut epoll::Event { flags, data } in happened {
            let (far, circuit) = ((data.u64() >> 32) as u32, data.u64() as u32);
            self.hold.is_ready(far, circuit, flags);
        }
    }

    fn came(&mut self, far: u32, circuit: u32, came: CircuitEvent) {
        match came {
            CircuitEvent::Opened => {
                // The stream by which the path came up may have broken before the trunk asked for its
                // address.
                let from = self.addresses.get(&far).copied().or_else(|| self.net.address(far));
                match (halves(), from) {
                    (Ok((near, half)), Some(from)) => {
                        self.addresses.insert(far, from);
                        if self.join(far, circuit, near) {
                            self.arrived.push_back((half, from));
                        }
                    }
                    _ => self.break_off(far, circuit),
                }
            }
            CircuitEvent::BrokenOff(answer) => {
                self.hold.far(far).halves.remove(&circuit);
                if let Some(answer) = answer {
                    self.say(far, circuit, answer, false);
                }
            }
            CircuitEvent::More | CircuitEvent::Nothing => {}
        }
    }

    /// Breaks a circuit off because its local end is gone.
    fn break_off(&mut self, far: u32, circuit: u32) {
        let end = self.hold.far(far);
        end.halves.remove(&circuit);
        if let Some(message) = end.circuits.break_off(circuit) {
            self.say(far, circuit, message, false);
        }
    }

    /// Ends a trunk, with all its circuits.
    fn hang_up(&mut self, far: u32, why: Fault) {
        let from = self.addresses.remove(&far);
        self.net.forget(far);
        self.hold.forget(far);
        self.over |= self.dials;
        self.parted.extend(from.map(|from| (from, why)));
    }

    // ---- bytes ----------------------------------------------------------------------------------------------
    /// Passes on the bytes of all circuits that are due.
    fn pass_on(&mut self) {
        for (far, circuit) in self.hold.take_due() {
            if self.pass_inwards(far, circuit).and_then(|()| self.pass_outwards(far, circuit)).is_err() {
                self.break_off(far, circuit);
            }
            let end = self.hold.far(far);
            if end.circuits.forget_if_over(circuit) {
                end.halves.remove(&circuit);
            }
            if let Some(bytes) = end.circuits.credit_due(circuit) {
                self.net.credit(far, circuit, bytes);
            }
        }
    }

    /// Gives the bytes that arrived for a circuit to the relay's half.
    fn pass_inwards(&mut self, far: u32, circuit: u32) -> io::Result<()> {
        let end = self.hold.far(far);
        let Some(half) = end.halves.get_mut(&circuit) else { return Ok(()) };
        while let Some(front) = end.circuits.front(circuit) {
            match half.connection.send(&[IoSlice::new(front)])? {
                0 => return Ok(()),
                taken => end.circuits.took(circuit, taken),
            }
        }
        if end.circuits.has_ended(circuit) && !half.told {
            half.told = true;
            // The relay's half may be closed already.
            let _ = shutdown(half.connection.socket(), Shutdown::Write);
        }
        Ok(())
    }

    /// Sends the bytes that the relay has written. Returns an error if the relay's half is gone.
    fn pass_outwards(&mut self, far: u32, circuit: u32) -> io::Result<()> {
        for _ in 0..MAX_MESSAGES_IN_A_TURN {
            let end = self.hold.far(far);
            let is_full = end.is_full();
            let Some(half) = end.halves.get_mut(&circuit) else { return Ok(()) };
            if half.ended {
                // The relay's half is closed for good, while bytes for it may still arrive.
                let is_gone = half.gone && !end.circuits.has_ended(circuit);
                return if is_gone { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) };
            }
            let room = end.circuits.room(circuit);
            if room == 0 || is_full {
                end.waits_for_credit(circuit);
                return Ok(());
            }
            match half.connection.receive(&mut [IoSliceMut::new(&mut self.buffer[..room])])? {
                ReadOutcome::Bytes(bytes) => {
                    let (message, bulk) = end.circuits.send(circuit, &self.buffer[..bytes]);
                    self.say(far, circuit, message, bulk);
                }
                ReadOutcome::Nothing => return Ok(()),
                ReadOutcome::End => {
                    half.ended = true;
                    if !half.gone || end.circuits.has_ended(circuit) {
                        let message = end.circuits.end(circuit);
                        self.say(far, circuit, message, false);
                    }
                }
            }
        }
        self.hold.far(far).goes_on(circuit);
        Ok(())
    }
}

/// Makes both halves of a circuit: that of the trunk, and that of the relay.
fn halves() -> io::Result<(OwnedFd, OwnedFd)> {
    let (near, half) = socket::pair()?;
    rustix::io::ioctl_fionbio(&half, true)?;
    for end in [&near, &half] {
        sockopt::set_socket_send_buffer_size(end, KERNEL_BUFFER_BYTES)?;
    }
    Ok((near, half))
}
