//! Inputs: files of the model that its instances find in their working directories when they start. On each
//! machine, a run has one read-only copy of each input, and each process gets its own copy of that in its
//! working directory. A code may write to its copy (a restart file, for example) without effect on other
//! processes. `files` makes the copies, and the errors for a full disk.
//!
//! Inputs are in place before any process starts, so an instance never waits for its inputs.

mod files;

pub use files::{cannot_write, copy_for_process, no_room, store, CopyStamp, DiskSpace};

use ligament_catalogue::{fault, Fault};
use ligament_model::{Reference, ResolvedModel, StagedInput};
use ligament_wire::InstanceId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Maximum depth of nested directories.
const MAX_DIRECTORY_DEPTH: usize = 64;

/// A file that is staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The full path of the user's file.
    pub source: PathBuf,
    /// The path below the directory of the run's inputs.
    pub name: String,
    pub bytes: u64,
    /// The permissions of the copy, without the permission to write.
    pub mode: u32,
}

/// An input of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInput {
    /// The first instance of the process.
    pub process: InstanceId,
    /// Index in `StagedInputs::files`.
    pub input: u32,
    /// The path of the input in the working directory.
    pub name: String,
}

/// The inputs of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StagedInputs {
    /// The staged files, each once.
    pub files: Vec<StagedFile>,
    /// The inputs of all processes, in the order of processes and of names.
    pub given: Vec<ProcessInput>,
}

impl StagedInputs {
    /// Returns the inputs that the model stages. `process_of` returns, for an instance, the first of the
    /// instances that share its process.
    ///
    /// # Errors
    /// A file cannot be staged. The error has the reason.
    pub fn of(
        model: &ResolvedModel,
        process_of: impl Fn(InstanceId) -> InstanceId,
    ) -> Result<StagedInputs, Fault> {
        let mut found = InputCollector::default();
        let mut given: BTreeMap<(InstanceId, String), u32> = BTreeMap::new();
        let stage = &model.ligament.stage;
        if stage.is_empty() {
            return Ok(StagedInputs::default());
        }
        for (i, instance) in model.instances.iter().enumerate() {
            let component = &model.components[instance.component as usize].name;
            let process = process_of(InstanceId::at(i));
            for (name, input) in found.of(stage.get(component), stage.get(&instance.name), &instance.name)? {
                let before = given.insert((process, name.clone()), input);
                if before.is_some_and(|before| before != input) {
                    return Err(fault!(
                        INPUT_NOT_STAGED,
                        "the instances of one process, among them {}, are to find different inputs called \
                        \"{name}\"; give them different names under \"stage:\"",
                        instance.name
                    ));
                }
            }
        }
        let given =
            given.into_iter().map(|((process, name), input)| ProcessInput { process, input, name }).collect();
        Ok(StagedInputs { files: found.files, given })
    }

    /// Returns, for each path of the user, the path of the staged copy in the process's working directory.
    pub fn staged_for(&self, process: InstanceId, workdir: &Path) -> HashMap<PathBuf, PathBuf> {
        let first = self.given.partition_point(|given| given.process < process);
        let own = self.given[first..].iter().take_while(|given| given.process == process);
        own.map(|given| (self.files[given.input as usize].source.clone(), workdir.join(&given.name))).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Collects files, so that each file occurs once.
#[derive(Default)]
struct InputCollector {
    files: Vec<StagedFile>,
    numbers: HashMap<PathBuf, u32>,
    /// Names that are in use below the directory of the inputs.
    taken: HashSet<String>,
    /// The files below each directory that was visited: their names relative to it, and their indices.
    below: HashMap<PathBuf, Vec<(PathBuf, u32)>>,
}

impl InputCollector {
    /// Returns the inputs of an instance: those of its component, and those of the instance itself, which
    /// take precedence.
    fn of(
        &mut self,
        shared: Option<&Vec<StagedInput>>,
        own: Option<&Vec<StagedInput>>,
        instance: &Reference,
    ) -> Result<BTreeMap<String, u32>, Fault> {
        let mut all = BTreeMap::new();
        for staged in shared.into_iter().chain(own).flatten() {
            let source = staged.at.beside(&staged.source);
            let source = std::path::absolute(&source).unwrap_or(source);
            if !self.below.contains_key(&source) {
                let found = self.look(&source);
                let found = found.map_err(|why| {
                    fault!(INPUT_NOT_STAGED, "the inputs of {instance} cannot be staged: {why}")
                })?;
                self.below.insert(source.clone(), found);
            }
            for (name, input) in &self.below[&source] {
                // A file has an empty name relative to itself.
                let whole = if name.as_os_str().is_empty() {
                    PathBuf::from(&staged.name)
                } else {
                    Path::new(&staged.name).join(name)
                };
                all.insert(whole.to_string_lossy().into_owned(), *input);
            }
        }
        Ok(all)
    }

    /// Returns the files at or below a path.
    fn look(&mut self, place: &Path) -> Result<Vec<(PathBuf, u32)>, Fault> {
        let stem = place.file_name().map_or_else(|| "input".into(), |name| name.to_string_lossy().into_owned());
        let top = (1..)
            .map(|i| if i == 1 { stem.clone() } else { format!("{stem}~{i}") })
            .find(|name| !self.taken.contains(name))
            .unwrap_or(stem);
        self.taken.insert(top.clone());
        let mut files = Vec::new();
        let mut left = vec![(PathBuf::new(), 0)];
        while let Some((name, depth)) = left.pop() {
            let path = if name.as_os_str().is_empty() { place.to_path_buf() } else { place.join(&name) };
            let wrong = |error: std::io::Error| fault!(INPUT_NOT_STAGED, "{}: {error}", path.display());
            let found = std::fs::metadata(&path).map_err(wrong)?;
            if found.is_dir() {
                if depth == MAX_DIRECTORY_DEPTH {
                    return Err(fault!(
                        INPUT_NOT_STAGED,
                        "{}: directories lie too deep within each other",
                        path.display()
                    ));
                }
                for entry in std::fs::read_dir(&path).map_err(wrong)? {
                    left.push((name.join(entry.map_err(wrong)?.file_name()), depth + 1));
                }
                continue;
            }
            if !found.is_file() {
                return Err(fault!(INPUT_NOT_STAGED, "{} is neither a file nor a directory", path.display()));
            }
            let below = Path::new(&top).join(&name);
            let below = if name.as_os_str().is_empty() { Path::new(&top) } else { &below };
            let below = below
                .to_str()
                .ok_or_else(|| fault!(INPUT_NOT_STAGED, "{}: its name is not UTF-8", path.display()))?;
            files.push((name, self.number(&path, below, found.len(), found.permissions().mode())));
        }
        files.sort_unstable();
        Ok(files)
    }

    fn number(&mut self, source: &Path, name: &str, bytes: u64, mode: u32) -> u32 {
        if let Some(&number) = self.numbers.get(source) {
            return number;
        }
        let number = self.files.len() as u32;
        self.numbers.insert(source.to_path_buf(), number);
        let mode = mode & 0o555 | 0o400;
        self.files.push(StagedFile { source: source.to_path_buf(), name: name.to_owned(), bytes, mode });
        number
    }
}

#[cfg(test)]
mod tests;
