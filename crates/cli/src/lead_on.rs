//! `ligament lead-on ADDRESS PORT`: connects two machines through a third machine, on which ssh starts this
//! command because sshd forbids `ssh -W` there. The command copies its standard input to the address, and the
//! bytes from the address to its standard output. It cannot read the data, because the two ends encrypt.

use ligament_launch::{quote, quote_path};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Maximum time to connect to the address. Also the maximum time for the last bytes to arrive after the end of
/// the input.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes that are passed on at once.
const BUFFER_BYTES: usize = 1 << 17;

#[derive(Debug, clap::Args)]
pub(crate) struct LeadOn {
    address: IpAddr,
    port: u16,
}

/// Returns the shell command for the third machine, without the address. The command searches ligament at the
/// path from the site file, at the path of this program, and at the usual place of a user's installation.
pub(crate) fn told(ligament: Option<&str>) -> String {
    let own = ligament_launch::own_command().display().to_string();
    let places: Vec<String> = ligament.into_iter().chain([own.as_str(), "ligament"]).map(quote_path).collect();
    let script = format!(
        "for l in {} \"$HOME\"/.local/bin/ligament; do command -v \"$l\" >/dev/null && exec \"$l\" lead-on \
         \"$@\"; done; echo \"there is no command ligament here that would lead on in place of ssh -W\" >&2; \
         exit 127",
        places.join(" ")
    );
    format!("exec sh -c {} ligament", quote(&script))
}

/// Passes bytes on until either end has ended. Returns the exit status.
pub(crate) fn lead_on(arguments: &LeadOn) -> i32 {
    let to = SocketAddr::new(arguments.address, arguments.port);
    match between(to) {
        Ok(()) => 0,
        Err(error) => {
            ligament_runtime::say(&format!("ligament: lead-on: {to}: {error}"));
            1
        }
    }
}

fn between(to: SocketAddr) -> io::Result<()> {
    // The standard streams are used as plain files, because Rust's buffers would delay bytes.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut there = TcpStream::connect_timeout(&to, ANSWER_TIMEOUT)?;
    there.set_nodelay(true)?;
    let mut back = there.try_clone()?;
    std::thread::Builder::new().name("back".into()).spawn(move || {
        let _ = pass(&mut back, &mut output);
        // No more bytes can arrive. The exit also ends ssh, which tells the other side.
        std::process::exit(0);
    })?;
    let sent = pass(&mut input, &mut there);
    let _ = there.shutdown(Shutdown::Write);
    std::thread::sleep(DELIVERY_TIMEOUT);
    sent
}

/// Copies all bytes as soon as they arrive. `io::copy` would use splice of the kernel, which waits for more
/// bytes.
fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => to.write_all(&buffer[..read])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_told_where_the_command_may_be_and_takes_the_first_that_is_there() {
        let folder = std::env::temp_dir().join(format!("ligament-lead-on-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let there = folder.join("it's here");
        std::fs::write(&there, "#!/bin/sh\necho \"$@\"\n").unwrap();
        std::fs::set_permissions(&there, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let told = format!("{} ::1 7000", told(there.to_str()));
        let output = std::process::Command::new("sh").args(["-c", &told]).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "lead-on ::1 7000\n");
    }
}
