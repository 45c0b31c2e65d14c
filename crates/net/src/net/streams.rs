//! Live streams: reading, writing, the actions that the path orders, and the treatment of broken streams.

use super::Net;
use crate::peer::PathState;
use crate::stream_reader::{broken, Reach, StreamFailure};
use crate::stream_writer::Pass;
use crate::{Event, MessageStore, Nanos, StreamId};
use ligament_catalogue::{fault, Fault};
use ligament_path::Action;

/// Number of violations of the rules in a row after which a path is given up.
const MAX_VIOLATIONS: u32 = 5;

impl Net {
    /// Reads from a stream that has bytes.
    pub(super) fn read(&mut self, domain: u32, stream: StreamId, cargo: &mut dyn MessageStore, now: Nanos) {
        let Some(peer) = self.peers.get_mut(&domain) else { return };
        let Some(state) = peer.streams.get_mut(&stream) else { return };
        let mut reach = Reach {
            domain,
            stream,
            path: &mut peer.path,
            cargo,
            codec: &mut peer.codec,
            now,
            scratch: &mut self.scratch,
        };
        match state.incoming.read(&mut state.connection, &mut reach) {
            Ok(()) => {
                if state.connection.is_readable() {
                    self.ready.push(state.token);
                }
                // TLS may have produced an answer that must be written.
                peer.due |= state.connection.has_unsent();
            }
            Err(trouble) => self.stumble(domain, stream, trouble, now),
        }
        self.act(domain, cargo, now);
    }

    /// Writes to all streams that have something to write.
    pub(super) fn write(&mut self, cargo: &mut dyn MessageStore, now: Nanos) {
        let due: Vec<u32> = self.peers.iter().filter(|(_, peer)| peer.due).map(|(&domain, _)| domain).collect();
        for domain in due {
            self.write_to(domain, cargo, now);
            self.act(domain, cargo, now);
            self.end_if_all_is_written(domain);
        }
    }

    fn write_to(&mut self, domain: u32, cargo: &mut dyn MessageStore, now: Nanos) {
        let Some(peer) = self.peers.get_mut(&domain) else { return };
        peer.due = false;
        let mut lost = Vec::new();
        let pass = Pass::over(peer.flow.is_long());
        for _ in 0..pass.many() {
            let mut goes_on = false;
            for (&stream, state) in &mut peer.streams {
                let logic = (&mut peer.path, &mut peer.codec);
                match state.outgoing.write(&mut state.connection, (domain, stream), logic, cargo, pass, now) {
                    Ok(more) => goes_on |= more,
                    Err(error) => lost.push((stream, broken(error))),
                }
            }
            (peer.due, self.again) = (goes_on, self.again | goes_on);
            if !goes_on || !lost.is_empty() {
                break;
            }
        }
        for (stream, trouble) in lost {
            self.stumble(domain, stream, trouble, now);
        }
    }

    /// Carries out the actions that the path orders.
    pub(super) fn act(&mut self, domain: u32, cargo: &mut dyn MessageStore, now: Nanos) {
        let (silence, patience) =
            (self.tuning.path.silence / 1_000_000, self.tuning.path.patience / 1_000_000_000);
        while let Some(action) = self.peers.get_mut(&domain).and_then(|peer| peer.path.action()) {
            let peer = self.peer(domain);
            match action {
                Action::Deliver(id) => {
                    peer.wrongs = 0;
                    cargo.deliver(domain, id);
                }
                Action::Release(id) => cargo.release(domain, id),
                Action::Credit { conduit, bytes } => cargo.credit(domain, conduit, bytes),
                Action::Write => peer.due = true,
                Action::Close { stream } => {
                    self.lose(domain, stream, fault!(PATH_GIVEN_UP, "nothing was heard for {silence} ms"), now);
                }
                Action::GiveUp => {
                    let trouble = peer.trouble.clone();
                    let why =
                        fault!(PATH_GIVEN_UP, "no connection for {patience} s; the last trouble: {trouble}");
                    self.give_up(domain, why.caused_by(&trouble));
                }
                Action::Ended => {
                    peer.standing = PathState::Ending;
                    peer.due = true;
                }
            }
        }
    }

    fn end_if_all_is_written(&mut self, domain: u32) {
        let peer = self.peer(domain);
        if peer.standing == PathState::Ending && peer.has_written_all() {
            peer.standing = PathState::Ended;
            self.events.push_back(Event::Ended { domain });
        }
    }

    fn stumble(&mut self, domain: u32, stream: StreamId, trouble: StreamFailure, now: Nanos) {
        match trouble {
            StreamFailure::Broken(why) => self.lose(domain, stream, why, now),
            StreamFailure::Hopeless(why) => self.give_up(domain, why),
            StreamFailure::Wrong(why) => {
                let peer = self.peer(domain);
                peer.wrongs += 1;
                if peer.wrongs >= MAX_VIOLATIONS {
                    self.give_up(
                        domain,
                        fault!(DOMAIN_SENDS_NONSENSE, "a message of domain {domain} makes no sense: {why}"),
                    );
                } else {
                    self.lose(domain, stream, why, now);
                }
            }
        }
    }

    /// Removes a stream that is gone.
    fn lose(&mut self, domain: u32, stream: StreamId, why: Fault, now: Nanos) {
        let peer = self.peer(domain);
        let Some(gone) = peer.streams.remove(&stream) else { return };
        peer.path.stream_down(stream, now);
        peer.dial_again(stream, now);
        peer.trouble.clone_from(&why);
        let down = peer.streams.is_empty();
        let told = peer.standing == PathState::Lives;
        peer.due = true;
        self.owners.remove(&gone.token);
        self.share_pace(domain);
        if told {
            self.events.push_back(Event::StreamLost { domain, stream, why });
        }
        if told && down {
            self.events.push_back(Event::PathDown { domain });
            self.wait_anew(now);
            self.peer(domain).offer_again(now);
        }
        self.end_if_all_is_written(domain);
    }
}
