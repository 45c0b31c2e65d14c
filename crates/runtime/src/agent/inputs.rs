//! Inputs of a domain's instances. If this machine does not see the run directory, the head sends the inputs
//! before the instances start. Each instance gets copies in its working directory. The files from which
//! instances resume come in the same way.

use super::checkpoint_files::ResumeFiles;
use super::Unready;
use crate::files::{FileReceiver, INPUTS};
use crate::paths::{event_loop, hear, Call};
use ligament_agent::{Carrier, CarrierReport};
use ligament_catalogue::{fault, Code, Fault};
use ligament_launch::staging::{copy_for_process, no_room, CopyStamp, DiskSpace};
use ligament_manager::{workdir_in, RunState};
use ligament_net::Event;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Begin, FilePart, FromAgent, FromHead, Input, InputOfProcess};
use ligament_wire::{DomainId, InstanceId};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// The inputs of the instances of domain `me`. Their files are below `home`.
pub(super) struct Inputs<'a> {
    begin: &'a Begin,
    me: DomainId,
    home: &'a Path,
    resume: &'a ResumeFiles<'a>,
    wanted: BTreeSet<u32>,
    /// Numbers of the inputs that have not arrived completely.
    missing: BTreeSet<u32>,
    arriving: FileReceiver,
    came: u64,
}

impl<'a> Inputs<'a> {
    /// Makes the list of the files that this domain needs. The flag beside `home` is true if it is the run
    /// directory, which has the inputs already.
    pub fn new(
        begin: &'a Begin,
        me: DomainId,
        (home, is_shared): (&'a Path, bool),
        resume: &'a ResumeFiles<'a>,
    ) -> Inputs<'a> {
        let here = |instance: InstanceId| !is_shared && begin.plan.instances[instance.index()].domain == me;
        let inputs = begin.given.iter().filter(|given| here(given.instance)).map(|given| given.input);
        let wanted: BTreeSet<u32> = inputs.chain(resume.wanted()).collect();
        let (missing, arriving) = (wanted.clone(), FileReceiver::default());
        Inputs { begin, me, home, resume, missing, wanted, arriving, came: 0 }
    }

    fn input(&self, number: u32) -> (&'a Input, PathBuf) {
        let input = &self.begin.inputs[number as usize];
        (input, self.home.join(INPUTS).join(&input.name))
    }

    /// Returns the size of a file in bytes, its place, and the permissions that it may have.
    fn file(&self, number: u32) -> (u64, PathBuf, u32) {
        if (number as usize) < self.begin.inputs.len() {
            let (input, place) = self.input(number);
            return (input.bytes, place, input.mode);
        }
        let (bytes, place) = self.resume.file(number);
        (bytes, place, 0o777)
    }

    /// Requests the inputs, waits for them, and copies them to the working directories. Returns the copies.
    ///
    /// # Errors
    /// The inputs cannot be had, with the reason.
    pub fn fetch(
        mut self,
        carrier: &Carrier,
        heard: &mut UnboundedReceiver<CarrierReport>,
    ) -> Result<HashSet<CopyStamp>, Unready> {
        if self.wanted.is_empty() {
            return Ok(HashSet::new());
        }
        let needed: u64 = self.wanted.iter().map(|&number| self.file(number).0).sum();
        let place = self.home.join(INPUTS);
        if DiskSpace::at(&place).is_some_and(|room| room.free < needed) {
            let one = self.wanted.first().filter(|_| self.wanted.len() == 1).map(|&number| self.file(number).1);
            return Err(Unready::failed(no_room(&one.unwrap_or(place), needed)));
        }
        carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Wants(self.wanted.iter().copied().collect())));
        await_head(heard, |said| match said {
            FromHead::Input { input, part } => {
                self.take(input, &part)?;
                carrier.control(DomainId::HEAD, to_bytes(&FromAgent::Wrote(self.came)));
                Ok(self.missing.is_empty())
            }
            _ => Ok(false),
        })?;
        self.lay().map_err(Unready::failed)
    }

    fn take(&mut self, number: u32, part: &FilePart) -> Result<(), Fault> {
        if !self.missing.contains(&number) {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "a message of the head makes no sense: it sends the input {number}, which nobody wants"
            ));
        }
        let (_, path, mode) = self.file(number);
        self.came += part.bytes.len() as u64;
        if self.arriving.take(&path, part, mode)? {
            self.missing.remove(&number);
        }
        Ok(())
    }

    fn lay(&self) -> Result<HashSet<CopyStamp>, Fault> {
        let is_here = |given: &&InputOfProcess| {
            self.wanted.contains(&given.input)
                && self.begin.plan.instances[given.instance.index()].domain == self.me
        };
        let one = |given: &InputOfProcess| {
            let instance = &self.begin.plan.instances[given.instance.index()];
            let (input, stored) = self.input(given.input);
            let there = workdir_in(&self.home.join(&instance.home)).join(&given.name);
            copy_for_process(&stored, &there, input.bytes, input.mode)
        };
        self.begin.given.iter().filter(is_here).map(one).collect()
    }
}

/// Waits until the head starts all domains.
pub(super) fn await_start(heard: &mut UnboundedReceiver<CarrierReport>) -> Result<(), Unready> {
    await_head(heard, |said| Ok(matches!(said, FromHead::Start)))
}

fn headless(why: &str) -> Unready {
    Unready::failed(fault!(HEAD_GONE, "the head of the run is gone: {why}"))
}

/// Handles messages of the head until `take` returns true.
fn await_head(
    heard: &mut UnboundedReceiver<CarrierReport>,
    mut take: impl FnMut(FromHead) -> Result<bool, Fault>,
) -> Result<(), Unready> {
    let mut events = event_loop().map_err(Unready::failed)?;
    loop {
        let until = Instant::now() + Duration::from_secs(3600);
        let said = match hear(&mut events, heard, until).map_err(Unready::failed)? {
            Call::Heard(CarrierReport::Control { from: DomainId::HEAD, bytes }) => {
                from_bytes::<FromHead>(&bytes).map_err(|why| {
                    Unready::failed(fault!(
                        DOMAIN_SENDS_NONSENSE,
                        "a message of the head makes no sense: \
                                                                   {why}"
                    ))
                })?
            }
            Call::Heard(CarrierReport::Path(Event::GivenUp { domain: 0, why })) => {
                return Err(headless(why.text()))
            }
            Call::Heard(CarrierReport::Path(Event::Gone { domain: 0, why })) => return Err(headless(&why)),
            Call::Heard(CarrierReport::Failed(why)) => return Err(Unready::failed(why)),
            Call::Interrupted | Call::HungUp => {
                return Err(Unready {
                    why: fault!(CANNOT_JOIN, "it was interrupted"),
                    state: RunState::Interrupted,
                })
            }
            Call::Heard(_) | Call::Nothing => continue,
        };
        match said {
            FromHead::Refused(why) => return Err(Unready::failed(Fault::heard(why, Code::CANNOT_JOIN))),
            FromHead::Bye => {
                return Err(Unready::failed(fault!(
                    INPUT_NOT_STAGED,
                    "the run ended before its instances started"
                )))
            }
            said => {
                if take(said).map_err(Unready::failed)? {
                    return Ok(());
                }
            }
        }
    }
}
