//! The protocol between a run and its guard: frames of fields, over a pair of Unix sockets.

use crate::command::Command;
use crate::environment::Environment;
use crate::process::ProcessEnd;
use crate::ranks::LostRanks;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A message from the run to its guard.
#[derive(Debug, PartialEq, Eq)]
pub enum GuardOrder {
    /// Start this command. The answer is `Started` or `NotStarted`, with the same number.
    Start(u32, Command),
    /// End this process group with the run. Another process has started the group.
    Watch(u32),
    /// A group given in `Watch` has ended.
    Forget(u32),
    /// Remove this socket at the end of the run, with its directory. The socket may not exist yet.
    Remove(PathBuf),
    /// Pass on this note if the run's process is lost. The note replaces an earlier note.
    Note(String),
    /// The run is over: start no more processes, drop pending starts, and end all remaining processes. The
    /// answer is `Swept`.
    Sweep,
    /// Everything is written: exit.
    End,
}

/// A message from the guard to its run.
#[derive(Debug, PartialEq, Eq)]
pub enum GuardMessage {
    /// A process was started. The fields are the number of the order and the number of the process.
    Started(u32, u32),
    NotStarted(u32, String),
    /// A started process has ended. For an MPI launcher, the last field has the ranks that it lost.
    Ended(u32, ProcessEnd, Option<LostRanks>),
    /// This rank has ended with status 0. The launcher that started the rank still runs.
    Left(u32, u32),
    /// All processes have ended.
    Swept,
}

struct FrameWriter(Vec<u8>);

impl FrameWriter {
    fn new(kind: u8) -> FrameWriter {
        FrameWriter(vec![0, 0, 0, 0, kind])
    }

    fn number(mut self, number: u32) -> FrameWriter {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn numbers(self, numbers: &[u32]) -> FrameWriter {
        numbers.iter().fold(self.number(numbers.len() as u32), |fields, &number| fields.number(number))
    }

    fn text(mut self, text: &OsStr) -> FrameWriter {
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    fn ended(self, ended: ProcessEnd) -> FrameWriter {
        match ended {
            ProcessEnd::Status(status) => self.number(0).number(status as u32),
            ProcessEnd::Signal(signal) => self.number(1).number(signal as u32),
        }
    }

    fn write(mut self, mut to: impl Write) -> io::Result<()> {
        let len = self.0.len() as u32 - 4;
        self.0[..4].copy_from_slice(&len.to_le_bytes());
        to.write_all(&self.0)
    }
}

struct FrameReader<'a>(&'a [u8]);

impl FrameReader<'_> {
    fn bytes(&mut self, count: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut word = [0; 4];
        word.copy_from_slice(self.bytes(4)?);
        Ok(u32::from_le_bytes(word))
    }

    fn numbers(&mut self) -> io::Result<Vec<u32>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }

    fn text(&mut self) -> io::Result<OsString> {
        let len = self.number()? as usize;
        Ok(OsString::from_vec(self.bytes(len)?.to_vec()))
    }

    fn ended(&mut self) -> io::Result<ProcessEnd> {
        Ok(match (self.number()?, self.number()? as i32) {
            (0, status) => ProcessEnd::Status(status),
            (_, signal) => ProcessEnd::Signal(signal),
        })
    }

    fn lost(&mut self) -> io::Result<LostRanks> {
        let name = self.text()?.to_string_lossy().into_owned();
        let (ranks, unknown) = (self.numbers()?, self.numbers()?);
        let ended = if self.number()? == 1 { Some(self.ended()?) } else { None };
        Ok(LostRanks { ranks, name, ended, unknown })
    }
}

/// Reads a frame. Returns its kind and the bytes of its fields.
fn frame(mut from: impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let mut bytes = vec![0; u32::from_le_bytes(len) as usize];
    from.read_exact(&mut bytes)?;
    let kind = *bytes.first().ok_or(io::ErrorKind::InvalidData)?;
    bytes.remove(0);
    Ok((kind, bytes))
}

impl GuardOrder {
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        match self {
            GuardOrder::Start(number, command) => {
                let mut fields = FrameWriter::new(0)
                    .number(*number)
                    .text(command.program.as_os_str())
                    .text(command.directory.as_os_str())
                    .text(command.output.as_os_str())
                    .number(command.arguments.len() as u32);
                fields = command.arguments.iter().fold(fields, |fields, argument| fields.text(argument));
                fields = fields.number(command.cores.len() as u32);
                fields = command.cores.iter().fold(fields, |fields, &core| fields.number(core));
                let variables: Vec<_> = command.environment.iter().collect();
                fields = fields.number(variables.len() as u32);
                let pairs = variables.iter();
                pairs.fold(fields, |fields, (name, value)| fields.text(name).text(value))
            }
            GuardOrder::Watch(group) => FrameWriter::new(1).number(*group),
            GuardOrder::Forget(group) => FrameWriter::new(2).number(*group),
            GuardOrder::Sweep => FrameWriter::new(3),
            GuardOrder::End => FrameWriter::new(4),
            GuardOrder::Remove(socket) => FrameWriter::new(5).text(socket.as_os_str()),
            GuardOrder::Note(note) => FrameWriter::new(6).text(OsStr::new(note)),
        }
        .write(to)
    }

    pub fn read(from: impl Read) -> io::Result<GuardOrder> {
        let (kind, bytes) = frame(from)?;
        let mut fields = FrameReader(&bytes);
        Ok(match kind {
            0 => {
                let number = fields.number()?;
                let program = PathBuf::from(fields.text()?);
                let directory = PathBuf::from(fields.text()?);
                let output = PathBuf::from(fields.text()?);
                let count = fields.number()?;
                let arguments = (0..count).map(|_| fields.text()).collect::<io::Result<_>>()?;
                let count = fields.number()?;
                let cores = (0..count).map(|_| fields.number()).collect::<io::Result<_>>()?;
                let mut environment = Environment::default();
                for _ in 0..fields.number()? {
                    let name = fields.text()?;
                    environment.set_any(name, fields.text()?);
                }
                GuardOrder::Start(number, Command { program, arguments, environment, directory, output, cores })
            }
            1 => GuardOrder::Watch(fields.number()?),
            2 => GuardOrder::Forget(fields.number()?),
            3 => GuardOrder::Sweep,
            4 => GuardOrder::End,
            5 => GuardOrder::Remove(PathBuf::from(fields.text()?)),
            6 => GuardOrder::Note(fields.text()?.to_string_lossy().into_owned()),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

impl GuardMessage {
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        match self {
            GuardMessage::Started(number, pid) => FrameWriter::new(0).number(*number).number(*pid),
            GuardMessage::NotStarted(number, why) => FrameWriter::new(1).number(*number).text(OsStr::new(why)),
            GuardMessage::Ended(pid, ended, None) => FrameWriter::new(2).number(*pid).ended(*ended),
            GuardMessage::Ended(pid, ended, Some(lost)) => {
                let fields = FrameWriter::new(3).number(*pid).ended(*ended).text(OsStr::new(&lost.name));
                let fields = fields.numbers(&lost.ranks).numbers(&lost.unknown);
                match lost.ended {
                    Some(ended) => fields.number(1).ended(ended),
                    None => fields.number(0),
                }
            }
            GuardMessage::Swept => FrameWriter::new(4),
            GuardMessage::Left(pid, rank) => FrameWriter::new(5).number(*pid).number(*rank),
        }
        .write(to)
    }

    pub fn read(from: impl Read) -> io::Result<GuardMessage> {
        let (kind, bytes) = frame(from)?;
        let mut fields = FrameReader(&bytes);
        Ok(match kind {
            0 => GuardMessage::Started(fields.number()?, fields.number()?),
            1 => GuardMessage::NotStarted(fields.number()?, fields.text()?.to_string_lossy().into_owned()),
            2 => GuardMessage::Ended(fields.number()?, fields.ended()?, None),
            3 => GuardMessage::Ended(fields.number()?, fields.ended()?, Some(fields.lost()?)),
            4 => GuardMessage::Swept,
            5 => GuardMessage::Left(fields.number()?, fields.number()?),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut environment = Environment::default();
        environment.set("A", OsString::from_vec(vec![0xff, b' ', b'=']));
        let command = Command {
            program: "/bin/true".into(),
            arguments: vec!["a b".into(), "".into()],
            environment,
            directory: "/".into(),
            output: "/dev/null".into(),
            cores: vec![3, 65],
        };
        let others = [
            GuardOrder::Remove("/tmp/x/agent".into()),
            GuardOrder::Note("naïve".into()),
            GuardOrder::Sweep,
            GuardOrder::End,
        ];
        let all = [GuardOrder::Start(5, command), GuardOrder::Watch(7), GuardOrder::Forget(u32::MAX)]
            .into_iter()
            .chain(others);
        for wish in all {
            let mut bytes = Vec::new();
            wish.write(&mut bytes).unwrap();
            assert_eq!(GuardOrder::read(&bytes[..]).unwrap(), wish);
            assert!(GuardOrder::read(&bytes[..bytes.len() - 1]).is_err());
        }
        let lost = |ranks, ended| Some(LostRanks { ranks, name: "proxy".into(), ended, unknown: vec![2, 0] });
        let ends = [
            GuardMessage::Ended(3, ProcessEnd::Status(-1), None),
            GuardMessage::Ended(4, ProcessEnd::Signal(9), lost(vec![1, 3], Some(ProcessEnd::Status(5)))),
            GuardMessage::Ended(4, ProcessEnd::Signal(9), lost(Vec::new(), None)),
        ];
        let others = [
            GuardMessage::Started(8, 1),
            GuardMessage::NotStarted(9, "naïve".into()),
            GuardMessage::Swept,
            GuardMessage::Left(5, 2),
        ];
        for news in ends.into_iter().chain(others) {
            let mut bytes = Vec::new();
            news.write(&mut bytes).unwrap();
            assert_eq!(GuardMessage::read(&bytes[..]).unwrap(), news);
        }
    }
}
