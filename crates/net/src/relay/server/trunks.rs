//! The relay's trunks. This relay dials a trunk to another relay when it first joins a connection with that
//! relay. Other relays dial trunks to this one.

use super::super::direction::Direction;
use super::super::greeting::MeetingPoint;
use super::super::trunk::{no_descriptors, Trunk};
use super::{Relay, RelayConnectionState, GREETING_TIMEOUT_NS, MAX_CONNECTIONS};
use crate::fixed_read::FixedRead;
use crate::Nanos;
use ligament_catalogue::{fault, Fault};
use rustix::event::epoll::{self, EventData, EventFlags};

impl Relay {
    /// Returns true if a connection wants this relay itself. The relay is the only domain of a run that has
    /// its keys.
    pub(super) fn is_me(&self, meeting: &MeetingPoint) -> bool {
        *meeting == MeetingPoint { run: self.keys.run(), domain: 0 }
    }

    /// Returns the time at which a trunk is due.
    pub(super) fn trunks_due(&self) -> Option<Nanos> {
        self.trunks.values().filter_map(Trunk::deadline).min()
    }

    /// Leads a connection on to another relay: opens a circuit in the trunk to that relay, and joins the two.
    /// Begins the trunk if there is none.
    pub(super) fn lead_on(&mut self, token: u64, name: [u8; 16]) -> Result<(), Fault> {
        let Some((keys, way)) = self.onward.get(&name) else {
            return Err(fault!(NOT_LET_IN, "it wants to go on to a relay that this one does not lead to"));
        };
        if !self.trunks.contains_key(&name) {
            let trunk = Trunk::to(keys, way, self.tuning);
            self.begin_trunk(name, trunk)?;
        }
        let Some(trunk) = self.trunks.get_mut(&name) else { return Ok(()) };
        let (half, to) = trunk.open()?;
        let state = RelayConnectionState::Joined { other: token, coming: Direction::default() };
        let circuit = self.add(half, to, GREETING_TIMEOUT_NS, state).ok_or_else(no_descriptors)?;
        self.join(token, circuit);
        Ok(())
    }

    fn begin_trunk(&mut self, name: [u8; 16], trunk: Option<Trunk>) -> Result<(), Fault> {
        let why = || fault!(NOT_LET_IN, "there are no descriptors for a trunk");
        let trunk = trunk.ok_or_else(why)?;
        let token = EventData::new_u64(self.token());
        epoll::add(&self.epoll, trunk.poll_fd(), token, EventFlags::IN).map_err(|_| why())?;
        self.trunks.insert(name, trunk);
        Ok(())
    }

    /// Makes a connection a stream of another relay's trunk to this relay. The connection has proved that
    /// it holds the key.
    pub(super) fn take_stream(&mut self, token: u64) -> Result<(), Fault> {
        if self.ends.get(&token).is_some_and(|end| end.by_trunk) {
            return Err(fault!(NOT_LET_IN, "a trunk within a trunk"));
        }
        let me = self.keys.relay();
        if !self.trunks.contains_key(&me) {
            let trunk = Trunk::here(&self.keys, self.tuning);
            self.begin_trunk(me, trunk)?;
        }
        self.set_deadline(token, None);
        let Some(end) = self.ends.remove(&token) else { return Ok(()) };
        let _ = epoll::delete(&self.epoll, end.connection.socket());
        if let Some(trunk) = self.trunks.get_mut(&me) {
            trunk.take(end.connection, end.from);
        }
        Ok(())
    }

    /// Does the due work of all trunks, and takes in the circuits that other relays have opened.
    pub(super) fn turn_trunks(&mut self) {
        let (mut arrived, mut parted) = (Vec::new(), Vec::new());
        for trunk in self.trunks.values_mut() {
            trunk.turn();
            arrived.extend(std::iter::from_fn(|| trunk.arrived()));
            parted.extend(std::iter::from_fn(|| trunk.parted()));
        }
        // A trunk that is over is dialled anew when the next connection wants to go to that relay.
        self.trunks.retain(|_, trunk| !trunk.is_over());
        for (from, why) in parted {
            self.tell_refused(from, &why);
        }
        for (half, from) in arrived {
            if self.ends.len() >= MAX_CONNECTIONS {
                self.tell_refused(from, &fault!(NOT_LET_IN, "there are {MAX_CONNECTIONS} connections already"));
                continue;
            }
            let added = self.add(
                half,
                from,
                GREETING_TIMEOUT_NS,
                RelayConnectionState::Asks(Box::new(FixedRead::NONE)),
            );
            if let Some(end) = added.and_then(|token| self.ends.get_mut(&token)) {
                end.by_trunk = true;
            }
        }
    }
}
