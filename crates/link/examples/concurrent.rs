//! MPWTestConcurrent of MPWide, rewritten in Rust. Both ends begin to send and to receive many messages, and
//! test the requests while they do other work. Then they check every byte, and meet at a barrier. Run
//! `concurrent listen KEY :PORT COUNT` at one end, and `concurrent open KEY HOST:PORT COUNT` at the other.

use ligament_link::{Key, Options, Path, PathError};
use std::process::ExitCode;
use std::time::Duration;

const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

/// Returns the content of message `number` of an end (0 listens, 1 opens).
fn content(number: usize, end: usize) -> Vec<u8> {
    let length = (number * 245_489 + end * 1013) % 400_000;
    (0..length).map(|i| (i * 31 + number * 7 + end * 101 + (i >> 10)) as u8).collect()
}

fn exchange(path: Path, end: usize, count: usize) -> Result<(), PathError> {
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for number in 0..count {
        receives.push(path.ireceive());
        sends.push(path.isend(content(number, end))?);
    }
    let mut early = 0;
    for (number, &one) in receives.iter().enumerate() {
        early += usize::from(path.test(one)?);
        assert!(path.wait(one, MINUTE)? == content(number, 1 - end), "message {number} is wrong");
    }
    for one in sends {
        path.wait(one, MINUTE)?;
    }
    path.barrier(MINUTE)?;
    println!("{count} messages, {early} before they were waited for");
    path.close(MINUTE)
}

fn run(words: &[&str]) -> Result<ExitCode, PathError> {
    let [how, key, place, count] = words[..] else { return Ok(ExitCode::from(2)) };
    let key = Key::read(key.as_ref()).expect("the key");
    let opens = how == "open";
    let options = Options::default();
    let path = if opens { Path::open(&key, &[place], &options)? } else { Path::listen(&key, place, &options)? };
    if !opens {
        println!("{}", path.addresses()[0].port());
    }
    exchange(path, usize::from(opens), count.parse().expect("a number")).map(|()| ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run(&words).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}
