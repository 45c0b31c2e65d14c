//! Steering: what the head and the endpoints of a run say to each other to change settings, or to halt, at one
//! model time. A change is prepared at all whom it concerns, and made good when all of them have accepted it;
//! who comes to its time before that waits there.

use minicbor::{Decode, Encode};

/// A model time, s; compared by its bits.
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
        /// The body of a message that holds them, by their full names.
        #[cbor(n(0), with = "minicbor::bytes")]
        settings: Vec<u8>,
        /// When a pass of the reuse loop begins, and not in a step: for codes that read settings once a pass.
        #[n(1)]
        restart: bool,
    },
    /// All instances halt.
    #[n(1)]
    Halt,
}

/// An order of the head to an endpoint. Changes have numbers, which grow.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Steer {
    /// Will you make this change at `at`? Without a time: when you come to your next step, wait there, and say
    /// how far you are now. Answered by `Accepts`, `Past` or `Unsteered`.
    #[n(0)]
    Prepare {
        #[n(0)]
        change: u64,
        #[n(1)]
        at: Option<ModelTime>,
        #[n(2)]
        matter: Matter,
    },
    /// All have accepted it: make it at this time.
    #[n(1)]
    Commit {
        #[n(0)]
        change: u64,
        #[n(1)]
        at: ModelTime,
    },
    /// It does not happen.
    #[n(2)]
    Withdraw {
        #[n(0)]
        change: u64,
    },
    /// A halt that was made good ends, or is at this later time.
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
    /// I have not passed its time, and wait there until I hear more. The last time that I have passed, if I
    /// have begun; and, if I stand at a later one, that.
    #[n(0)]
    Accepts {
        #[n(0)]
        last: Option<ModelTime>,
        #[n(1)]
        next: Option<ModelTime>,
    },
    /// I have passed its time.
    #[n(1)]
    Past {
        #[n(0)]
        last: ModelTime,
    },
    /// I have not called `steer` yet (or begun a pass that there could be another of), and will answer when I
    /// do.
    #[n(2)]
    Unsteered,
    /// I stand at a halt, at this time.
    #[n(3)]
    Halts {
        #[n(0)]
        at: ModelTime,
    },
    /// I have made it.
    #[n(4)]
    Made,
    /// I have ended; my agent says so.
    #[n(5)]
    Over,
}

/// A change that was made good before the run began, because it is made again as it was in an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ScheduledChange {
    #[n(0)]
    pub change: u64,
    #[n(1)]
    pub at: ModelTime,
    #[n(2)]
    pub matter: Matter,
}
