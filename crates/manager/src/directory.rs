//! The run directory: everything that a run does is in it. Its layout is described in
//! `docs/reference/run-directory.md`.

use crate::clock::Moment;
use ligament_agent::printed;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{symlink, DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where runs are made unless the user says otherwise, beside the place from which the command is called.
const RUNS: &str = "runs";
const LATEST: &str = "latest";
/// In a run directory: the job that the run was submitted as.
pub const JOB: &str = "job.json";
/// Room that is set aside for a run's record, bytes: for the run, and for each instance.
const RESERVED: u64 = 16 << 10;
const RESERVED_EACH: u64 = 1 << 10;
/// Where the processes of light programs have their directories.
const LIGHT: &str = "light";
/// In them: the names of the instances, one a line.
const RUNS_THESE: &str = "instances";

/// Where the process with this directory works.
pub fn workdir_in(home: &Path) -> PathBuf {
    home.join("workdir")
}

/// What it prints.
pub fn output_in(home: &Path) -> PathBuf {
    home.join("output.log")
}

/// A run's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory of a new run: `wanted`, which must not hold a run yet, or a new one of the model's
    /// name and the time under `runs`, with the link `latest` beside it.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn create(wanted: Option<&Path>, model: &str, now: Moment) -> Result<RunDirectory, String> {
        let path = match wanted {
            Some(path) => {
                if path.join("run.json").exists() {
                    return Err(format!(
                        "the run directory {} holds a run already; choose another, or remove it first",
                        path.display()
                    ));
                }
                make(path)?;
                path.to_path_buf()
            }
            None => new_under(Path::new(RUNS), model, now)?,
        };
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        make(&path.join("instances"))?;
        let run = RunDirectory { path };
        run.link_latest();
        Ok(run)
    }

    /// A run that exists.
    pub fn open(path: impl Into<PathBuf>) -> RunDirectory {
        RunDirectory { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its last part, which is the run's name.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
    }

    /// The record of the run.
    pub fn record(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// The token by which clients show that they may talk to the run.
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// The run's log.
    pub fn log(&self) -> PathBuf {
        self.path.join("manager.log")
    }

    /// The run's journal.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// How the run stands, while somebody watches.
    pub fn status(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// The file that somebody writes to who watches the run.
    pub fn watched(&self) -> PathBuf {
        self.path.join(".watched")
    }

    /// What a run prints that has no terminal, or none any more.
    pub fn printed(&self) -> PathBuf {
        self.path.join("terminal.log")
    }

    /// The run's timeline.
    pub fn timeline(&self) -> PathBuf {
        self.path.join("timeline")
    }

    /// The directory of an instance.
    pub fn instance(&self, name: &str) -> PathBuf {
        self.path.join("instances").join(name)
    }

    /// The directory of the process of a light program.
    pub fn light(&self, program: &str) -> PathBuf {
        self.path.join(LIGHT).join(program)
    }

    /// The directory of the process that runs an instance: its own, or that of its light program.
    pub fn home(&self, instance: &str) -> PathBuf {
        let own = self.instance(instance);
        if own.is_dir() {
            return own;
        }
        let programs = fs::read_dir(self.path.join(LIGHT)).into_iter().flatten().flatten();
        let runs_it = |home: &PathBuf| {
            let names = fs::read_to_string(home.join(RUNS_THESE)).unwrap_or_default();
            names.lines().any(|name| name == instance)
        };
        programs.map(|entry| entry.path()).find(runs_it).unwrap_or(own)
    }

    /// Where an instance runs.
    pub fn workdir(&self, instance: &str) -> PathBuf {
        workdir_in(&self.home(instance))
    }

    /// What an instance prints.
    pub fn output(&self, instance: &str) -> PathBuf {
        output_in(&self.home(instance))
    }

    /// Makes the directories of an instance that has a process of its own; its home comes back.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn make_instance(&self, name: &str) -> Result<PathBuf, String> {
        let home = self.instance(name);
        make(&workdir_in(&home))?;
        Ok(home)
    }

    /// Makes the directories of the process of a light program, and notes which instances it runs; its home comes
    /// back.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn make_light(&self, program: &str, instances: &[&str]) -> Result<PathBuf, String> {
        let home = self.light(program);
        make(&workdir_in(&home))?;
        let names: String = instances.iter().flat_map(|name| [name, "\n"]).collect();
        write_whole(&home.join(RUNS_THESE), names.as_bytes(), 0o666)?;
        Ok(home)
    }

    /// Writes a file in one step.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        write_whole(&self.path.join(name), text.as_bytes(), 0o666)
    }

    /// Sets room aside for the record of a run of so many instances, so that it can be written at the run's end though
    /// the disk is full then. That there is no room now is no reason not to run.
    pub fn reserve(&self, instances: usize) {
        let bytes = RESERVED + RESERVED_EACH * instances as u64;
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

    /// What was set aside is not needed any more.
    pub fn give_reserve_back(&self) {
        let _ = fs::remove_file(self.reserved());
    }

    fn reserved(&self) -> PathBuf {
        self.path.join(".reserved")
    }

    /// Writes the record of the run in one step; where the disk is full, into the room that was set aside for it.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn write_record(&self, text: &str) -> Result<(), String> {
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

    /// Removes what there is for those who watch a run, and the token: the run is over.
    pub fn dismiss_clients(&self) {
        for path in [self.token(), self.watched(), self.status()] {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes what process `pid` was about to write when it ended.
    pub fn remove_unfinished(&self, pid: u32) {
        let ending = unfinished(pid);
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(&ending) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Writes the token, for its owner's eyes only.
    ///
    /// # Errors
    /// What the system says, with the path.
    pub fn write_token(&self, token: &str) -> Result<(), String> {
        write_whole(&self.token(), token.as_bytes(), 0o600)
    }

    /// The last lines that an instance printed, as they are shown.
    pub fn last_lines(&self, instance: &str, count: usize) -> Vec<String> {
        const TAIL: u64 = 64 << 10;
        let read = || -> io::Result<Vec<u8>> {
            use io::Seek;
            let mut file = fs::File::open(self.output(instance))?;
            let len = file.metadata()?.len();
            file.seek(io::SeekFrom::Start(len.saturating_sub(TAIL)))?;
            let mut bytes = Vec::new();
            file.take(TAIL).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        printed::last_lines(&read().unwrap_or_default(), count)
    }

    /// Points `latest` at this run; that it cannot is no reason not to run.
    fn link_latest(&self) {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return;
        };
        let latest = parent.join(LATEST);
        if latest.symlink_metadata().is_ok_and(|found| !found.file_type().is_symlink()) {
            return;
        }
        let new = parent.join(format!(".{LATEST}-{}", std::process::id()));
        if symlink(name, &new).is_ok() && fs::rename(&new, &latest).is_err() {
            let _ = fs::remove_file(&new);
        }
    }
}

fn make(path: &Path) -> Result<(), String> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o777)
        .create(path)
        .map_err(|error| format!("the directory {} cannot be made: {error}", path.display()))
}

/// A directory that did not exist before: two runs within one second get different ones.
fn new_under(runs: &Path, model: &str, now: Moment) -> Result<PathBuf, String> {
    make(runs)?;
    let stem = format!("{model}-{}", now.compact());
    for i in 1.. {
        let name = if i == 1 { stem.clone() } else { format!("{stem}-{i}") };
        let path = runs.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("the directory {} cannot be made: {error}", path.display())),
        }
    }
    unreachable!("one of all numbers is free")
}

/// The end of the name of a file that this process has not finished writing.
fn unfinished(pid: u32) -> String {
    format!(".new-{pid}")
}

/// Writes a file so that others see the old or the new one, and nothing between.
///
/// # Errors
/// What the system says, with the path.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(unfinished(std::process::id()));
    let new = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&new)?;
        file.write_all(bytes)?;
        fs::rename(&new, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        format!("{} cannot be written: {error}", path.display())
    })
}

/// Finds a run by what a user calls it: a path, a name under `runs`, or `latest`.
///
/// # Errors
/// There is none, with what was looked for and what there is.
pub fn find_run(wanted: &str) -> Result<RunDirectory, String> {
    let places = [PathBuf::from(wanted), Path::new(RUNS).join(wanted)];
    let places: &[PathBuf] = if wanted == LATEST { &places[1..] } else { &places };
    for place in places {
        // One that was submitted may wait in its queue, and has no record yet.
        if place.join("run.json").exists() || place.join(JOB).exists() {
            let path = place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))?;
            return Ok(RunDirectory { path });
        }
    }
    let mut known: Vec<String> = fs::read_dir(RUNS)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && name != LATEST)
        .collect();
    known.sort_unstable();
    let there_is = match known.split_off(known.len().saturating_sub(5)).as_slice() {
        [] => "there are no runs under ./runs; start one with \"ligament run MODEL\", or give its directory"
            .into(),
        last => format!("the last ones under ./runs are {}", last.join(", ")),
    };
    if wanted == LATEST {
        return Err(format!("there is no latest run: {there_is}"));
    }
    Err(format!(
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
        let run = RunDirectory::create(Some(&path), "m", Moment(0)).unwrap();
        run.write("run.json", "{}").unwrap();
        let error = RunDirectory::create(Some(&path), "m", Moment(0)).unwrap_err();
        assert!(error.contains("holds a run already"), "{error}");
        assert_eq!(find_run(path.to_str().unwrap()).unwrap(), run);
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn two_runs_of_the_same_second_get_two_directories_and_latest_is_the_second() {
        let runs = empty("second");
        let a = new_under(&runs, "m", Moment(0)).unwrap();
        let b = new_under(&runs, "m", Moment(0)).unwrap();
        assert_ne!(a, b);
        for path in [&a, &b] {
            RunDirectory::create(Some(path), "m", Moment(0)).unwrap();
        }
        assert_eq!(runs.join("latest").canonicalize().unwrap(), b.canonicalize().unwrap());
        fs::remove_dir_all(runs).unwrap();
    }

    #[test]
    fn the_token_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let path = empty("token");
        let run = RunDirectory::create(Some(&path), "m", Moment(0)).unwrap();
        run.write_token("secret").unwrap();
        assert_eq!(fs::metadata(run.token()).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_last_lines_are_the_last_ones() {
        let path = empty("lines");
        let run = RunDirectory::create(Some(&path), "m", Moment(0)).unwrap();
        run.make_instance("a[1]").unwrap();
        fs::write(run.output("a[1]"), "one\ntwo\nthree\n").unwrap();
        assert_eq!(run.last_lines("a[1]", 2), ["two", "three"]);
        assert!(run.last_lines("b", 2).is_empty());
        fs::remove_dir_all(path).unwrap();
    }
}
