//! The shared memory of a domain: the board, the area and the outbox of each endpoint, and all slabs. The
//! agent keeps a descriptor of each piece, so messages outlive their sender.

use crate::action::MemoryRegion;
use crate::memory::SpareMemory;
use crate::plan::RunPlan;
use crate::wiring::{ChannelLists, Wiring};
use ligament_catalogue::{fault, Fault};
use ligament_shm::area::{keep_no_timeline, ChannelEnd, Ends, Front, Layout, RowTable};
use ligament_shm::board::Board;
use ligament_shm::endpoint::OUTBOX_BYTES;
use ligament_shm::memory::{create, Mapping};
use ligament_shm::status::Status;
use ligament_shm::timeline::TimelineReader;
use ligament_shm::{barrier, ShmError};
pub use ligament_wire::domains::ChannelView;
pub use ligament_wire::timeline::TimelineDelta;
use ligament_wire::{EndpointId, RankId};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::HashMap;

/// Minimum size, in bytes, of a request that is checked against the memory that the system can spare at
/// that moment.
const LARGE_REQUEST_BYTES: u64 = 16 << 20;

struct AreaHandle {
    fd: OwnedFd,
    front: Front,
    /// One status row for each instance, if the endpoint serves many instances; otherwise `None`.
    rows: Option<RowTable>,
    /// The sending ends of channels, if the endpoint sends; otherwise `None`.
    ends: Option<Ends>,
    timeline: TimelineReader,
}

/// The channels of an endpoint.
struct EndpointChannels {
    endpoint: EndpointId,
    lists: ChannelLists,
}

/// All shared memory that the agent holds.
pub struct Custody {
    board_fd: OwnedFd,
    board: Board,
    layouts: Vec<Layout>,
    timelines: bool,
    /// For each rank: its endpoint, and the number of its row if the endpoint serves many instances. `None`
    /// for ranks of other domains.
    places: Vec<Option<(EndpointId, Option<u32>)>>,
    /// The channels of each endpoint of this domain except the carrier.
    channels: Vec<EndpointChannels>,
    /// Number of channels of the run.
    channel_count: usize,
    areas: Vec<Option<AreaHandle>>,
    outboxes: Vec<Option<OwnedFd>>,
    slabs: HashMap<(EndpointId, u32), OwnedFd>,
    /// For each endpoint: the time at which the end of its process was noticed, in ns of CLOCK_MONOTONIC. 0
    /// while the process runs.
    gone: Vec<u64>,
}

impl Custody {
    /// Makes the board for instances that use `cores` processors together. All other memory is made when an
    /// endpoint first needs it.
    ///
    /// # Errors
    /// There is not enough memory for the board.
    pub fn new(plan: &RunPlan, wiring: &Wiring, cores: u32) -> Result<Custody, ShmError> {
        let n = wiring.ranks().count();
        let board_fd = create("ligament-board", Board::size(n.max(1)))?;
        let asymmetric = barrier::register();
        let board = Board::create(&board_fd, n.max(1), cores, asymmetric)?;
        for endpoint in wiring.own_endpoints() {
            let instance = &plan.instances[wiring.first_instance(endpoint).index()];
            if let Some(bell) = board.doorbell(endpoint).filter(|_| !wiring.is_light(plan, endpoint)) {
                bell.keeps_busy(instance.cores / instance.ranks.unwrap_or(1).max(1));
            }
        }
        let mut channels = Vec::new();
        let mut layout = |one: EndpointId| {
            let mut lists = wiring.channels(one);
            let is_light = wiring.is_light(plan, one);
            if !is_light {
                // A carrier gets no list of channels that both begin and end in other domains.
                lists.inner.clear();
            }
            let layout = Layout {
                channels: wiring.incoming(one),
                inboxes: wiring.senders(one).len() as u32,
                rows: if is_light { wiring.members(one).len() as u32 } else { 0 },
                ends: (lists.sends.len() + 2 * lists.inner.len()) as u32,
            };
            if wiring.carrier() != Some(one) {
                channels.push(EndpointChannels { endpoint: one, lists });
            }
            layout
        };
        let layouts = EndpointId::first(n).map(&mut layout).collect();
        let place = |rank: RankId| {
            let endpoint = wiring.endpoint_of(rank);
            let row = || wiring.is_light(plan, endpoint).then(|| wiring.place(rank));
            (wiring.carrier() != Some(endpoint)).then(|| (endpoint, row()))
        };
        Ok(Custody {
            board_fd,
            board,
            layouts,
            timelines: plan.timeline,
            places: wiring.ranks().all().map(place).collect(),
            channels,
            channel_count: plan.channels.len(),
            areas: (0..n).map(|_| None).collect(),
            outboxes: (0..n).map(|_| None).collect(),
            slabs: HashMap::new(),
            gone: vec![0; n],
        })
    }

    /// Returns the board.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Returns a duplicate of the descriptor of a piece of memory, to be sent to an endpoint.
    ///
    /// # Errors
    /// The memory could not be made, or does not exist.
    pub fn descriptor(&mut self, memory: MemoryRegion) -> Result<OwnedFd, ShmError> {
        let fd = match memory {
            MemoryRegion::Board => self.board_fd.as_fd(),
            MemoryRegion::Area(of) => self.area(of)?,
            MemoryRegion::Outbox(of) => {
                let place = &mut self.outboxes[of.index()];
                if place.is_none() {
                    *place = Some(create("ligament-outbox", OUTBOX_BYTES)?);
                }
                place.as_ref().expect("it was just made").as_fd()
            }
            MemoryRegion::Slab(of, slab) => self
                .slabs
                .get(&(of, slab))
                .ok_or_else(|| ShmError::Malformed(format!("slab {slab} of endpoint {of} is gone")))?
                .as_fd(),
        };
        fd.try_clone_to_owned().map_err(|error| {
            ShmError::Malformed(format!("no more file descriptors ({error}); raise \"ulimit -n\""))
        })
    }

    fn area(&mut self, of: EndpointId) -> Result<rustix::fd::BorrowedFd<'_>, ShmError> {
        let i = of.index();
        if self.areas[i].is_none() {
            let layout = self.layouts[i];
            let fd = create("ligament-area", layout.size())?;
            if !self.timelines || layout.rows > 0 {
                keep_no_timeline(&fd)?;
            }
            let front = Front::new(Mapping::readable(&fd, 0, layout.front())?, layout)?;
            let (at, len) = layout.rows();
            let rows = match layout.rows {
                0 => None,
                _ => Some(RowTable::new(Mapping::readable(&fd, at, len)?, layout)?),
            };
            let (at, len) = layout.ends();
            let ends = match layout.ends {
                0 => None,
                _ => Some(Ends::new(Mapping::readable(&fd, at, len)?, layout)?),
            };
            self.areas[i] = Some(AreaHandle { fd, front, rows, ends, timeline: TimelineReader::default() });
        }
        Ok(self.areas[i].as_ref().expect("it was just made").fd.as_fd())
    }

    /// Makes a slab. Returns a descriptor to be sent to an endpoint.
    ///
    /// # Errors
    /// The reason, to be sent to the slab's owner.
    pub fn make_slab(&mut self, endpoint: EndpointId, slab: u32, bytes: u64) -> Result<OwnedFd, Fault> {
        if bytes >= LARGE_REQUEST_BYTES {
            SpareMemory::check(bytes)?;
        }
        let size = usize::try_from(bytes)
            .map_err(|_| fault!(MEMORY_OF_MACHINE, "{bytes} bytes are more than this machine can map"))?;
        let fd = create("ligament-slab", size).map_err(Fault::from)?;
        let given =
            fd.try_clone().map_err(|error| fault!(LIMIT_OF_FILES, "no more file descriptors: {error}"))?;
        self.slabs.insert((endpoint, slab), fd);
        Ok(given)
    }

    /// Releases a slab.
    pub fn drop_slab(&mut self, endpoint: EndpointId, slab: u32) {
        self.slabs.remove(&(endpoint, slab));
    }

    /// Releases an endpoint's outbox and slabs. Its status page is kept for the summary.
    pub fn drop_endpoint(&mut self, endpoint: EndpointId) {
        self.outboxes[endpoint.index()] = None;
        self.slabs.retain(|(of, _), _| *of != endpoint);
    }

    /// Returns the number of outboxes and slabs that the agent holds.
    pub fn held(&self) -> usize {
        self.outboxes.iter().flatten().count() + self.slabs.len()
    }

    /// Records that an endpoint's process has ended at `now`, in ns. If the process did not write the time of
    /// its end into its status page, this time counts as its end.
    pub fn process_ended(&mut self, endpoint: EndpointId, now: u64) {
        let gone = &mut self.gone[endpoint.index()];
        *gone = if *gone == 0 { now } else { *gone };
    }

    /// Returns a status page. If it has no time of the process's end, the time that the agent noticed is filled
    /// in.
    fn with_end(&self, endpoint: EndpointId, mut status: Status) -> Status {
        if status.ended == 0 {
            status.ended = self.gone[endpoint.index()];
        }
        status
    }

    /// Returns the part of an endpoint's timeline that is new since the last call. Returns `None` before
    /// the endpoint has an area, and for an endpoint that serves many instances.
    pub fn timeline(&mut self, endpoint: EndpointId) -> Option<TimelineDelta> {
        let AreaHandle { front, timeline, rows: None, .. } = self.areas[endpoint.index()].as_mut()? else {
            return None;
        };
        let status = front.look();
        let intervals = timeline.take(front);
        let causes = timeline.sums(front, &status);
        Some(TimelineDelta { status: self.with_end(endpoint, status), intervals, causes })
    }

    /// Returns the number of messages that have passed each channel of the run, by channel number.
    pub fn channels(&self) -> Vec<ChannelView> {
        let mut seen = vec![ChannelView::default(); self.channel_count];
        self.see_ends(|channel, view| {
            let one = &mut seen[channel as usize];
            one.sent = view.sent.or(one.sent);
            one.received = view.received.or(one.received);
        });
        seen
    }

    /// Calls `see` for every channel that has an end in this domain, with the channel's number and the
    /// counts of that end, or of both ends. The order is the same in each call.
    pub fn see_ends(&self, mut see: impl FnMut(u32, ChannelView)) {
        for own in &self.channels {
            let area = self.areas[own.endpoint.index()].as_ref();
            let end = |index: usize| area?.ends.as_ref()?.end(index as u32).map(ChannelEnd::passed);
            for (i, &id) in own.lists.sends.iter().enumerate() {
                see(id, ChannelView { sent: end(i), received: None });
            }
            for (i, &id) in own.lists.receives.iter().enumerate() {
                let received = area.and_then(|area| area.front.end(i as u32)).map(ChannelEnd::passed);
                see(id, ChannelView { sent: None, received });
            }
            for (i, &id) in own.lists.inner.iter().enumerate() {
                let at = own.lists.sends.len() + 2 * i;
                see(id, ChannelView { sent: end(at), received: end(at + 1) });
            }
        }
    }

    /// Returns the status page of a rank. Returns `None` before the rank's endpoint has an area, and for a
    /// rank of another domain.
    pub fn status(&self, rank: RankId) -> Option<Status> {
        let (endpoint, row) = self.places[rank.index()]?;
        let area = self.areas[endpoint.index()].as_ref()?;
        let status = match (row, &area.rows) {
            (Some(row), Some(rows)) => rows.look(row)?,
            _ => area.front.look(),
        };
        Some(self.with_end(endpoint, status))
    }
}
