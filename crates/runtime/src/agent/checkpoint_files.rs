//! Files of checkpoints in a domain that is not the head's. If the agent does not see the run directory, its
//! ranks save below a directory of the domain, and each file is sent to the head as soon as it is whole. The
//! files from which ranks resume come from the head.

use ligament_agent::RunPlan;
use ligament_checkpoint::{file_name, moment_directory, FILES_SUFFIX};
use ligament_wire::domains::{Begin, ResumeFile};
use ligament_wire::{rank_name, DomainId, InstanceId, RankId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directory below that of the run's files, with files of checkpoints that are not whole.
const UNFINISHED_DIRECTORY: &str = "checkpoints/.unfinished";
/// Directory below the unfinished ones, with the files from which ranks resume.
const RESUME_DIRECTORY: &str = "resume";

/// A file that is sent to the head, as the head knows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SentFile {
    /// A file that an instance has written, with its path below the directory of the process.
    Output { instance: InstanceId, path: String },
    /// A file of a rank for a checkpoint. `path` leads to a file that the code keeps; `None` is the checkpoint
    /// file, which is the last one.
    Checkpoint { rank: RankId, moment: f64, path: Option<String> },
}

/// The directory in which the ranks of a domain save their states, if the agent does not see the run directory.
#[derive(Debug)]
pub(super) struct CheckpointDirectory(PathBuf);

impl CheckpointDirectory {
    /// Makes the description of the directory below `home`, which has the files of the domain.
    pub fn below(home: &Path) -> CheckpointDirectory {
        CheckpointDirectory(home.join(UNFINISHED_DIRECTORY))
    }

    /// Returns the checkpoint file of a rank.
    fn file(&self, name: &str, moment: f64) -> PathBuf {
        self.0.join(moment_directory(moment)).join(file_name(name))
    }

    /// Returns the files that a rank has saved: those that the code keeps, and then the checkpoint file. Each
    /// has its path below the directory of the code's files.
    ///
    /// # Errors
    /// A directory cannot be read, or a name is not UTF-8.
    pub fn saved(&self, name: &str, moment: f64) -> io::Result<Vec<(Option<String>, PathBuf)>> {
        let file = self.file(name, moment);
        let kept = files_below(&file.with_extension(FILES_SUFFIX))?;
        let kept = kept.into_iter().map(|(path, there)| (Some(path), there));
        Ok(kept.chain(std::iter::once((None, file))).collect())
    }

    /// Removes the files of a rank. Other ranks may still write theirs, so the directory stays.
    pub fn remove(&self, name: &str, moment: f64) {
        let file = self.file(name, moment);
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir_all(file.with_extension(FILES_SUFFIX));
    }

    /// Removes all files. The domain's part of the run has ended.
    pub fn remove_all(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the files below a directory, each with its path below it. If there is no directory, there are none.
/// Links are left out, because they have no meaning on another machine.
///
/// # Errors
/// A directory cannot be read, or a name is not UTF-8.
pub(crate) fn files_below(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut below = vec![PathBuf::new()];
    while let Some(place) = below.pop() {
        let entries = match fs::read_dir(directory.join(&place)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (kind, name) = (entry.file_type()?, place.join(entry.file_name()));
            if kind.is_dir() {
                below.push(name);
            } else if kind.is_file() {
                let text = name.to_str().ok_or_else(|| {
                    io::Error::other(format!("the name of the file {} is not UTF-8", entry.path().display()))
                })?;
                found.push((text.to_owned(), entry.path()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files from which the ranks of domain `me` resume, and their places in this domain.
pub(super) struct ResumeFiles<'a> {
    begin: &'a Begin,
    me: DomainId,
    directory: PathBuf,
    /// True if the files of the head are seen here, so that none is copied.
    are_seen: bool,
}

impl<'a> ResumeFiles<'a> {
    /// Looks at the files. `home` is the directory for the files of the domain; the flag is true if it is the
    /// run directory.
    pub fn new(begin: &'a Begin, me: DomainId, (home, is_shared): (&Path, bool)) -> ResumeFiles<'a> {
        let directory = home.join(UNFINISHED_DIRECTORY).join(RESUME_DIRECTORY);
        let mut files = ResumeFiles { begin, me, directory, are_seen: false };
        let is_seen = |file: &ResumeFile| {
            let there = files.source(file).and_then(|there| fs::metadata(there).ok());
            there.is_some_and(|there| there.is_file() && there.len() == file.bytes)
        };
        files.are_seen = is_shared && files.own().all(|(_, file)| is_seen(file));
        files
    }

    /// Returns the files of this domain, each with its number.
    fn own(&self) -> impl Iterator<Item = (u32, &'a ResumeFile)> + '_ {
        let ranks = self.begin.plan.ranks();
        let is_own = move |file: &ResumeFile| {
            self.begin.plan.instances[ranks.instance(file.rank).index()].domain == self.me
        };
        let inputs = self.begin.inputs.len() as u32;
        (inputs..).zip(&self.begin.resume_files).filter(move |(_, file)| is_own(file))
    }

    /// Returns the numbers of the files that the head has to send.
    pub fn wanted(&self) -> Vec<u32> {
        if self.are_seen {
            return Vec::new();
        }
        self.own().map(|(number, _)| number).collect()
    }

    /// Returns the size of a file in bytes, and its place in this domain.
    pub fn file(&self, number: u32) -> (u64, PathBuf) {
        let file = &self.begin.resume_files[number as usize - self.begin.inputs.len()];
        (file.bytes, place(&self.directory.join(file_name(&self.name(file.rank))), file.path.as_deref()))
    }

    fn name(&self, rank: RankId) -> String {
        let ranks = self.begin.plan.ranks();
        let instance = &self.begin.plan.instances[ranks.instance(rank).index()];
        rank_name(&instance.name, instance.ranks.map(|_| ranks.place(rank)))
    }

    /// Returns the path of a file at the head.
    fn source(&self, file: &ResumeFile) -> Option<PathBuf> {
        let ranks = self.begin.plan.ranks();
        let instance = &self.begin.plan.instances[ranks.instance(file.rank).index()];
        let resume = Path::new(instance.resume.as_deref()?);
        let own = match instance.ranks {
            Some(_) => resume.with_file_name(file_name(&self.name(file.rank))),
            None => resume.to_owned(),
        };
        Some(place(&own, file.path.as_deref()))
    }

    /// Makes the ranks of this domain save below `home` and resume from the files that have come here.
    pub fn lay(&self, plan: &mut RunPlan, (home, is_shared): (&Path, bool)) {
        for (instance, told) in plan.instances.iter_mut().zip(&self.begin.plan.instances) {
            let Some(checkpoints) = instance.checkpoints.as_mut().filter(|_| told.domain == self.me) else {
                continue;
            };
            if !is_shared {
                checkpoints.directory = full(&home.join(UNFINISHED_DIRECTORY));
            }
            if checkpoints.resume.is_some() && !self.are_seen {
                let file = self.directory.join(file_name(&told.name));
                checkpoints.resume = Some(full(&file));
            }
        }
    }
}

/// Returns the full path, because instances have other working directories than the agent.
fn full(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Returns the place of a rank's file: its checkpoint file, or a file that the code keeps beside it.
fn place(file: &Path, path: Option<&str>) -> PathBuf {
    match path {
        Some(path) => file.with_extension(FILES_SUFFIX).join(path),
        None => file.to_owned(),
    }
}
