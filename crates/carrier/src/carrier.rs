//! The carrier as its agent sees it. Nothing here waits for the carrier's threads: these may be waiting for an answer of
//! the agent, in whose loop the calls are made.

use crate::threads::{endpoint_thread, paths_thread, Order, Shared};
use crate::{Heard, Paths};
use ligament_wire::DomainId;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

/// What makes a carrier an endpoint of its domain.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The agent's socket, as `LIGAMENT_AGENT` has it.
    pub agent: String,
    /// The name and the token of the first of the instances that are elsewhere.
    pub instance: String,
    pub token: String,
    /// The domain that the carrier is in.
    pub me: DomainId,
    /// For each channel of the run the domains that it leads from and to.
    pub domains: Arc<[(DomainId, DomainId)]>,
}

/// How much is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quiet {
    /// Nothing is under way on any path of this domain, or in the carrier, and all that was received here is told to
    /// where it came from.
    pub quiet: bool,
    /// Messages that went to other domains and that came from there, ever. Where all domains are quiet, twice with the
    /// same counts, and as many have come as have gone, nothing is under way between any of them.
    pub sent: u64,
    pub came: u64,
    /// What was told to other domains of what was received here, and what they told; bytes, wrapping. The sums over all
    /// domains are equal if nothing of it is under way.
    pub told: u64,
    pub credited: u64,
}

/// What stands in a domain for all instances that are elsewhere. It works on threads of its own until it is dropped.
pub struct Carrier {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Carrier {
    /// Begins to carry what agents say to each other. What it hears comes out of the second part.
    ///
    /// # Errors
    /// There are no threads or descriptors to be had.
    pub fn start(paths: impl Paths + 'static) -> Result<(Carrier, UnboundedReceiver<Heard>), String> {
        let (sender, heard) = unbounded_channel();
        let shared = Shared::new(Box::new(paths), sender).map_err(|error| format!("no carrier: {error}"))?;
        let carrier = Carrier { shared: Arc::new(shared), threads: Mutex::default() };
        carrier.spawn("paths", paths_thread)?;
        Ok((carrier, heard))
    }

    fn spawn(&self, name: &str, body: impl FnOnce(Arc<Shared>) + Send + 'static) -> Result<(), String> {
        let shared = self.shared.clone();
        let thread =
            std::thread::Builder::new()
                .name(format!("ligament-{name}"))
                .spawn(move || body(shared))
                .map_err(|error| format!("the carrier of messages between domains has no thread: {error}"))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Begins a path that this end dials: see `Net::dial`. As all that follows it does not wait.
    pub fn dial(&self, domain: DomainId, addresses: Vec<SocketAddr>, streams: u16) {
        self.shared.order(Order::Dial { domain, addresses, streams });
    }

    /// Begins a path that the other end dials.
    pub fn expect(&self, domain: DomainId) {
        self.shared.order(Order::Expect { domain });
    }

    /// Nothing more will be said to a domain. When both ends have said so, `Event::Ended` is heard.
    pub fn end(&self, domain: DomainId) {
        self.shared.order(Order::End { domain });
    }

    /// Says something to the agent of another domain, to which a path was begun. It arrives once, and after what was said
    /// before.
    pub fn control(&self, domain: DomainId, bytes: Vec<u8>) {
        self.shared.order(Order::Control { domain, bytes });
    }

    /// Becomes an endpoint of the domain (the agent's driver calls this). What came for instances here before waits
    /// until then. Paths to all domains to which channels lead have been begun.
    pub fn attach(&self, attachment: Attachment) {
        let spawned = self.spawn("carrier", move |shared| endpoint_thread(shared, attachment));
        if let Err(why) = spawned {
            self.shared.tell(Heard::Failed(why));
        }
    }

    /// Lets go of the endpoint as soon as all that was sent here has arrived elsewhere; `Heard::Detached` says so.
    pub fn detach(&self) {
        self.shared.order(Order::Detach);
    }

    /// Whether anything is under way, at this moment.
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
