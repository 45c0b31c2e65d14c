//! Reports of a carrier to its agent.

use ligament_catalogue::Fault;
use ligament_net::Event;
use ligament_wire::DomainId;

/// A report of the carrier, in the order of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CarrierReport {
    /// A message from another domain's agent.
    Control { from: DomainId, bytes: Vec<u8> },
    /// An event of a path.
    Path(Event),
    /// After `Carrier::detach`: all messages from this domain have arrived in other domains, and the
    /// endpoint is dropped.
    Detached,
    /// The run cannot continue. The text is a whole sentence without a full stop.
    Failed(Fault),
}
