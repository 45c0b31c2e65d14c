//! The files of an instance on any machine. Files that are still on another machine come from the head; all
//! other files are read in the run directory.

use super::{is_alive, is_here, peek_at, record_of};
use crate::files::see;
use ligament_catalogue::{fault, Fault};
use ligament_manager::{no_such_instance, RunDirectory, RunState};
use ligament_wire::peek::{Sight, MAX_ANSWER_BYTES};
use std::time::Duration;

/// Interval between two checks if a run that does not answer is over, and the maximum number of these checks.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const MAX_END_POLLS: u32 = 8;

/// Access to the files of an instance.
pub struct InstanceFiles<'a> {
    run: &'a RunDirectory,
    instance: &'a str,
}

impl<'a> InstanceFiles<'a> {
    /// Makes the access to the files of an instance of this run.
    ///
    /// # Errors
    /// The run has no instance with this name. The error lists the instances of the run.
    pub fn of(run: &'a RunDirectory, instance: &'a str) -> Result<InstanceFiles<'a>, Fault> {
        // With a slash or a leading dot, the name could lead to another directory.
        if !instance.contains('/') && !instance.starts_with('.') && run.home(instance).is_dir() {
            return Ok(InstanceFiles { run, instance });
        }
        Err(no_such_instance(run, instance))
    }

    /// Returns true if the files may now be on another machine, and not in the run directory.
    pub fn may_be_elsewhere(&self) -> bool {
        record_of(self.run).is_ok_and(|record| {
            record.state == RunState::Running && record.domains.iter().any(|domain| domain.scratch.is_some())
        })
    }

    /// Returns the content of a path, and true if the content may still grow.
    pub fn see(&self, path: &str, offset: u64, most: u32) -> Result<(Sight, bool), Fault> {
        let here = || see(&self.run.home(self.instance), path, offset, most);
        // Either the run has not begun, or its record is being written.
        let Ok(record) = record_of(self.run) else { return Ok((here(), true)) };
        if record.state != RunState::Running {
            return Ok((here(), false));
        }
        if !self.may_be_elsewhere() {
            let runs = !is_here(&record) || is_alive(record.pid);
            return Ok((here(), runs));
        }
        let asked = || peek_at(self.run, &record, self.instance, path, offset, most);
        let mut seen = asked();
        for _ in 0..MAX_END_POLLS {
            if seen.is_ok() {
                break;
            }
            // A run that is ending does not answer, although its record does not have the end yet.
            if record_of(self.run).is_ok_and(|now| now.state != RunState::Running) {
                return Ok((here(), false));
            }
            std::thread::sleep(POLL_INTERVAL);
            seen = asked();
        }
        match seen? {
            Some(sight) => Ok((sight, true)),
            None if !is_here(&record) => Err(fault!(
                RUNS_ELSEWHERE,
                "{} runs on {}, and not all of its files are to be seen from here before it is over; ask there",
                record.run,
                record.host
            )),
            None => Ok((here(), false)),
        }
    }

    /// Returns the offset of the last `lines` lines in a file of this size.
    pub fn last_lines(&self, path: &str, size: u64, lines: u64) -> Result<u64, Fault> {
        let (mut end, mut left) = (size, lines);
        let mut last = true;
        while end > 0 {
            let begin = end.saturating_sub(u64::from(MAX_ANSWER_BYTES));
            let Sight::File { bytes, .. } = self.see(path, begin, (end - begin) as u32)?.0 else {
                return Ok(0);
            };
            for (place, _) in bytes.iter().enumerate().rev().filter(|(_, &byte)| byte == b'\n') {
                let place = begin + place as u64 + 1;
                // The newline at the end of the file begins no further line.
                if last && place == size {
                    last = false;
                    continue;
                }
                if left <= 1 {
                    return Ok(if lines == 0 { size } else { place });
                }
                left -= 1;
            }
            end = begin;
        }
        Ok(if lines == 0 { size } else { 0 })
    }
}
