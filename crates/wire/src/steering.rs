//! Steering: the messages between the head and the endpoints of a run by which settings change, or all
//! instances halt, at one model time. The head first proposes a change to all endpoints that it concerns.
//! When all have accepted it, the head confirms it. Until then, an endpoint that reaches the time of the
//! change waits at it, unless the change is a checkpoint.

use minicbor::{Decode, Encode};

/// A model time, in s. Two times are equal if their bits are.
#[derive(Debug, Clone, Copy, Encode, Decode)]
#[cbor(transparent)]
pub struct ModelTime(#[n(0)] pub f64);

impl PartialEq for ModelTime {
    fn eq(&self, other: &ModelTime) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for ModelTime {}

/// A change at a model time.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Matter {
    /// Settings change.
    #[n(0)]
    Set {
        /// The body of a message with the settings by their full names.
        #[cbor(n(0), with = "minicbor::bytes")]
        settings: Vec<u8>,
        /// True if the settings change when a pass of the reuse loop begins, and not in a step. This is for
        /// codes that read settings once in each pass.
        #[n(1)]
        restart: bool,
    },
    /// All instances halt.
    #[n(1)]
    Halt,
    /// All instances save their state for a checkpoint. No instance waits for this. An instance that has
    /// accepted saves in its first step from the time on, although the head may withdraw the change later.
    /// Without a time, an instance only answers with its last time and its next one, and keeps nothing.
    #[n(2)]
    Save,
}

/// A request of the head to an endpoint. Changes are numbered in increasing order.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Steer {
    /// Asks whether the endpoint can make a change at the time `at`. Without a time, the endpoint waits at
    /// its next step, and answers with the time that it has reached. The answer is `Accepts`, `Past` or
    /// `Unsteered`.
    #[n(0)]
    Prepare {
        #[n(0)]
        change: u64,
        #[n(1)]
        at: Option<ModelTime>,
        #[n(2)]
        matter: Matter,
    },
    /// Confirms a change: all endpoints have accepted it, and make it at this time.
    #[n(1)]
    Commit {
        #[n(0)]
        change: u64,
        #[n(1)]
        at: ModelTime,
    },
    /// Withdraws a change.
    #[n(2)]
    Withdraw {
        #[n(0)]
        change: u64,
    },
    /// Ends a confirmed halt, or moves it to this later time.
    #[n(3)]
    Move {
        #[n(0)]
        change: u64,
        #[n(1)]
        at: Option<ModelTime>,
    },
}

/// An endpoint's answer to a change.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Steers {
    /// The endpoint has not passed the time of the change, and waits at this time for the next request.
    /// `last` is the last time that the endpoint has passed, if the endpoint has begun. `next` is a later
    /// time at which the endpoint waits, if there is one.
    #[n(0)]
    Accepts {
        #[n(0)]
        last: Option<ModelTime>,
        #[n(1)]
        next: Option<ModelTime>,
    },
    /// The endpoint has passed the time of the change.
    #[n(1)]
    Past {
        #[n(0)]
        last: ModelTime,
    },
    /// The endpoint cannot answer yet. An instance that the change concerns has not called `steer` yet, or
    /// has not begun its first pass if settings change at a pass. The endpoint answers when the instance
    /// arrives there.
    #[n(2)]
    Unsteered,
    /// The endpoint waits at a halt, at this time.
    #[n(3)]
    Halts {
        #[n(0)]
        at: ModelTime,
    },
    /// The endpoint has made the change.
    #[n(4)]
    Made,
    /// The endpoint has ended. Its agent gives this answer.
    #[n(5)]
    Over,
}

/// A change that is confirmed before the run begins, because the run repeats a change of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ScheduledChange {
    #[n(0)]
    pub change: u64,
    #[n(1)]
    pub at: ModelTime,
    #[n(2)]
    pub matter: Matter,
}
