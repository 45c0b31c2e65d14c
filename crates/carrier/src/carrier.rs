//! The carrier as its agent sees it. Nothing here waits for the carrier's threads, because they may be waiting
//! for an answer from the agent, in whose loop these calls are made.

use crate::threads::{endpoint_thread, paths_thread, CarrierTask, SharedWork};
use crate::{CarrierReport, Paths};
use ligament_catalogue::{fault, Fault};
use ligament_net::{DialAddress, LinkReport};
use ligament_wire::DomainId;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

/// The data that make a carrier an endpoint of its domain.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The agent's socket, as `LIGAMENT_AGENT` has it.
    pub agent: String,
    /// The name and the token of the first of the instances that are elsewhere.
    pub instance: String,
    pub token: String,
    /// The domain that the carrier is in.
    pub me: DomainId,
    /// For each channel of the run, the domains of its sender and receiver.
    pub domains: Arc<[(DomainId, DomainId)]>,
}

/// How much is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quiet {
    /// Nothing is under way on any path of this domain or in the carrier, and everything received here was
    /// reported to its sender's domain.
    pub quiet: bool,
    /// Messages sent to other domains and received from them, ever. If all domains are quiet twice with the
    /// same counts, and as many messages were received as were sent, nothing is under way between any of them.
    pub sent: u64,
    pub came: u64,
    /// Bytes received here as reported to other domains, and bytes received there as they reported; wrapping.
    /// The sums over all domains are equal if no report is under way.
    pub told: u64,
    pub credited: u64,
}

/// The endpoint for all instances elsewhere. It works on threads of its own until it is dropped.
pub struct Carrier {
    shared: Arc<SharedWork>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Carrier {
    /// Begins to carry messages between agents. The second part returns what the carrier reports.
    ///
    /// # Errors
    /// No threads or descriptors can be had.
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

    /// Begins a path that this end dials: see `Net::dial`. Like all calls below, it does not wait.
    pub fn dial(&self, domain: DomainId, places: Vec<DialAddress>, streams: u16) {
        self.shared.give(CarrierTask::Dial { domain, places, streams });
    }

    /// Begins a path that the other end dials: see `Net::expect_at`.
    pub fn expect(&self, domain: DomainId, places: Vec<DialAddress>) {
        self.shared.give(CarrierTask::Expect { domain, places });
    }

    /// Nothing more will be sent to a domain. When both ends have announced this, `Event::Ended` is reported.
    pub fn end(&self, domain: DomainId) {
        self.shared.give(CarrierTask::End { domain });
    }

    /// Sends a message to the agent of another domain, to which a path was begun. It arrives once, and after
    /// earlier messages.
    pub fn control(&self, domain: DomainId, bytes: Vec<u8>) {
        self.shared.give(CarrierTask::Control { domain, bytes });
    }

    /// Becomes an endpoint of the domain; the agent's driver calls this. Messages for instances here that came
    /// earlier wait until then. Paths to all domains to which channels lead must have been begun.
    pub fn attach(&self, attachment: Attachment) {
        let spawned = self.spawn("carrier", move |shared| endpoint_thread(shared, attachment));
        if let Err(why) = spawned {
            self.shared.tell(CarrierReport::Failed(why));
        }
    }

    /// Drops the endpoint as soon as everything sent here has arrived elsewhere; `CarrierReport::Detached`
    /// reports it.
    pub fn detach(&self) {
        self.shared.give(CarrierTask::Detach);
    }

    /// How the links to other domains did a moment ago.
    pub fn links(&self) -> Vec<(DomainId, LinkReport)> {
        self.shared.links()
    }

    /// Returns true if anything is under way, at this moment.
    pub fn quiet(&self) -> Quiet {
        self.shared.quiet()
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // One that crashed has said so.
            let _ = thread.join();
        }
    }
}
