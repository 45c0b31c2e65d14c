//! Limits the size of the instances' output. Instances append directly to their own files, and no process
//! filters the output. So the surplus is removed from the middle of a file: its disk space is freed while
//! the instance continues to write. The first quarter of the limit stays, and at least the last half of the
//! limit. `tests/kernel/append_survives_hole.c` proves that nothing else is lost.

use crate::directory::{output_in, output_of_rank};
use ligament_agent::{PlannedInstance, RunPlan};
use ligament_catalogue::{fault, Fault};
use ligament_wire::InstanceId;
use rustix::fs::{fallocate, FallocateFlags};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Size up to which the output of an instance is kept, in bytes, unless the model sets another size.
pub const DEFAULT_OUTPUT_BYTES: u64 = 256 << 20;
/// Alignment of the freed part, in bytes. This is a multiple of the block size of every file system.
const HOLE_ALIGNMENT_BYTES: u64 = 64 << 10;
/// Minimum of the size up to which output can be kept, in bytes.
const MIN_OUTPUT_BYTES: u64 = 4 * HOLE_ALIGNMENT_BYTES;
/// Maximum number of files that one check looks at.
const MAX_FILES_PER_CHECK: usize = 64;

/// The output files of a run's instances.
#[derive(Debug)]
pub struct OutputFiles {
    limit: u64,
    files: Vec<OutputFile>,
    /// Index of the file at which the next check begins.
    next: usize,
}

/// Returns the path of the output file of each rank of a plan. `home` returns the directory of an instance.
/// If one command starts several ranks, these ranks share the file of the first rank. An instance without a
/// directory on this machine has no file.
pub fn outputs_of(plan: &RunPlan, home: impl Fn(InstanceId) -> Option<PathBuf>) -> Vec<PathBuf> {
    let ranks = plan.ranks();
    let output = |rank| {
        let PlannedInstance { ranks: count, together, .. } = &plan.instances[ranks.instance(rank).index()];
        let home = home(ranks.instance(rank))?;
        match (count, ranks.place(rank)) {
            (None, _) => Some(output_in(&home)),
            (Some(_), place) if !together => Some(output_of_rank(&home, place)),
            (Some(_), 0) => Some(output_in(&home)),
            (Some(_), _) => None,
        }
    };
    ranks.all().map(|rank| output(rank).unwrap_or_default()).collect()
}

#[derive(Debug)]
struct OutputFile {
    path: PathBuf,
    /// Offset of the end of the freed part, in bytes. 0 if nothing has been freed.
    until: u64,
    /// True if the file system cannot free parts of files.
    refused: bool,
}

impl OutputFiles {
    /// Makes the set of these files. Of each file, `limit` bytes are kept, but at least 256 KiB.
    pub fn new(limit: u64, files: impl IntoIterator<Item = PathBuf>) -> OutputFiles {
        let output = |path| OutputFile { path, until: 0, refused: false };
        OutputFiles {
            limit: limit.max(MIN_OUTPUT_BYTES),
            files: files.into_iter().map(output).collect(),
            next: 0,
        }
    }

    /// Checks some of the files, and frees the surplus. The next call checks the following files. Returns
    /// messages for the log: the index of a file, and the result of the check.
    pub fn look(&mut self) -> Vec<(usize, Result<String, Fault>)> {
        let count = self.files.len().min(MAX_FILES_PER_CHECK);
        let mut said = Vec::new();
        for _ in 0..count {
            let index = self.next % self.files.len();
            self.next = index + 1;
            said.extend(self.files[index].look(self.limit).map(|text| (index, text)));
        }
        said
    }

    /// Joins the remaining parts of each file. The host calls this function after the last writer has
    /// ended.
    pub fn close(&mut self) {
        for file in &mut self.files {
            let _ = file.look(self.limit);
            // If the disk has no space for a joined copy, the gap stays in the file. The gap takes no disk
            // space.
            if file.until > 0 && file.close(first_part(self.limit)).is_err() {
                let _ = std::fs::remove_file(beside(&file.path));
            }
        }
    }
}

/// Returns the size of the part at the beginning of a file that stays, in bytes. The part includes the note
/// at its end.
fn first_part(limit: u64) -> u64 {
    limit / 4 / HOLE_ALIGNMENT_BYTES * HOLE_ALIGNMENT_BYTES
}

/// Returns the note that is written into a file about the number of missing bytes.
fn note(bytes: u64) -> String {
    format!(
        "\n[ligament: {bytes:>15} bytes are left out here; \"output\" under \"ligament:\" says how many \
        are kept]\n"
    )
}

/// Returns the path of the new file into which the parts of a file are joined.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

impl OutputFile {
    fn look(&mut self, limit: u64) -> Option<Result<String, Fault>> {
        let first = first_part(limit);
        let size = std::fs::metadata(&self.path).ok()?.len();
        if size < self.until {
            // A program has emptied the file, for example a script with "> /dev/stdout". The file begins
            // again, without a gap.
            self.until = 0;
        }
        if self.refused || size - self.until.max(first).min(size) + first <= limit {
            return None;
        }
        let until = (size - limit / 2) / HOLE_ALIGNMENT_BYTES * HOLE_ALIGNMENT_BYTES;
        match self.take_out(first, until) {
            Ok(()) => {
                let new = self.until == 0;
                self.until = until;
                new.then(|| {
                    let (limit, first) = (crate::format_bytes(limit as f64), crate::format_bytes(first as f64));
                    Ok(format!(
                        "has printed more than {limit}; of its output only the first {first} and the last \
                        part are kept (\"output\" under \"ligament:\")"
                    ))
                })
            }
            Err(error) => {
                self.refused = true;
                Some(Err(fault!(
                    OUTPUT_CANNOT_SHRINK,
                    "its output is larger than {}, but the file system of {} cannot give part of a file back \
                     ({error}), so it goes on growing; print less, or put the run directory elsewhere",
                    crate::format_bytes(limit as f64),
                    self.path.display()
                )))
            }
        }
    }

    /// Frees the disk space between two offsets. The length of the file stays the same. Output that is
    /// appended meanwhile stays too.
    fn take_out(&self, first: u64, until: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, first, until - first)?;
        let length = note(0).len() as u64;
        file.write_all_at(note(until - first + length).as_bytes(), first - length)
    }

    /// Replaces the file by a copy without the gap. A process that has the old file open still sees the old
    /// file.
    fn close(&mut self, first: u64) -> io::Result<()> {
        let mut from = File::open(&self.path)?;
        let mut to = File::create(beside(&self.path))?;
        io::copy(&mut (&from).take(first), &mut to)?;
        from.seek(SeekFrom::Start(self.until))?;
        io::copy(&mut from, &mut to)?;
        std::fs::rename(beside(&self.path), &self.path)?;
        self.until = 0;
        Ok(())
    }
}

/// Reads a file from its present position on, without the freed part, and writes the content to `to`.
///
/// # Errors
/// The system's message.
pub fn read_output(file: &mut File, to: &mut impl io::Write) -> io::Result<()> {
    use rustix::fs::{seek, SeekFrom as Whence};
    loop {
        let here = file.stream_position()?;
        let from = match seek(&*file, Whence::Data(here)) {
            Ok(from) => from,
            // The rest of the file is a hole or empty.
            Err(rustix::io::Errno::NXIO) => return Ok(()),
            // The file system does not know holes.
            Err(_) => here,
        };
        let until = seek(&*file, Whence::Hole(from)).unwrap_or(u64::MAX);
        file.seek(SeekFrom::Start(from))?;
        if io::copy(&mut file.take(until - from), to)? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    struct Printer {
        path: PathBuf,
        file: File,
        lines: u64,
    }

    impl Printer {
        fn new(test: &str) -> Printer {
            let path = std::env::temp_dir().join(format!("ligament-output-{}-{test}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            Printer { path, file, lines: 0 }
        }

        /// Prints this number of bytes, in lines of 16.
        fn print(&mut self, bytes: u64) {
            let lines = self.lines..self.lines + bytes / 16;
            self.lines = lines.end;
            let text: String = lines.map(|i| format!("line {i:010}\n")).collect();
            self.file.write_all(text.as_bytes()).unwrap();
        }

        fn outputs(&self, limit: u64) -> OutputFiles {
            OutputFiles::new(limit, [self.path.clone()])
        }

        fn read(&self) -> String {
            let mut text = Vec::new();
            read_output(&mut File::open(&self.path).unwrap(), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        }
    }

    impl Drop for Printer {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Checks that the text has first lines, a note, and last lines. Returns the number of missing bytes in the
    /// note.
    fn judge(text: &str, last: u64) -> u64 {
        let (head, rest) = text.split_once("\n[ligament:").expect("there is a note");
        let (note, tail) = rest.split_once("]\n").unwrap();
        let whole =
            |part: &str| part.lines().filter(|line| line.len() == 15).map(str::to_owned).collect::<Vec<_>>();
        let (head, tail) = (whole(head), whole(tail));
        assert!(
            head.iter().enumerate().all(|(i, line)| *line == format!("line {i:010}")),
            "the first lines stay"
        );
        let first = last - tail.len() as u64;
        assert!((first..).zip(&tail).all(|(i, line)| *line == format!("line {i:010}")), "the last lines stay");
        note.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn of_too_much_output_the_first_and_the_last_lines_stay_while_it_is_written_to() {
        let mut printer = Printer::new("both");
        let mut outputs = printer.outputs(1 << 20);
        printer.print(1 << 20);
        assert!(outputs.look().is_empty(), "what is within the limit stays as it is");
        for step in 0..20 {
            printer.print(1 << 20);
            let said = outputs.look();
            assert_eq!(said.len(), usize::from(step == 0), "it is said once: {said:?}");
            let (text, known) = (printer.read(), std::fs::metadata(&printer.path).unwrap());
            let missing = judge(&text, printer.lines);
            assert!(text.len() <= 1 << 20 && known.blocks() * 512 <= (1 << 20) + HOLE_ALIGNMENT_BYTES);
            assert_eq!(missing + text.len() as u64 - note(0).len() as u64, printer.lines * 16);
        }
        let before = printer.read();
        outputs.close();
        assert_eq!(std::fs::read_to_string(&printer.path).unwrap(), before, "a plain file, without a gap");
        assert!(!beside(&printer.path).exists());
    }

    #[test]
    fn who_reads_along_gets_what_comes_after_the_gap() {
        let mut printer = Printer::new("along");
        let mut outputs = printer.outputs(MIN_OUTPUT_BYTES);
        printer.print(1000 * 16);
        let (mut reader, mut text) = (File::open(&printer.path).unwrap(), Vec::new());
        read_output(&mut reader, &mut text).unwrap();
        printer.print(1 << 20);
        outputs.look();
        outputs.close();
        read_output(&mut reader, &mut text).unwrap();
        judge(&String::from_utf8(text).unwrap(), printer.lines);
    }

    #[test]
    fn of_many_files_each_has_its_turn() {
        let printers: Vec<Printer> =
            (0..2 * MAX_FILES_PER_CHECK).map(|i| Printer::new(&format!("many{i}"))).collect();
        let mut outputs =
            OutputFiles::new(MIN_OUTPUT_BYTES, printers.iter().map(|printer| printer.path.clone()));
        let mut last = printers;
        last.iter_mut().for_each(|printer| printer.print(MIN_OUTPUT_BYTES + HOLE_ALIGNMENT_BYTES));
        let said = outputs.look().len() + outputs.look().len();
        assert_eq!(said, last.len());
    }
}
