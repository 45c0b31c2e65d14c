//! MPWTest of MPWide, rewritten in Rust. One end listens, the other end opens the path. They send the same
//! message back and forth, and check its bytes. Run `ping_pong listen KEY :PORT` at one end, and `ping_pong
//! open KEY HOST:PORT ROUNDS BYTES` at the other.

use ligament_link::{Key, Options, Path, PathError, PathErrorKind};
use std::process::ExitCode;
use std::time::Duration;

const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

fn listen(key: &Key, at: &str) -> Result<(), PathError> {
    let path = Path::listen(key, at, &Options::default())?;
    println!("{}", path.addresses()[0].port());
    // The listening end does not know the length of the messages, and sends each one back.
    let ended = loop {
        match path.receive(MINUTE) {
            Ok(message) => path.send(&message, MINUTE)?,
            Err(error) => break error,
        }
    };
    match ended.kind() {
        PathErrorKind::Closed => path.close(MINUTE),
        _ => Err(ended),
    }
}

fn ping(key: &Key, to: &str, rounds: usize, length: usize) -> Result<(), PathError> {
    let path = Path::open(key, &[to], &Options::default())?;
    for round in 0..rounds {
        let out: Vec<u8> = (0..length).map(|i| (i * 31 + round * 7 + (i >> 10)) as u8).collect();
        assert!(path.send_receive(&out, MINUTE)? == out, "round {round} came back wrong");
    }
    let seen = path.statistics();
    println!("{} messages, {} cuts", seen.received, seen.cuts);
    path.close(MINUTE)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number");
    let key = |file: &str| Key::read(file.as_ref()).expect("the key");
    let done = match words[..] {
        ["listen", file, at] => listen(&key(file), at),
        ["open", file, to, rounds, bytes] => ping(&key(file), to, number(rounds), number(bytes)),
        _ => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
