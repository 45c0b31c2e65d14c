//! The boxes of taps. The agent makes a box and gives its memory to both sides: the instance, which fills the
//! box, and the viewer. If the head views a port for one of its clients, this agent is the viewer's side of the
//! box.

use super::Driver;
use crate::action::{ConnectionId, TapViewer};
use ligament_catalogue::{fault, Fault};
use ligament_shm::tap::TapBox;
use ligament_wire::control::{Notice, Tap};
use ligament_wire::EndpointId;
use rustix::fd::OwnedFd;

/// Makes a box with room for `room` bytes. Returns two descriptors of the box's memory.
pub(super) fn make(room: u64) -> Result<[OwnedFd; 2], Fault> {
    let memory = ligament_shm::tap::make(room).map_err(Fault::from)?;
    let other = memory.try_clone();
    let other = other.map_err(|error| fault!(LIMIT_OF_FILES, "no more file descriptors: {error}"))?;
    Ok([memory, other])
}

/// Makes a box with room for `room` bytes, and opens the box in this process. Returns the box, and a
/// descriptor of the box's memory for another process.
pub(super) fn make_own(room: u64) -> Result<(TapBox, OwnedFd), Fault> {
    let memory = ligament_shm::tap::make(room).map_err(Fault::from)?;
    Ok((TapBox::open(&memory, room).map_err(Fault::from)?, memory))
}

impl Driver<'_> {
    /// Makes the box of a tap, and sends the box's memory to both sides.
    pub(super) fn make_tap(
        &mut self,
        viewer: TapViewer,
        to: ConnectionId,
        endpoint: EndpointId,
        tap: Box<Tap>,
    ) {
        let number = tap.tap;
        let made = match viewer {
            TapViewer::Client(link) => make(tap.room).map(|[one, other]| {
                self.send_with(link, &Notice::Tapped { room: tap.room }, vec![one]);
                other
            }),
            TapViewer::Head(ticket) => make_own(tap.room).map(|(bin, other)| {
                self.shows_to_head(ticket, bin);
                other
            }),
        };
        match made {
            Ok(memory) => {
                self.send_with(to, &Notice::Tap(tap), vec![memory]);
                self.call(endpoint);
            }
            Err(why) => {
                let actions = self.core.tap_refused(viewer, number, &why);
                self.act(actions);
            }
        }
    }
}
