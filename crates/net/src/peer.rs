//! One path of this domain: its logic, its streams, and, if this end dials, when to dial each stream again.

use crate::codec::Codec;
use crate::connection::Connection;
use crate::greeting::Boot;
use crate::guest::Line;
use crate::incoming::Incoming;
use crate::outgoing::StreamWriter;
use crate::Tuning;
use ligament_catalogue::{fault, Fault};
use ligament_path::{Nanos, Path, StreamId};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A live stream.
pub(crate) struct Stream {
    /// The token under which epoll reports it.
    pub token: u64,
    pub incarnation: u32,
    pub connection: Connection,
    pub incoming: Incoming,
    pub outgoing: StreamWriter,
}

/// A stream as seen by the end that dials it.
pub(crate) struct Dialled {
    incarnation: u32,
    pause: Nanos,
    /// When to dial; none while it lives or is being dialled.
    at: Option<Nanos>,
    /// Which of the addresses is next.
    next: usize,
}

/// The state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Lives,
    /// Both ends are finished; the last bytes still have to leave.
    Ending,
    Ended,
    GivenUp,
}

/// One path.
pub(crate) struct Peer {
    pub path: Path,
    pub codec: Codec,
    pub streams: BTreeMap<StreamId, Stream>,
    pub standing: Standing,
    /// Which life of the far domain this path is with.
    pub boot: Option<Boot>,
    /// Whether there is something to write.
    pub due: bool,
    /// The last reason for having no stream.
    pub trouble: Fault,
    /// Violations of the rules in a row.
    pub wrongs: u32,
    addresses: Vec<SocketAddr>,
    dialled: BTreeMap<StreamId, Dialled>,
}

impl Peer {
    /// With addresses and a number of streams if this end dials.
    pub fn new(tuning: &Tuning, addresses: Vec<SocketAddr>, streams: u16, now: Nanos) -> Peer {
        let line =
            |stream| (stream, Dialled { incarnation: 0, pause: tuning.first_pause, at: Some(now), next: 0 });
        Peer {
            path: Path::new(tuning.path, now),
            codec: Codec::new(tuning.compression),
            streams: BTreeMap::new(),
            standing: Standing::Lives,
            boot: None,
            due: true,
            trouble: fault!(PATH_GIVEN_UP, "nobody has come"),
            wrongs: 0,
            addresses,
            dialled: (0..streams).map(line).collect(),
        }
    }

    pub fn dials(&self) -> bool {
        !self.dialled.is_empty()
    }

    /// The next stream that is due to be dialled, and its address.
    pub fn take_due(&mut self, domain: u32, now: Nanos) -> Option<(Line, SocketAddr)> {
        if self.standing != Standing::Lives || self.addresses.is_empty() {
            return None;
        }
        let (&stream, dialled) =
            self.dialled.iter_mut().find(|(_, dialled)| dialled.at.is_some_and(|at| at <= now))?;
        dialled.at = None;
        dialled.incarnation += 1;
        let address = self.addresses[dialled.next % self.addresses.len()];
        Some((Line { domain, stream, incarnation: dialled.incarnation, last_word: false }, address))
    }

    /// A stream could not be dialled: try the next address, after a pause if all have been tried.
    pub fn not_dialled(&mut self, stream: StreamId, tuning: &Tuning, now: Nanos) {
        let many = self.addresses.len();
        let Some(dialled) = self.dialled.get_mut(&stream) else { return };
        dialled.next += 1;
        if dialled.next % many == 0 {
            dialled.at = Some(now + dialled.pause);
            dialled.pause = (2 * dialled.pause).min(tuning.longest_pause);
        } else {
            dialled.at = Some(now);
        }
    }

    /// A stream lives that was dialled from here.
    pub fn was_dialled(&mut self, stream: StreamId, tuning: &Tuning) {
        if let Some(dialled) = self.dialled.get_mut(&stream) {
            dialled.pause = tuning.first_pause;
        }
    }

    /// A stream that lived is gone.
    pub fn dial_again(&mut self, stream: StreamId, now: Nanos) {
        if let Some(dialled) = self.dialled.get_mut(&stream) {
            // The address was right, so use it again.
            dialled.at = Some(now + dialled.pause);
        }
    }

    /// When something is due by time alone.
    pub fn deadline(&self) -> Option<Nanos> {
        match self.standing {
            Standing::GivenUp => None,
            Standing::Lives => {
                let dials = self.dialled.values().filter_map(|dialled| dialled.at).min();
                dials.into_iter().chain(self.path.deadline()).min()
            }
            Standing::Ending | Standing::Ended => self.path.deadline(),
        }
    }

    /// Whether everything has been given to the kernel.
    pub fn has_written_all(&self) -> bool {
        self.streams.values().all(|stream| stream.outgoing.is_empty() && !stream.connection.has_unsent())
    }
}
