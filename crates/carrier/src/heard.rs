//! What a carrier has to say to the agent around it.

use ligament_net::Event;
use ligament_wire::DomainId;

/// Something that the carrier heard or met, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Another domain's agent says something.
    Control { from: DomainId, bytes: Vec<u8> },
    /// Something happened to a path.
    Path(Event),
    /// After `Carrier::detach`: all that was sent here has arrived elsewhere, and the endpoint is let go of.
    Detached,
    /// The run cannot go on. A whole sentence without a full stop.
    Failed(String),
}
