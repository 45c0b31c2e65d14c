//! What is known of an instance at one moment.

/// Where an instance stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Nobody has started it yet.
    NotStarted,
    /// Its process runs, and it has not registered.
    Starting,
    /// It computes.
    Computing,
    /// It waits for a message.
    WaitingToReceive,
    /// It waits until its receiver has read some of what is under way.
    WaitingToSend,
    /// It copies a message.
    Transferring,
    /// It is done.
    Done,
    /// It has failed.
    Failed,
    /// It was ended because the run ended.
    Stopped,
}

impl Standing {
    /// One word or two for it.
    pub fn name(&self) -> &'static str {
        match self {
            Standing::NotStarted => "not started",
            Standing::Starting => "starting",
            Standing::Computing => "computing",
            Standing::WaitingToReceive => "waiting to receive",
            Standing::WaitingToSend => "waiting to send",
            Standing::Transferring => "transferring",
            Standing::Done => "done",
            Standing::Failed => "failed",
            Standing::Stopped => "stopped",
        }
    }
}

/// What an instance waits for. Channels and instances by their numbers in the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// A message on any of these channels.
    Message { channels: Vec<u32> },
    /// That the receiver of this channel reads; a budget of `needs` bytes would do as well.
    Credit { channel: u32, needs: u64 },
    /// That this instance looks at what was sent to it, which it does in any call.
    Slots { instance: u32 },
    /// That a receiver lets go of what it has received, so that there is memory to send more.
    Memory,
}

/// A wait of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub what: Awaited,
    /// For how long already, s.
    pub seconds: f64,
    /// Whether it ends by itself.
    pub timed: bool,
    /// Whether another thread of its process may drop views of others' memory meanwhile.
    pub may_release: bool,
}

/// What an instance has counted so far. Times in s.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    pub sent_messages: u64,
    pub sent_bytes: u64,
    pub received_messages: u64,
    pub received_bytes: u64,
    /// Passes of the reuse loop.
    pub iterations: u64,
    /// Bytes of others' memory that its views hold.
    pub pinned_bytes: u64,
    /// From its registration to its end or until now.
    pub total: f64,
    pub waiting: f64,
    pub transferring: f64,
}

impl Counters {
    /// What is left for computing, s.
    pub fn computing(&self) -> f64 {
        (self.total - self.waiting - self.transferring).max(0.0)
    }
}

/// An instance at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub name: String,
    /// Which component of the model it is a copy of.
    pub component: u32,
    pub pid: Option<u32>,
    /// Whether its process has ended.
    pub gone: bool,
    pub standing: Standing,
    /// What it waits for, while it does.
    pub waits: Option<Waiting>,
    /// Changes whenever a wait begins or ends.
    pub epoch: u64,
    /// The last round in which it has looked once more for what it waits for, and found nothing.
    pub looked: u64,
    /// Whether its process is stopped, by a signal or a debugger, if somebody has looked.
    pub stopped: bool,
    /// The model time that it has reached, s.
    pub model_time: Option<f64>,
    pub counters: Counters,
}
