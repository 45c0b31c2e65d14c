//! The protocol between a run and its guard: frames of fields, over a pair of Unix sockets.

use crate::command::Command;
use crate::environment::Environment;
use crate::process::Ended;
use crate::ranks::Lost;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// From the run to its guard.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    /// Start this; the answer, with the same number, is `Started` or `NotStarted`.
    Start(u32, Command),
    /// There is a process group that somebody else started: end it with the run.
    Watch(u32),
    /// That group has ended.
    Forget(u32),
    /// There will be a socket: remove it at the end, with the directory that it is in.
    Remove(PathBuf),
    /// A note to be reported if this process is lost; replaces an earlier one.
    Note(String),
    /// The run is over: start nothing any more, whatever was ordered before, and end what is left. The answer
    /// is `Swept`.
    Sweep,
    /// Everything is written down: exit.
    End,
}

/// From the guard to its run.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// The number of the order, and of the process.
    Started(u32, u32),
    NotStarted(u32, String),
    /// A process that it started has ended; of a launcher of MPI, why.
    Ended(u32, Ended, Option<Lost>),
    /// A launcher that it started goes on, and this rank of it has ended well.
    Left(u32, u32),
    /// Nothing is left.
    Swept,
}

struct Fields(Vec<u8>);

impl Fields {
    fn new(kind: u8) -> Fields {
        Fields(vec![0, 0, 0, 0, kind])
    }

    fn number(mut self, number: u32) -> Fields {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn text(mut self, text: &OsStr) -> Fields {
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    fn ended(self, ended: Ended) -> Fields {
        match ended {
            Ended::Status(status) => self.number(0).number(status as u32),
            Ended::Signal(signal) => self.number(1).number(signal as u32),
        }
    }

    fn write(mut self, mut to: impl Write) -> io::Result<()> {
        let len = self.0.len() as u32 - 4;
        self.0[..4].copy_from_slice(&len.to_le_bytes());
        to.write_all(&self.0)
    }
}

struct Reading<'a>(&'a [u8]);

impl Reading<'_> {
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

    fn text(&mut self) -> io::Result<OsString> {
        let len = self.number()? as usize;
        Ok(OsString::from_vec(self.bytes(len)?.to_vec()))
    }

    fn ended(&mut self) -> io::Result<Ended> {
        Ok(match (self.number()?, self.number()? as i32) {
            (0, status) => Ended::Status(status),
            (_, signal) => Ended::Signal(signal),
        })
    }

    fn lost(&mut self) -> io::Result<Lost> {
        let name = self.text()?.to_string_lossy().into_owned();
        let count = self.number()?;
        let ranks = (0..count).map(|_| self.number()).collect::<io::Result<_>>()?;
        let ended = if self.number()? == 1 { Some(self.ended()?) } else { None };
        Ok(Lost { ranks, name, ended })
    }
}

/// Reads a frame: its kind, and the fields.
fn frame(mut from: impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let mut bytes = vec![0; u32::from_le_bytes(len) as usize];
    from.read_exact(&mut bytes)?;
    let kind = *bytes.first().ok_or(io::ErrorKind::InvalidData)?;
    bytes.remove(0);
    Ok((kind, bytes))
}

impl Wish {
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        match self {
            Wish::Start(number, command) => {
                let mut fields = Fields::new(0)
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
            Wish::Watch(group) => Fields::new(1).number(*group),
            Wish::Forget(group) => Fields::new(2).number(*group),
            Wish::Sweep => Fields::new(3),
            Wish::End => Fields::new(4),
            Wish::Remove(socket) => Fields::new(5).text(socket.as_os_str()),
            Wish::Note(note) => Fields::new(6).text(OsStr::new(note)),
        }
        .write(to)
    }

    pub fn read(from: impl Read) -> io::Result<Wish> {
        let (kind, bytes) = frame(from)?;
        let mut fields = Reading(&bytes);
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
                Wish::Start(number, Command { program, arguments, environment, directory, output, cores })
            }
            1 => Wish::Watch(fields.number()?),
            2 => Wish::Forget(fields.number()?),
            3 => Wish::Sweep,
            4 => Wish::End,
            5 => Wish::Remove(PathBuf::from(fields.text()?)),
            6 => Wish::Note(fields.text()?.to_string_lossy().into_owned()),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

impl News {
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        match self {
            News::Started(number, pid) => Fields::new(0).number(*number).number(*pid),
            News::NotStarted(number, why) => Fields::new(1).number(*number).text(OsStr::new(why)),
            News::Ended(pid, ended, None) => Fields::new(2).number(*pid).ended(*ended),
            News::Ended(pid, ended, Some(lost)) => {
                let fields = Fields::new(3).number(*pid).ended(*ended).text(OsStr::new(&lost.name));
                let fields = fields.number(lost.ranks.len() as u32);
                let fields = lost.ranks.iter().fold(fields, |fields, &rank| fields.number(rank));
                match lost.ended {
                    Some(ended) => fields.number(1).ended(ended),
                    None => fields.number(0),
                }
            }
            News::Swept => Fields::new(4),
            News::Left(pid, rank) => Fields::new(5).number(*pid).number(*rank),
        }
        .write(to)
    }

    pub fn read(from: impl Read) -> io::Result<News> {
        let (kind, bytes) = frame(from)?;
        let mut fields = Reading(&bytes);
        Ok(match kind {
            0 => News::Started(fields.number()?, fields.number()?),
            1 => News::NotStarted(fields.number()?, fields.text()?.to_string_lossy().into_owned()),
            2 => News::Ended(fields.number()?, fields.ended()?, None),
            3 => News::Ended(fields.number()?, fields.ended()?, Some(fields.lost()?)),
            4 => News::Swept,
            5 => News::Left(fields.number()?, fields.number()?),
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
        let others = [Wish::Remove("/tmp/x/agent".into()), Wish::Note("naïve".into()), Wish::Sweep, Wish::End];
        let all = [Wish::Start(5, command), Wish::Watch(7), Wish::Forget(u32::MAX)].into_iter().chain(others);
        for wish in all {
            let mut bytes = Vec::new();
            wish.write(&mut bytes).unwrap();
            assert_eq!(Wish::read(&bytes[..]).unwrap(), wish);
            assert!(Wish::read(&bytes[..bytes.len() - 1]).is_err());
        }
        let lost = |ranks, ended| Some(Lost { ranks, name: "proxy".into(), ended });
        let ends = [
            News::Ended(3, Ended::Status(-1), None),
            News::Ended(4, Ended::Signal(9), lost(vec![1, 3], Some(Ended::Status(5)))),
            News::Ended(4, Ended::Signal(9), lost(Vec::new(), None)),
        ];
        let others = [News::Started(8, 1), News::NotStarted(9, "naïve".into()), News::Swept, News::Left(5, 2)];
        for news in ends.into_iter().chain(others) {
            let mut bytes = Vec::new();
            news.write(&mut bytes).unwrap();
            assert_eq!(News::read(&bytes[..]).unwrap(), news);
        }
    }
}
