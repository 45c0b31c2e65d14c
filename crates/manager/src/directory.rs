//! The run directory, which holds all files of a run. `docs/reference/run-directory.md` describes the
//! layout of the directory.

use crate::clock::UtcTime;
use crate::record::RunRecord;
use ligament_agent::terminal_text;
use ligament_catalogue::{fault, Fault};
use ligament_wire::rank_parts;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{symlink, DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the directory in which run directories are made, below the command's working directory, unless
/// the user names a run directory.
const RUNS_DIRECTORY: &str = "runs";
const LATEST_LINK: &str = "latest";
/// File that marks a run directory as prepared: the directory was made for a run that has not begun.
const PREPARED_FILE: &str = ".prepared";
/// Directory below the run directory that has one directory for each instance.
const INSTANCES_DIRECTORY: &str = "instances";
/// Maximum number of file names that the error for a non-empty run directory lists.
const MAX_NAMED_FILES: usize = 3;
/// File in the run directory that describes the batch job in which the run was submitted.
pub const JOB_FILE: &str = "job.json";
/// Disk space that is reserved for the run's record, in bytes: a fixed part, and a part for each instance. JSON
/// may write two characters for one of a warning.
const RECORD_RESERVE_BYTES: u64 = (16 << 10) + 2 * RunRecord::MAX_WARNING_BYTES as u64;
const INSTANCE_RESERVE_BYTES: u64 = 1 << 10;
/// Directory below the run directory that has one directory for the process of each light program.
const LIGHT_DIRECTORY: &str = "light";
/// File in the directory of a light program's process. The file has the names of the process's instances,
/// one per line.
const INSTANCE_NAMES_FILE: &str = "instances";

/// Returns the working directory of the process whose directory is `home`.
pub fn workdir_in(home: &Path) -> PathBuf {
    home.join("workdir")
}

/// Returns the path of the output file of the process whose directory is `home`.
pub fn output_in(home: &Path) -> PathBuf {
    home.join("output.log")
}

/// Returns the path of the output file of one rank. Used if each rank of an instance is a process and all
/// of these processes share the directory `home`. `place` is the number of the rank within the instance.
pub fn output_of_rank(home: &Path, place: u32) -> PathBuf {
    home.join(format!("output.{place}.log"))
}

/// The directory of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory of a new run. The directory `wanted` must be empty, or missing, or prepared for
    /// this run. If `wanted` is `None`, the function makes a new directory below `runs`, named after the
    /// model and the time.
    ///
    /// # Errors
    /// The directory is in use, or the system refuses to make the directory. The error has the path.
    pub fn create(wanted: Option<&Path>, model: &str, now: UtcTime) -> Result<RunDirectory, Fault> {
        let (run, prepared) = RunDirectory::claim(wanted, model, now)?;
        // If two runs find the same empty directory, only one of the two runs can make the directory of
        // instances. In a prepared run directory, the directory of instances may exist already.
        match fs::create_dir(run.path.join(INSTANCES_DIRECTORY)) {
            Ok(()) => Ok(run),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && prepared => Ok(run),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(run.in_use()),
            Err(error) => Err(cannot_be_made(&run.path.join(INSTANCES_DIRECTORY), &error)),
        }
    }

    /// Makes a directory like `create`, for a run that another process begins later. Files may be put into
    /// the prepared directory before the other process begins the run.
    ///
    /// # Errors
    /// As `create`.
    pub fn prepare(wanted: Option<&Path>, model: &str, now: UtcTime) -> Result<RunDirectory, Fault> {
        let (run, _) = RunDirectory::claim(wanted, model, now)?;
        run.write(PREPARED_FILE, "")?;
        Ok(run)
    }

    /// Gives the directory back, so that another run can use it. The caller's run has not begun and has
    /// written no files of its own. `is_new` means that no user has chosen the directory; in this case the
    /// directory is removed if it is empty.
    pub fn withdraw(&self, is_new: bool) {
        let _ = fs::remove_dir(self.path.join(INSTANCES_DIRECTORY));
        if fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some()) {
            // The directory was prepared before. The files that were put into it at that time stay.
            let _ = self.write(PREPARED_FILE, "");
        } else if is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Makes sure that the directory exists and belongs to this run. The second result is true if the
    /// directory was prepared for this run.
    fn claim(wanted: Option<&Path>, model: &str, now: UtcTime) -> Result<(RunDirectory, bool), Fault> {
        let path = match wanted {
            Some(path) => {
                make_own(path)?;
                path.to_path_buf()
            }
            None => new_under(Path::new(RUNS_DIRECTORY), model, now)?,
        };
        let path = path
            .canonicalize()
            .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", path.display()))?;
        let run = RunDirectory { path };
        if run.record().symlink_metadata().is_ok() {
            return Err(run.in_use());
        }
        // A run writes these two files first. So a directory that has one of them is not merely prepared.
        let taken =
            ["model.ymmsl", "settings.yaml"].iter().any(|name| run.path.join(name).symlink_metadata().is_ok());
        // Only one process can remove this file: the process for which the directory was prepared.
        if !taken && fs::remove_file(run.path.join(PREPARED_FILE)).is_ok() {
            return Ok((run, true));
        }
        let entries = fs::read_dir(&run.path).map_err(|error| {
            fault!(DIRECTORY_NOT_EMPTY, "the directory {} cannot be read: {error}", run.path.display())
        })?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        if names.is_empty() {
            return Ok((run, false));
        }
        names.sort_unstable();
        let more = if names.len() > MAX_NAMED_FILES { ", …" } else { "" };
        names.truncate(MAX_NAMED_FILES);
        Err(fault!(
            DIRECTORY_NOT_EMPTY,
            "the run directory {} holds files that are not a run's ({}{more}), and a run would write over \
            them; choose a directory that is new or empty",
            run.path.display(),
            names.join(", "),
        ))
    }

    fn in_use(&self) -> Fault {
        fault!(
            DIRECTORY_IN_USE,
            "the run directory {} holds a run already; choose another, or remove it first",
            self.path.display()
        )
    }

    /// Returns the directory of an existing run.
    pub fn open(path: impl Into<PathBuf>) -> RunDirectory {
        RunDirectory { path: path.into() }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last part of the path, which is the name of the run.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Returns the path of the run's record.
    pub fn record(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// Returns the path of the file with the token by which clients identify themselves.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// Returns the path of the run's log.
    pub fn log(&self) -> PathBuf {
        self.path.join("manager.log")
    }

    /// Returns the path of the run's journal.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Returns the path of the file with the state of the run. The file exists while a viewer watches the
    /// run.
    pub fn status(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// Returns the path of the file that a viewer touches while the viewer watches the run.
    pub fn watched(&self) -> PathBuf {
        self.path.join(".watched")
    }

    /// Returns the path of the file with the output of a run that has no terminal.
    pub fn printed(&self) -> PathBuf {
        self.path.join("terminal.log")
    }

    /// Returns the path of the run's timeline.
    pub fn timeline(&self) -> PathBuf {
        self.path.join("timeline")
    }

    /// Returns the directory of all instances that run in processes of their own.
    pub fn instances(&self) -> PathBuf {
        self.path.join(INSTANCES_DIRECTORY)
    }

    /// Returns the directory of an instance.
    pub fn instance(&self, name: &str) -> PathBuf {
        self.instances().join(name)
    }

    /// Returns the directory of the process of a light program.
    pub fn light(&self, program: &str) -> PathBuf {
        self.path.join(LIGHT_DIRECTORY).join(program)
    }

    /// Returns the directory of the process that runs an instance, or a rank of an instance. This is the
    /// instance's own directory, or the directory of the instance's light program.
    pub fn home(&self, instance: &str) -> PathBuf {
        let own = self.instance(rank_parts(instance).0);
        if own.is_dir() {
            return own;
        }
        let programs = fs::read_dir(self.path.join(LIGHT_DIRECTORY)).into_iter().flatten().flatten();
        let runs_it = |home: &PathBuf| {
            let names = fs::read_to_string(home.join(INSTANCE_NAMES_FILE)).unwrap_or_default();
            names.lines().any(|name| name == instance)
        };
        programs.map(|entry| entry.path()).find(runs_it).unwrap_or(own)
    }

    /// Returns the working directory of an instance.
    pub fn workdir(&self, instance: &str) -> PathBuf {
        workdir_in(&self.home(instance))
    }

    /// Returns the path of the output file of an instance, or of a rank of an instance. Ranks that are
    /// started by one command share a file.
    pub fn output(&self, instance: &str) -> PathBuf {
        let home = self.home(instance);
        match rank_parts(instance).1.filter(|_| !output_in(&home).exists()) {
            Some(place) => output_of_rank(&home, place),
            None => output_in(&home),
        }
    }

    /// Makes the directories of an instance that has a process of its own. Returns the instance's
    /// directory.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn make_instance(&self, name: &str) -> Result<PathBuf, Fault> {
        let home = self.instance(name);
        make(&workdir_in(&home))?;
        Ok(home)
    }

    /// Makes the directories of a light program's process, and writes the names of the process's instances
    /// into a file. Returns the process's directory.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn make_light(&self, program: &str, instances: &[&str]) -> Result<PathBuf, Fault> {
        let home = self.light(program);
        make(&workdir_in(&home))?;
        let names: String = instances.iter().flat_map(|name| [name, "\n"]).collect();
        write_whole(&home.join(INSTANCE_NAMES_FILE), names.as_bytes(), 0o666)?;
        Ok(home)
    }

    /// Writes a file of the run directory atomically.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Fault> {
        write_whole(&self.path.join(name), text.as_bytes(), 0o666)
    }

    /// Lets the user's group read the directory.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn share_with_group(&self) -> Result<(), Fault> {
        for path in [&self.path, &self.path.join("instances")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o750)).map_err(|error| {
                fault!(RUN_DIRECTORY_UNWRITABLE, "{} cannot be shared with the group: {error}", path.display())
            })?;
        }
        Ok(())
    }

    /// Removes the files that a run writes when it begins. Then removes the directory if it is empty.
    pub fn remove_begun(&self) {
        for path in ["model.ymmsl", "settings.yaml"].map(|name| self.path.join(name)).iter().chain([
            &self.log(),
            &self.journal(),
            &self.watched(),
        ]) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(self.path.join("instances"));
        let _ = fs::remove_dir(&self.path);
    }

    /// Reserves disk space for the record of a run with this number of instances, so that the record can be
    /// written at the end even if the disk is full. If there is no free space now, the run goes on without
    /// the reserve.
    pub fn reserve(&self, instances: usize) {
        let bytes = RECORD_RESERVE_BYTES + INSTANCE_RESERVE_BYTES * instances as u64;
        let set_aside = || -> io::Result<()> {
            let file = fs::File::create(self.reserved())?;
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
                Err(rustix::io::Errno::OPNOTSUPP) => {
                    io::copy(&mut io::repeat(0).take(bytes), &mut &file).map(|_| ())
                }
                other => Ok(other?),
            }
        };
        if set_aside().is_err() {
            self.give_reserve_back();
        }
    }

    /// Releases the reserved disk space.
    pub fn give_reserve_back(&self) {
        let _ = fs::remove_file(self.reserved());
    }

    fn reserved(&self) -> PathBuf {
        self.path.join(".reserved")
    }

    /// Writes the record of the run atomically. If the disk is full, the record is written into the
    /// reserved space.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn write_record(&self, text: &str) -> Result<(), Fault> {
        let is_first = !self.record().exists();
        let written = self.write_or_rescue(text);
        if is_first && written.is_ok() {
            self.link_latest();
        }
        written
    }

    fn write_or_rescue(&self, text: &str) -> Result<(), Fault> {
        self.write("run.json", text).or_else(|error| {
            let into_reserve = || -> io::Result<()> {
                let file = fs::OpenOptions::new().write(true).open(self.reserved())?;
                if file.metadata()?.len() < text.len() as u64 {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                (&file).write_all(text.as_bytes())?;
                file.set_len(text.len() as u64)?;
                fs::rename(self.reserved(), self.record())
            };
            into_reserve().map_err(|_| error)
        })
    }

    /// Returns the path of a file that ends a run while the run waits for its domains. A user makes this
    /// file because no agent can be asked yet.
    pub fn stop(&self) -> PathBuf {
        self.path.join(".stop")
    }

    /// Removes the token and the files for viewers, because the run is over.
    pub fn dismiss_clients(&self) {
        for path in [self.token(), self.watched(), self.status(), self.stop()] {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the files that process `pid` had begun and not finished when the process ended.
    pub fn remove_unfinished(&self, pid: u32) {
        let ending = unfinished(pid);
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(&ending) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Writes the token into a file that only the owner can read.
    ///
    /// # Errors
    /// The system's message, with the path.
    pub fn write_token(&self, token: &str) -> Result<(), Fault> {
        write_whole(&self.token(), token.as_bytes(), 0o600)
    }

    /// Returns the last `count` lines of an instance's output, with control characters made harmless for a
    /// terminal.
    pub fn last_lines(&self, instance: &str, count: usize) -> Vec<String> {
        const MAX_TAIL_BYTES: u64 = 64 << 10;
        let read = || -> io::Result<Vec<u8>> {
            use io::Seek;
            let mut file = fs::File::open(self.output(instance))?;
            let len = file.metadata()?.len();
            file.seek(io::SeekFrom::Start(len.saturating_sub(MAX_TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        terminal_text::last_lines(&read().unwrap_or_default(), count)
    }

    /// Points the link `latest` at this run. A failure does not matter for the run. If `latest` is a file
    /// of the user, the file stays unchanged.
    pub fn link_latest(&self) {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return;
        };
        let latest = parent.join(LATEST_LINK);
        if latest.symlink_metadata().is_ok() && !is_our_link(&latest) {
            return;
        }
        let new = parent.join(format!(".{LATEST_LINK}-{}", std::process::id()));
        if symlink(name, &new).is_ok() && fs::rename(&new, &latest).is_err() {
            let _ = fs::remove_file(&new);
        }
    }
}

/// Returns true if `latest` is a link that a run has made: the link leads to a run beside it. A link whose
/// target was removed also counts if the link lies in a directory named `runs`.
fn is_our_link(latest: &Path) -> bool {
    let (Ok(target), Some(parent)) = (fs::read_link(latest), latest.parent()) else { return false };
    let mut parts = target.components();
    if !matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None)) {
        return false;
    }
    let run = parent.join(target);
    match run.symlink_metadata() {
        Ok(_) => {
            ["run.json", JOB_FILE, PREPARED_FILE].iter().any(|file| run.join(file).symlink_metadata().is_ok())
        }
        Err(_) => parent.file_name().is_some_and(|name| name == RUNS_DIRECTORY),
    }
}

fn make(path: &Path) -> Result<(), Fault> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o777).create(path);
    made.map_err(|error| cannot_be_made(path, &error))
}

fn cannot_be_made(path: &Path, error: &io::Error) -> Fault {
    fault!(RUN_DIRECTORY_UNWRITABLE, "the directory {} cannot be made: {error}", path.display())
}

/// Returns a builder of directories that only their owner can enter.
fn own() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes a directory that only its owner can enter, and the missing directories above it. An existing
/// directory stays unchanged.
fn make_own(path: &Path) -> Result<(), Fault> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make(parent)?;
    }
    match own().create(path) {
        Err(error) if !path.is_dir() => {
            Err(fault!(RUN_DIRECTORY_UNWRITABLE, "the directory {} cannot be made: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Makes a new directory for a run. Two runs that begin within one second get different directories.
fn new_under(runs: &Path, model: &str, now: UtcTime) -> Result<PathBuf, Fault> {
    make(runs)?;
    let stem = format!("{model}-{}", now.compact());
    for i in 1.. {
        let name = if i == 1 { stem.clone() } else { format!("{stem}-{i}") };
        let path = runs.join(name);
        match own().create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_be_made(&path, &error)),
        }
    }
    unreachable!("one of all numbers is free")
}

/// Returns the suffix of a file that process `pid` has not finished writing.
fn unfinished(pid: u32) -> String {
    format!(".new-{pid}")
}

/// Writes a file atomically: other processes see the old file or the new file, never a part.
///
/// # Errors
/// The system's message, with the path.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Fault> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(unfinished(std::process::id()));
    let new = path.with_file_name(name);
    let write = || -> io::Result<()> {
        // The file must be new, so that an existing link with this name is not followed.
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(bytes)?;
        fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        fault!(RUN_DIRECTORY_UNWRITABLE, "{} cannot be written: {error}", path.display())
    })
}

/// Returns all runs in a directory of runs, ordered by name.
pub fn runs_in(runs: &Path) -> Vec<RunDirectory> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| name != LATEST_LINK && !name.to_string_lossy().starts_with('.'));
    names.sort_unstable();
    names
        .into_iter()
        .map(|name| RunDirectory { path: runs.join(name) })
        .filter(|run| run.path.is_dir())
        .collect()
}

/// Returns the names of a run's instances, including the instances of light programs.
pub fn instances_of(run: &RunDirectory) -> Vec<String> {
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    let own = entries(run.path.join("instances")).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let light = entries(run.path.join(LIGHT_DIRECTORY)).flat_map(|entry| {
        let names = fs::read_to_string(entry.path().join(INSTANCE_NAMES_FILE)).unwrap_or_default();
        names.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let mut names: Vec<String> = own.chain(light).collect();
    // Names are ordered by their indices, for example `micro[2]` before `micro[10]`.
    names.sort_by_cached_key(|name| {
        let stem = name.split('[').next().unwrap_or_default().to_owned();
        let numbers = name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
        (stem, numbers.collect::<Vec<u64>>(), name.clone())
    });
    names
}

/// Returns the error for an instance that a run does not have. The error has the nearest name, or the names
/// of existing instances.
pub fn no_such_instance(run: &RunDirectory, wanted: &str) -> Fault {
    const MAX_NAMED_INSTANCES: usize = 8;
    let names = instances_of(run);
    let copies: Vec<String> = names
        .iter()
        .filter(|name| name.split_once('[').is_some_and(|(stem, _)| stem == wanted))
        .cloned()
        .collect();
    let quoted = |name: &String| format!("\"{name}\"");
    match &copies[..] {
        [] => match ligament_model::nearest(wanted, names.iter().map(String::as_str)) {
            Some(meant) => fault!(
                RUN_HAS_NO_INSTANCE,
                "{} has no instance \"{wanted}\"; did you mean \"{meant}\"?",
                run.name()
            ),
            None if names.is_empty() => fault!(
                RUN_HAS_NO_INSTANCE,
                "{} has no instance yet, so no \"{wanted}\": they are there when all machines of the run have \
                joined",
                run.name()
            ),
            None => {
                fault!(
                    RUN_HAS_NO_INSTANCE,
                    "{} has no instance \"{wanted}\"; it has {}",
                    run.name(),
                    crate::list_some(&names, MAX_NAMED_INSTANCES)
                )
            }
        },
        [only] => {
            fault!(RUN_HAS_NO_INSTANCE, "{} has no instance \"{wanted}\"; did you mean \"{only}\"?", run.name())
        }
        several => {
            let several: Vec<String> = several.iter().map(quoted).collect();
            fault!(
                RUN_HAS_NO_INSTANCE,
                "{} has no instance \"{wanted}\"; did you mean one of {}?",
                run.name(),
                crate::list_some(&several, MAX_NAMED_INSTANCES)
            )
        }
    }
}

/// Finds a run by the name that the user gave: a path, a name under `runs`, or `latest`.
///
/// # Errors
/// There is no such run. The error has the places that were searched and the runs that exist.
pub fn find_run(wanted: &str) -> Result<RunDirectory, Fault> {
    let places = [PathBuf::from(wanted), Path::new(RUNS_DIRECTORY).join(wanted)];
    let places: &[PathBuf] = if wanted == LATEST_LINK { &places[1..] } else { &places };
    for place in places {
        // A submitted run that waits in the queue of its batch system has no record yet.
        if place.join("run.json").exists() || place.join(JOB_FILE).exists() {
            let path = place
                .canonicalize()
                .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", place.display()))?;
            return Ok(RunDirectory { path });
        }
    }
    let mut known: Vec<String> = fs::read_dir(RUNS_DIRECTORY)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && name != LATEST_LINK)
        .collect();
    known.sort_unstable();
    let there_is = match known.split_off(known.len().saturating_sub(5)).as_slice() {
        [] => "there are no runs under ./runs; start one with \"ligament run MODEL\", or give its directory"
            .into(),
        last => format!("the last ones under ./runs are {}", last.join(", ")),
    };
    if wanted == LATEST_LINK {
        return Err(fault!(NO_SUCH_RUN, "there is no latest run: {there_is}"));
    }
    Err(fault!(
        NO_SUCH_RUN,
        "there is no run \"{wanted}\", neither as a directory with a run.json nor under ./runs; {there_is}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ligament-directory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_directory_with_a_run_in_it_is_not_used_again() {
        let path = empty("again").join("here");
        let run = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap();
        run.write("run.json", "{}").unwrap();
        let error = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap_err();
        assert!(error.contains("holds a run already"), "{error}");
        assert_eq!(find_run(path.to_str().unwrap()).unwrap(), run);
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_record_with_many_warnings_fits_into_its_reserve() {
        let mut record = RunRecord::default();
        let text = "the file \"x\" cannot be written ".repeat(20);
        (0..200).for_each(|number| record.warn("micro", &format!("{number} {text}")));
        assert!(record.text().len() as u64 <= RECORD_RESERVE_BYTES, "{} bytes", record.text().len());
        assert_eq!(record.warnings.len() as u64 + record.more_warnings, 200);
        assert!(record.warnings.len() > 40, "{}", record.warnings.len());
    }

    #[test]
    fn two_runs_of_the_same_second_get_two_directories_and_latest_is_the_second() {
        let runs = empty("second");
        let a = new_under(&runs, "m", UtcTime(0)).unwrap();
        let b = new_under(&runs, "m", UtcTime(0)).unwrap();
        assert_ne!(a, b);
        for path in [&a, &b] {
            let run = RunDirectory::create(Some(path), "m", UtcTime(0)).unwrap();
            assert!(path == &b || !runs.join("latest").exists(), "there is no run yet");
            run.write_record("{}").unwrap();
        }
        assert_eq!(runs.join("latest").canonicalize().unwrap(), b.canonicalize().unwrap());
        fs::remove_dir_all(runs).unwrap();
    }

    #[test]
    fn a_directory_with_somebodys_files_is_refused_and_they_stay() {
        let path = empty("foreign");
        for file in ["model.ymmsl", "settings.yaml", "notes", ".hidden"] {
            fs::write(path.join(file), "mine").unwrap();
        }
        for begin in [RunDirectory::create, RunDirectory::prepare] {
            let error = begin(Some(&path), "m", UtcTime(0)).unwrap_err();
            assert!(
                error.contains("holds files that are not a run's (.hidden, model.ymmsl, notes, …)"),
                "{error}"
            );
        }
        assert_eq!(fs::read_dir(&path).unwrap().count(), 4);
        assert_eq!(fs::read_to_string(path.join("model.ymmsl")).unwrap(), "mine");
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn what_was_prepared_is_for_one_run_and_for_the_next_if_that_does_not_begin() {
        let path = empty("prepared").join("here");
        let prepared = RunDirectory::prepare(Some(&path), "m", UtcTime(0)).unwrap();
        prepared.write("job.sh", "").unwrap();
        let run = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap();
        assert!(RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap_err().contains("not a run's"));
        run.withdraw(false);
        let run = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap();
        run.write_record("{}").unwrap();
        assert!(RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap_err().contains("a run already"));
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn latest_is_moved_only_if_it_leads_to_a_run_beside_it() {
        let place = empty("latest");
        let latest = place.join("latest");
        let run = RunDirectory::create(Some(&place.join("run")), "m", UtcTime(0)).unwrap();
        fs::create_dir(place.join("release")).unwrap();
        for target in ["release", "nowhere", "/etc", "../x"] {
            symlink(target, &latest).unwrap();
            run.link_latest();
            assert_eq!(fs::read_link(&latest).unwrap(), Path::new(target));
            fs::remove_file(&latest).unwrap();
        }
        fs::write(&latest, "mine").unwrap();
        run.link_latest();
        assert_eq!(fs::read_to_string(&latest).unwrap(), "mine");
        fs::remove_file(&latest).unwrap();
        run.write_record("{}").unwrap();
        assert_eq!(fs::read_link(&latest).unwrap(), Path::new("run"));
        let next = RunDirectory::create(Some(&place.join("next")), "m", UtcTime(0)).unwrap();
        assert_eq!(fs::read_link(&latest).unwrap(), Path::new("run"), "the next one has not begun");
        next.write_record("{}").unwrap();
        assert_eq!(fs::read_link(&latest).unwrap(), Path::new("next"));
        // A link `latest` to a removed run is replaced in a directory named `runs`; elsewhere it stays.
        let runs = place.join("runs");
        let run = RunDirectory::create(Some(&runs.join("b")), "m", UtcTime(0)).unwrap();
        symlink("a", runs.join("latest")).unwrap();
        run.write_record("{}").unwrap();
        assert_eq!(fs::read_link(runs.join("latest")).unwrap(), Path::new("b"));
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_run_directory_is_for_its_owner_alone_unless_it_is_shared() {
        let above = empty("alone");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (wanted, path) = (above.join("a/b"), new_under(&above, "m", UtcTime(0)).unwrap());
        let run = RunDirectory::create(Some(&wanted), "m", UtcTime(0)).unwrap();
        assert_eq!([mode(&wanted), mode(&path)], [0o700; 2]);
        run.share_with_group().unwrap();
        assert_eq!(mode(&wanted), 0o750);
        // A directory that the user has made keeps its permissions.
        let made = above.join("made");
        fs::create_dir(&made).unwrap();
        fs::set_permissions(&made, fs::Permissions::from_mode(0o755)).unwrap();
        RunDirectory::create(Some(&made), "m", UtcTime(0)).unwrap();
        assert_eq!(mode(&made), 0o755);
        fs::remove_dir_all(above).unwrap();
    }

    #[test]
    fn the_token_is_for_its_owner_alone() {
        let path = empty("token");
        let run = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap();
        run.write_token("secret").unwrap();
        assert_eq!(fs::metadata(run.token()).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_last_lines_are_the_last_ones() {
        let path = empty("lines");
        let run = RunDirectory::create(Some(&path), "m", UtcTime(0)).unwrap();
        run.make_instance("a[1]").unwrap();
        fs::write(run.output("a[1]"), "one\ntwo\nthree\n").unwrap();
        assert_eq!(run.last_lines("a[1]", 2), ["two", "three"]);
        assert!(run.last_lines("b", 2).is_empty());
        fs::remove_dir_all(path).unwrap();
    }
}
