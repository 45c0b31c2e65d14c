//! Paths in memory, for tests. Both ends are the product's own `Path`; a cable that can be cut joins them.
#![allow(dead_code)]

use ligament_catalogue::fault;
use ligament_net::{DialAddress, Event, MessageId, MessageStore, Nanos};
use ligament_path::{Action, Destination, FrameHeader, OutgoingFrame, Path, PathOptions};
use ligament_wire::DomainId;
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;

use std::sync::{Arc, Mutex};

/// A cable between two domains, with the frames that are under way in each direction.
struct Cable {
    queues: [VecDeque<(FrameHeader, Vec<u8>)>; 2],
    /// Number of times that the cable was cut. A cut loses the frames that are under way.
    cuts: u32,
    /// Number of bytes of frames that were put on the cable, with their headers.
    carried_bytes: u64,
    bells: [Arc<OwnedFd>; 2],
}

/// Cuts the cables between domains.
#[derive(Clone)]
pub struct Scissors(Vec<Arc<Mutex<Cable>>>);

impl Scissors {
    /// Cuts all cables: all frames that are under way are lost. The cables carry new frames at once.
    pub fn cut(&self) {
        for cable in &self.0 {
            let mut cable = cable.lock().unwrap();
            cable.queues.iter_mut().for_each(VecDeque::clear);
            cable.cuts += 1;
            cable.bells.iter().for_each(|bell| ring(bell));
        }
    }

    /// Returns the number of bytes that were put on all cables so far.
    pub fn carried_bytes(&self) -> u64 {
        self.0.iter().map(|cable| cable.lock().unwrap().carried_bytes).sum()
    }

    /// Returns the number of frames that are under way.
    pub fn under_way(&self) -> usize {
        self.0.iter().map(|cable| cable.lock().unwrap().queues.iter().map(VecDeque::len).sum::<usize>()).sum()
    }
}

struct End {
    path: Path,
    cable: Arc<Mutex<Cable>>,
    side: usize,
    /// Number of cuts of the cable that this end has noticed. `None` before the first turn.
    cuts: Option<u32>,
    ended: bool,
}

/// All paths of one domain.
pub struct MemoryPaths {
    ends: BTreeMap<u32, End>,
    bell: Arc<OwnedFd>,
    events: VecDeque<Event>,
}

fn ring(bell: &OwnedFd) {
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}

/// Makes the paths of `n` domains, each of which is joined to all others.
pub fn joined(n: u32) -> (Vec<MemoryPaths>, Scissors) {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let mut all: Vec<MemoryPaths> = (0..n)
        .map(|_| MemoryPaths {
            ends: BTreeMap::new(),
            bell: Arc::new(eventfd(0, flags).unwrap()),
            events: VecDeque::new(),
        })
        .collect();
    let mut scissors = Vec::new();
    for a in 0..n {
        for b in a + 1..n {
            let bells = [all[a as usize].bell.clone(), all[b as usize].bell.clone()];
            let cable =
                Arc::new(Mutex::new(Cable { queues: Default::default(), cuts: 0, carried_bytes: 0, bells }));
            scissors.push(cable.clone());
            for (side, me, other) in [(0, a, b), (1, b, a)] {
                let path = Path::new(PathOptions::default(), 0);
                let end = End { path, cable: cable.clone(), side, cuts: None, ended: false };
                all[me as usize].ends.insert(other, end);
            }
        }
    }
    (all, Scissors(scissors))
}

impl End {
    fn turn(&mut self, domain: u32, cargo: &mut dyn MessageStore, events: &mut VecDeque<Event>, now: Nanos) {
        let cuts = self.cable.lock().unwrap().cuts;
        if self.cuts != Some(cuts) {
            self.cuts = Some(cuts);
            self.path.stream_up(0, cuts + 1, now);
            events.push_back(Event::PathUp { domain });
        }
        self.path.tick(now);
        loop {
            let came = {
                let mut cable = self.cable.lock().unwrap();
                if Some(cable.cuts) != self.cuts {
                    return;
                }
                cable.queues[1 - self.side].pop_front()
            };
            if let Some((header, bytes)) = came {
                self.take(domain, &header, &bytes, cargo, events, now);
                self.act(domain, cargo, events);
                continue;
            }
            self.act(domain, cargo, events);
            let Some(frame) = self.path.next(0, now) else { return };
            let frame = match frame {
                OutgoingFrame::Control { header, bytes } => (header, bytes),
                OutgoingFrame::Piece { header, id, offset, len } => {
                    let mut slices: Vec<IoSlice<'_>> = Vec::new();
                    cargo.slices(domain, id, offset, len, &mut slices);
                    let bytes = slices.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<u8>>();
                    assert_eq!(bytes.len(), len as usize, "the bytes that were asked for");
                    (header, bytes)
                }
            };
            let mut cable = self.cable.lock().unwrap();
            if Some(cable.cuts) == self.cuts {
                cable.carried_bytes += (ligament_path::HEADER_BYTES + frame.1.len()) as u64;
                cable.queues[self.side].push_back(frame);
                ring(&cable.bells[1 - self.side]);
            }
        }
    }

    fn take(
        &mut self,
        domain: u32,
        header: &FrameHeader,
        bytes: &[u8],
        cargo: &mut dyn MessageStore,
        events: &mut VecDeque<Event>,
        now: Nanos,
    ) {
        match self.path.begins(0, header, now).expect("frames of our own") {
            Destination::Message { id, total, offset, len, first, .. } => {
                if first {
                    if let Err(why) = cargo.begin(domain, id, total) {
                        events.push_back(Event::GivenUp { domain, why });
                        return;
                    }
                }
                if self.path.is_wanted(id) {
                    cargo.room(domain, id, offset, len).copy_from_slice(bytes);
                }
                self.path.finished(0, now);
            }
            Destination::Nowhere { .. } => self.path.finished(0, now),
            Destination::Acknowledgement { .. } => {
                self.path.acknowledged(0, bytes, now).expect("counts of our own")
            }
            Destination::Done => {}
        }
    }

    fn act(&mut self, domain: u32, cargo: &mut dyn MessageStore, events: &mut VecDeque<Event>) {
        while let Some(action) = self.path.action() {
            match action {
                Action::Deliver(id) => cargo.deliver(domain, id),
                Action::Release(id) => cargo.release(domain, id),
                Action::Credit { conduit, bytes } => cargo.credit(domain, conduit, bytes),
                Action::Ended => {
                    self.ended = true;
                    events.push_back(Event::Ended { domain });
                }
                Action::GiveUp => {
                    events.push_back(Event::GivenUp { domain, why: fault!(PATH_GIVEN_UP, "nobody came") })
                }
                Action::Close { .. } | Action::Write => {}
            }
        }
    }
}

impl ligament_carrier::Paths for MemoryPaths {
    fn dial(&mut self, _: DomainId, _: Vec<DialAddress>, _: u16) {}

    fn expect(&mut self, _: DomainId, _: Vec<DialAddress>) {}

    fn send(&mut self, domain: DomainId, conduit: u32, total: u64) -> MessageId {
        self.ends.get_mut(&domain.number()).expect("a domain").path.send(conduit, total)
    }

    fn credit(&mut self, domain: DomainId, conduit: u32, bytes: u64) {
        self.ends.get_mut(&domain.number()).expect("a domain").path.credit(conduit, bytes);
    }

    fn end(&mut self, domain: DomainId) {
        self.ends.get_mut(&domain.number()).expect("a domain").path.end();
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn deadline(&self) -> Option<Nanos> {
        self.ends.values().filter(|end| !end.ended).filter_map(|end| end.path.deadline()).min()
    }

    fn turn(&mut self, cargo: &mut dyn MessageStore, now: Nanos) {
        let _ = rustix::io::read(&self.bell, &mut [0u8; 8]);
        for (&domain, end) in self.ends.iter_mut().filter(|(_, end)| !end.ended) {
            end.turn(domain, cargo, &mut self.events, now);
        }
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn idle(&self, domain: DomainId) -> bool {
        self.ends[&domain.number()].path.under_way() == (0, 0)
    }
}
