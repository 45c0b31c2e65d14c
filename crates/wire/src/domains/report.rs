//! The reports of an agent about events of its instances, and the outcome of a run. The head's own agent
//! gives the same reports to the manager.

use super::MAX_TEXT;
use crate::control::{CheckpointOutcome, SteerableSetting};
use crate::number::RankId;
use crate::steering::{ModelTime, Steers};
use crate::Exit;
use ligament_catalogue::{Code, Fault};
use minicbor::{Decode, Encode};
use std::sync::Arc;

/// The first failure of a run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RunFailure {
    /// The rank that failed. `None` if no rank caused the failure.
    #[n(0)]
    pub rank: Option<RankId>,
    /// The failure as a sentence without its subject: `ended with exit status 3`.
    #[cbor(n(1), with = "fault")]
    pub what: Fault,
    /// The message that the instance has passed to `error_shutdown`, if it has called it.
    #[n(2)]
    pub said: Option<String>,
    /// The end of the rank's process, once known.
    #[n(3)]
    pub exit: Option<Exit>,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum RunOutcome {
    /// Every instance ended cleanly.
    #[n(0)]
    Done,
    /// The run failed, for this reason.
    #[n(1)]
    Failed(#[n(0)] RunFailure),
    /// A client ended the run (`ligament stop`).
    #[n(2)]
    Stopped,
    /// A signal to `ligament run` itself ended the run.
    #[n(3)]
    Interrupted,
}

/// An event for the run's log and its record.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AgentReport {
    /// A rank has registered. `language` is the language of its code.
    #[n(0)]
    Registered {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        pid: u32,
        #[n(2)]
        language: String,
    },
    /// The process of a rank has ended.
    #[n(1)]
    Exited {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        exit: Exit,
    },
    /// A line that an instance writes to the log. The levels are those of `control`.
    #[n(2)]
    Said {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        level: u8,
        #[n(2)]
        text: String,
    },
    /// A line that the agent writes to the log.
    #[n(3)]
    Remark {
        #[n(0)]
        level: u8,
        #[n(1)]
        text: String,
    },
    /// The run begins to end, with this outcome.
    #[n(4)]
    Ending(#[n(0)] RunOutcome),
    /// One value for each port of an instance, in the plan's order: true if the port has slots. The agent
    /// sends this right after the registration of an instance that is connected to other domains, because
    /// only the head sees both ends of such conduits.
    #[n(5)]
    Slots {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        slots: Vec<bool>,
    },
    /// The settings and channels that a finished endpoint has used: the names of the settings that its code
    /// has read (`asked`), and the number of messages that it sent or received on each channel.
    #[n(6)]
    Used {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        asked: Vec<String>,
        #[n(2)]
        sent: Vec<(u32, u64)>,
        #[n(3)]
        received: Vec<(u32, u64)>,
    },
    /// The answer of a rank to a change.
    #[n(7)]
    Steers {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        change: u64,
        #[n(2)]
        answer: Steers,
    },
    /// The code of a rank declares that a setting can be steered.
    #[n(8)]
    Steerable {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        setting: SteerableSetting,
    },
    /// The rank takes part in the run and sends on these ports. The model may not declare all of these
    /// ports, because some are known only to the code. Later reports of the rank have the same ports, and
    /// behind them the fields of a grid that it has published.
    #[n(9)]
    Sends {
        #[n(0)]
        rank: RankId,
        #[cbor(n(1), with = "shared_list")]
        ports: Arc<[String]>,
    },
    /// The ports that the code declares and the model does not, each with the name of its operator. One
    /// rank reports for all ranks of its component that register together.
    #[n(10)]
    Declares {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        ports: Vec<(String, String)>,
    },
    /// The outcome of a rank's file for the checkpoint at a moment (model time, s).
    #[n(11)]
    Checkpoint {
        #[n(0)]
        rank: RankId,
        #[n(1)]
        moment: ModelTime,
        #[n(2)]
        outcome: CheckpointOutcome,
    },
}

impl RunOutcome {
    /// Makes the outcome of a run that failed without the fault of an instance.
    pub fn failed(what: Fault) -> RunOutcome {
        RunOutcome::Failed(RunFailure { rank: None, what, said: None, exit: None })
    }

    /// Returns the outcome with texts that are not longer than the receiver accepts (`MAX_TEXT`).
    pub fn truncated(self) -> RunOutcome {
        match self {
            RunOutcome::Failed(failure) => RunOutcome::Failed(RunFailure {
                what: failure.what.told(truncated),
                said: failure.said.as_deref().map(truncated),
                ..failure
            }),
            other => other,
        }
    }
}

impl AgentReport {
    /// Returns the report with texts that are not longer than the receiver accepts (`MAX_TEXT`).
    pub fn truncated(self) -> AgentReport {
        match self {
            AgentReport::Registered { rank, pid, language } => {
                AgentReport::Registered { rank, pid, language: truncated(&language) }
            }
            AgentReport::Said { rank, level, text } => {
                AgentReport::Said { rank, level, text: truncated(&text) }
            }
            AgentReport::Remark { level, text } => AgentReport::Remark { level, text: truncated(&text) },
            AgentReport::Ending(outcome) => AgentReport::Ending(outcome.truncated()),
            AgentReport::Used { rank, asked, sent, received } => {
                let asked = asked.iter().map(|name| truncated(name)).collect();
                AgentReport::Used { rank, asked, sent, received }
            }
            AgentReport::Steerable { rank, setting } => {
                let (name, unit) = (truncated(&setting.name), truncated(&setting.unit));
                let kind = setting.kind.as_deref().map(truncated);
                AgentReport::Steerable { rank, setting: SteerableSetting { name, unit, kind, ..setting } }
            }
            AgentReport::Sends { rank, ports } => {
                AgentReport::Sends { rank, ports: ports.iter().map(|port| truncated(port)).collect() }
            }
            AgentReport::Declares { rank, ports } => {
                let short = |(name, operator): &(String, String)| (truncated(name), truncated(operator));
                AgentReport::Declares { rank, ports: ports.iter().map(short).collect() }
            }
            AgentReport::Checkpoint { rank, moment, outcome: CheckpointOutcome::Failed { why } } => {
                let outcome = CheckpointOutcome::Failed { why: truncated(&why) };
                AgentReport::Checkpoint { rank, moment, outcome }
            }
            AgentReport::Checkpoint { rank, moment, outcome: CheckpointOutcome::Unsavable { why } } => {
                let outcome = CheckpointOutcome::Unsavable { why: truncated(&why) };
                AgentReport::Checkpoint { rank, moment, outcome }
            }
            other @ (AgentReport::Exited { .. }
            | AgentReport::Slots { .. }
            | AgentReport::Checkpoint { .. }
            | AgentReport::Steers { .. }) => other,
        }
    }
}

/// Returns the text, cut to the length that the receiver accepts. A mark at the end says that the text is
/// cut.
pub fn truncated(text: &str) -> String {
    const TRUNCATION_MARK: &str = " … (cut)";
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let most = MAX_TEXT - TRUNCATION_MARK.len();
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}{TRUNCATION_MARK}", &text[..end])
}

/// Encoding of a fault: the name of its code, and its text. The code `DOMAIN_SENDS_NONSENSE` replaces a
/// code that this version does not know.
mod fault {
    use super::{Code, Fault};
    use minicbor::decode::{Decoder, Error as DecodeError};
    use minicbor::encode::Write;
    use minicbor::encode::{Encoder, Error as EncodeError};

    pub fn encode<C, W: Write>(
        fault: &Fault,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.array(2)?.str(fault.code().name())?.str(fault.text())?.ok()
    }

    pub fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Fault, DecodeError> {
        if d.array()? != Some(2) {
            return Err(DecodeError::message("a fault is a code and a text"));
        }
        let code = Code::named(d.str()?).unwrap_or(Code::DOMAIN_SENDS_NONSENSE);
        Ok(Fault::new(code, d.str()?))
    }
}

/// Encoding of a list of texts in an `Arc`, which several values in memory may share.
mod shared_list {
    use super::Arc;
    use minicbor::decode::{Decode, Decoder, Error as DecodeError};
    use minicbor::encode::Write;
    use minicbor::encode::{Encode, Encoder, Error as EncodeError};

    pub fn encode<C, W: Write>(
        list: &Arc<[String]>,
        e: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        list.as_ref().encode(e, context)
    }

    pub fn decode<C>(d: &mut Decoder<'_>, context: &mut C) -> Result<Arc<[String]>, DecodeError> {
        Vec::<String>::decode(d, context).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::to_bytes;
    use crate::domains::from_bytes;
    use ligament_catalogue::fault;

    #[test]
    fn a_long_line_is_cut_between_two_letters() {
        let long = "ä".repeat(MAX_TEXT);
        let short = truncated(&long);
        assert!(short.len() <= MAX_TEXT && short.ends_with("(cut)"));
        assert_eq!(truncated("short"), "short");
    }

    #[test]
    fn every_outcome_comes_back() {
        let failure = RunFailure {
            rank: Some(RankId::new(3)),
            what: fault!(EXIT_STATUS, "ended"),
            said: Some("why".into()),
            exit: Some(Exit::Signal(9)),
        };
        for outcome in
            [RunOutcome::Done, RunOutcome::Stopped, RunOutcome::Interrupted, RunOutcome::Failed(failure)]
        {
            let report = AgentReport::Ending(outcome);
            assert_eq!(from_bytes::<AgentReport>(&to_bytes(&report)).unwrap(), report);
        }
    }
}
