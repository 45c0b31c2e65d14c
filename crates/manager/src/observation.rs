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
    /// It waits for a message: on this channel, or on any of several.
    WaitingToReceive(Option<u32>),
    /// It waits until the receiver of this channel has read some of what is under way.
    WaitingToSend(Option<u32>),
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
            Standing::WaitingToReceive(_) => "waiting to receive",
            Standing::WaitingToSend(_) => "waiting to send",
            Standing::Transferring => "transferring",
            Standing::Done => "done",
            Standing::Failed => "failed",
            Standing::Stopped => "stopped",
        }
    }
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
    pub standing: Standing,
    /// For how long it has been waiting, s.
    pub since: Option<f64>,
    /// Changes whenever a wait begins or ends.
    pub epoch: u64,
    /// The model time that it has reached, s.
    pub model_time: Option<f64>,
    pub counters: Counters,
}
