//! Checkpoints of ranks in other domains: their files come to the directory of the moment as soon as they are
//! saved, and the files from which they resume go to their domains before they start.

use super::checkpoints::{files_of, sync_file};
use super::Runtime;
use crate::agent::files_below;
use crate::files::FileReceiver;
use ligament_agent::RunPlan;
use ligament_catalogue::{fault, Fault};
use ligament_checkpoint::{file_name, moment_directory, FILES_SUFFIX};
use ligament_manager::{Level, Names};
use ligament_wire::domains::{CheckpointPart, ResumeFile};
use ligament_wire::times::in_unit;
use ligament_wire::{DomainId, InstanceId, RankId};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The receivers of the files that are on their way, by domain.
#[derive(Default)]
pub(super) struct ArrivingStates(HashMap<DomainId, FileReceiver>);

impl Runtime<'_> {
    /// Returns the files from which ranks of other domains resume, with their paths here.
    ///
    /// # Errors
    /// A file or a directory cannot be read.
    pub(super) fn resumed_elsewhere(&self, plan: &RunPlan) -> Result<Vec<(ResumeFile, PathBuf)>, Fault> {
        let mut found = Vec::new();
        for (i, instance) in InstanceId::first(plan.instances.len()).zip(&plan.instances) {
            let Some(file) = instance.checkpoints.as_ref().and_then(|plan| plan.resume.as_deref()) else {
                continue;
            };
            if self.is_here(i) {
                continue;
            }
            for (rank, file) in self.ranks.of(i).zip(files_of(instance, Path::new(file))) {
                found.extend(files_of_rank(rank, &file)?);
            }
        }
        Ok(found)
    }

    /// Returns true if the files of a rank come from its domain by the path, because its agent does not see the
    /// run directory.
    pub(super) fn is_saved_elsewhere(&self, rank: RankId) -> bool {
        let Some(abroad) = &self.abroad else { return false };
        let domain = self.record.domains.get(abroad.head.domain_of(rank).index());
        domain.is_some_and(|domain| domain.scratch.is_some())
    }

    /// Writes a part of a file that a rank of another domain has saved. With the last file, the rank's state is
    /// there.
    pub(super) fn bring_checkpoint(&mut self, domain: DomainId, piece: &CheckpointPart) {
        let (rank, moment) = (piece.rank, piece.moment.0);
        if !self.checkpoints.awaits(rank, moment) {
            // The checkpoint was given up meanwhile. Nothing stays of a file of which a part has come.
            self.arriving_states.0.remove(&domain);
            return;
        }
        let name = self.manager.names().rank(rank);
        let file = self.checkpoints.unfinished().join(moment_directory(moment)).join(file_name(&name));
        let path = match &piece.path {
            Some(path) => file.with_extension(FILES_SUFFIX).join(path),
            None => file,
        };
        let arriving = self.arriving_states.0.entry(domain).or_default();
        let taken = arriving.take(&path, &piece.part, 0o777);
        let taken =
            taken.and_then(|is_whole| if is_whole { sync_file(&path).map(|()| true) } else { Ok(false) });
        match taken {
            Ok(true) if piece.path.is_none() => {
                self.checkpoints.arrived(rank, moment);
                self.complete_checkpoint(moment);
            }
            Ok(_) => {}
            Err(why) => {
                let (from, at) = (self.name_of_domain(domain), self.at(moment));
                let text = format!(
                    "the checkpoint {at} was given up: the file of {name} could not be brought from {from}: \
                     {why}"
                );
                self.log.add(Level::Warning, "run", &text);
                self.void_checkpoint(moment);
                self.checkpoint_has_failed(moment, why.text());
            }
        }
        self.refuse_late_requests();
    }

    /// Returns the words for the moment of a checkpoint in a sentence.
    pub(super) fn at(&self, moment: f64) -> String {
        if moment.is_finite() {
            format!("at {}", in_unit(moment, self.record.time_unit.as_deref()))
        } else {
            "at the end".to_owned()
        }
    }
}

/// Returns the files of a rank at a checkpoint: its checkpoint file, and those that its code has kept.
fn files_of_rank(rank: RankId, file: &Path) -> Result<Vec<(ResumeFile, PathBuf)>, Fault> {
    let unreadable = |path: &Path, error: &std::io::Error| {
        fault!(CHECKPOINT_UNREADABLE, "the checkpoint's file {} cannot be read: {error}", path.display())
    };
    let directory = file.with_extension(FILES_SUFFIX);
    let kept = files_below(&directory).map_err(|error| unreadable(&directory, &error))?;
    let kept = kept.into_iter().map(|(path, there)| (Some(path), there));
    let all = kept.chain(std::iter::once((None, file.to_owned())));
    let one = |(path, there): (Option<String>, PathBuf)| match fs::metadata(&there) {
        Ok(found) => Ok((ResumeFile { rank, path, bytes: found.len() }, there)),
        Err(error) => Err(unreadable(&there, &error)),
    };
    all.map(one).collect()
}
