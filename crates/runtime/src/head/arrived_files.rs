//! The files of instances in other domains, which come to the run directory at the end of the run.

use super::Runtime;
use crate::files::FileReceiver;
use ligament_agent::RunOutcome;
use ligament_catalogue::{fault, Fault};
use ligament_manager::{format_bytes, Level};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{FromHead, OutputPart};
use ligament_wire::{DomainId, RankId};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between two log lines about the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Files that have arrived, by domain.
#[derive(Default)]
pub(super) struct ArrivedFiles {
    domains: HashMap<DomainId, FromDomain>,
    /// Number of files that could not be written. The next field has the error of the first of these files.
    missing: usize,
    first: Option<Fault>,
}

#[derive(Default)]
struct FromDomain {
    arriving: FileReceiver,
    expected: u64,
    came: u64,
    said: Option<Instant>,
}

impl ArrivedFiles {
    /// Returns the failure of a run whose instances are done, if some of their files could not be copied.
    pub fn failure(&self) -> Option<RunOutcome> {
        let what = match (self.missing, self.first.clone()?) {
            (1, first) => first,
            (more, first) => {
                fault!(FILE_LEFT_BEHIND, "{first}; and {} other files", more - 1).caused_by(&first)
            }
        };
        Some(RunOutcome::failed(what))
    }
}

impl Runtime<'_> {
    /// Notes the number of files and bytes that a domain will send.
    pub(super) fn begin_bringing(&mut self, domain: DomainId, files: u64, bytes: u64) {
        let from = self.brought.domains.entry(domain).or_default();
        from.expected = bytes;
        from.said = Some(Instant::now());
        let (name, bytes) = (self.name_of_domain(domain), format_bytes(bytes as f64));
        self.add(
            Level::Debug,
            "run",
            &format!("{files} files ({bytes}) come from {name} to the run directory"),
        );
    }

    /// Writes a part of a file to the path that the file would have if the instance had run in this domain.
    pub(super) fn bring(&mut self, domain: DomainId, piece: &OutputPart) {
        let name = self.name(piece.instance);
        let home = self.directory.home(&name);
        let from = self.brought.domains.entry(domain).or_default();
        from.came += piece.part.bytes.len() as u64;
        let (came, expected) = (from.came, from.expected);
        let due = from.said.as_mut().filter(|at| at.elapsed() >= PROGRESS_INTERVAL);
        let tell = due.map(|at| *at = Instant::now()).is_some();
        if let Err(why) = from.arriving.take(&home.join(&piece.path), &piece.part, 0o777) {
            self.cannot_bring(domain, piece, &name, &why);
        }
        if tell {
            let name = self.name_of_domain(domain);
            let [came, expected] = [came, expected].map(|bytes| format_bytes(bytes as f64));
            self.say_how_far(&format!("{came} of {expected} have come from {name} to the run directory"));
        }
    }

    /// Handles a file that cannot be written: it stays in its domain, and the run fails because of it.
    fn cannot_bring(&mut self, domain: DomainId, piece: &OutputPart, name: &str, why: &Fault) {
        let scratch = self.record.domains.get(domain.index()).and_then(|domain| domain.scratch.clone());
        let home = self.directory.home(name);
        let below = home.strip_prefix(self.directory.path()).unwrap_or(&home);
        let kept = Path::new(&scratch.unwrap_or_default()).join(below).join(&piece.path);
        let what = fault!(
            FILE_LEFT_BEHIND,
            "the file {} of {name} could not be brought to the run directory: {why}; it stays on {}, as {}",
            piece.path,
            self.name_of_domain(domain),
            kept.display()
        )
        .caused_by(why);
        self.add(Level::Error, "run", what.text());
        self.brought.missing += 1;
        self.brought.first.get_or_insert(what);
        if let Some(abroad) = &self.abroad {
            let told = FromHead::NotWritten { instance: piece.instance, path: piece.path.clone() };
            abroad.part.carrier.control(domain, to_bytes(&told));
        }
    }

    /// Returns the name of the domain of a rank, if it is not the head's.
    pub(super) fn domain_of_rank(&self, rank: RankId) -> Option<String> {
        let domain = self.abroad.as_ref()?.head.domain_of(rank);
        (domain != DomainId::HEAD).then(|| self.name_of_domain(domain))
    }

    pub(super) fn name_of_domain(&self, domain: DomainId) -> String {
        let name = self.record.domains.get(domain.index()).map(|domain| domain.name.as_str());
        format!("{} (domain {domain})", name.unwrap_or("another machine"))
    }
}
