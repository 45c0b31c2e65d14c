//! The carrier as its agent uses it. No call here waits for the carrier's threads: the agent makes these
//! calls in its loop, and the threads may be waiting for an answer of the agent.

use crate::threads::{endpoint_thread, paths_thread, CarrierTask, SharedWork};
use crate::{CarrierReport, Paths};
use ligament_catalogue::{fault, Fault};
use ligament_net::{DialAddress, LinkReport};
use ligament_wire::DomainId;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

/// The data with which a carrier becomes an endpoint of its domain.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// Address of the agent's socket, in the format of `LIGAMENT_AGENT`.
    pub agent: String,
    /// Name of the first instance in another domain, under which the carrier registers, and the token of this
    /// instance.
    pub instance: String,
    pub token: String,
    /// The domain of the carrier.
    pub me: DomainId,
    /// For each channel of the run, the domains of its sender and receiver.
    pub domains: Arc<[(DomainId, DomainId)]>,
}

/// The traffic of a carrier, from which the agent sees whether messages are under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quiet {
    /// True if nothing is under way on any path of this domain or in the carrier, and all bytes received
    /// here were reported to their senders' domains.
    pub quiet: bool,
    /// Total number of messages sent to other domains (`sent`) and received from them (`came`). Suppose that
    /// all domains are quiet twice with the same counts, and that as many messages were received as were sent.
    /// Then nothing is under way between domains.
    pub sent: u64,
    pub came: u64,
    /// Number of bytes received here that were reported to other domains (`told`), and number of bytes that
    /// other domains reported as received there (`credited`); both wrap around. Their sums over all domains
    /// are equal if no report is under way.
    pub told: u64,
    pub credited: u64,
}

/// The endpoint for all instances of other domains. It works on its own threads until it is dropped.
pub struct Carrier {
    shared: Arc<SharedWork>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Carrier {
    /// Starts a carrier of messages between domains. Also returns the receiver of the carrier's reports.
    ///
    /// # Errors
    /// The system has no threads or descriptors left.
    pub fn start(paths: impl Paths + 'static) -> Result<(Carrier, UnboundedReceiver<CarrierReport>), Fault> {
        let (sender, heard) = unbounded_channel();
        let shared = SharedWork::new(Box::new(paths), sender)
            .map_err(|error| fault!(CARRIER_FAILED, "no carrier: {error}"))?;
        let carrier = Carrier { shared: Arc::new(shared), threads: Mutex::default() };
        carrier.spawn("paths", paths_thread)?;
        Ok((carrier, heard))
    }

    fn spawn(&self, name: &str, body: impl FnOnce(Arc<SharedWork>) + Send + 'static) -> Result<(), Fault> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new()
            .name(format!("ligament-{name}"))
            .spawn(move || body(shared))
            .map_err(|error| {
            fault!(CARRIER_FAILED, "the carrier of messages between domains has no thread: {error}")
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Begins a path that this end dials: see `Net::dial`. Does not wait, like all calls below.
    pub fn dial(&self, domain: DomainId, places: Vec<DialAddress>, streams: u16) {
        self.shared.give(CarrierTask::Dial { domain, places, streams });
    }

    /// Begins a path that the other end dials: see `Net::expect_at`. Does not wait.
    pub fn expect(&self, domain: DomainId, places: Vec<DialAddress>) {
        self.shared.give(CarrierTask::Expect { domain, places });
    }

    /// Announces that this domain sends nothing more to another domain. When both ends have announced this, the
    /// carrier reports `Event::Ended`.
    pub fn end(&self, domain: DomainId) {
        self.shared.give(CarrierTask::End { domain });
    }

    /// Sends a message to the agent of another domain, to which a path was begun. The message arrives
    /// exactly once, and after all earlier messages to that agent.
    pub fn control(&self, domain: DomainId, bytes: Vec<u8>) {
        self.shared.give(CarrierTask::Control { domain, bytes });
    }

    /// Makes the carrier an endpoint of its domain. The agent's driver calls this function. Messages for
    /// instances of this domain that arrived before are delivered now. Paths to all domains to which channels
    /// lead must have been begun.
    pub fn attach(&self, attachment: Attachment) {
        let spawned = self.spawn("carrier", move |shared| endpoint_thread(shared, attachment));
        if let Err(why) = spawned {
            self.shared.tell(CarrierReport::Failed(why));
        }
    }

    /// Drops the endpoint as soon as all messages from this domain have arrived in other domains.
    /// `CarrierReport::Detached` reports this.
    pub fn detach(&self) {
        self.shared.give(CarrierTask::Detach);
    }

    /// Returns the state of the links to other domains, as last noted.
    pub fn links(&self) -> Vec<(DomainId, LinkReport)> {
        self.shared.links()
    }

    /// Returns the present traffic, from which the agent sees whether messages are under way.
    pub fn quiet(&self) -> Quiet {
        self.shared.quiet()
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // The result of the thread is not needed: a thread that panics reports this itself (`Witness`).
            let _ = thread.join();
        }
    }
}
