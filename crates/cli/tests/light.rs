//! Runs of many light components in one process, by the command `ligament`. The components are
//! `examples/light.rs`. `cargo test` builds them, and `cargo test --test light` does not: run `cargo build
//! --examples` before it.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Time limit for a hanging run. Every run here takes much less.
const WATCHDOG: Duration = Duration::from_secs(300);

fn program() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples/light")
}

/// Returns a model of `n` components in a ring. Each has `m` conduits to its seven successors.
fn model(n: usize, m: usize, steps: usize, extra: &str) -> String {
    let ports = |letter: char| (0..m).map(|j| format!("{letter}{j}")).collect::<Vec<_>>().join(", ");
    let mut text = String::from("ymmsl_version: v0.1\nmodel:\n  name: many\n  components:\n");
    for i in 0..n {
        let (sends, receives) = (ports('o'), ports('i'));
        writeln!(text, "    c{i}: {{implementation: node, ports: {{o_i: [{sends}], s: [{receives}]}}}}")
            .unwrap();
    }
    text.push_str("  conduits:\n");
    for i in 0..n {
        for j in 0..m {
            writeln!(text, "    c{i}.o{j}: c{}.i{j}", (i + 1 + j % 7) % n).unwrap();
        }
    }
    let program = program().display().to_string();
    write!(text, "settings:\n  steps: {steps}\nimplementations:\n  node: {{executable: {program}}}\n").unwrap();
    write!(text, "ligament:\n  light: node\n{extra}").unwrap();
    text
}

fn run(test: &str, model: &str) -> (Output, serde_json::Value) {
    let path = std::env::temp_dir().join(format!("ligament-light-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.ymmsl"), model).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ligament"));
    command.args(["run", "model.ymmsl", "--run-dir", "run"]).current_dir(&path).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (told, hears) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(child.wait_with_output()));
    let output = hears.recv_timeout(WATCHDOG).unwrap_or_else(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("the run hangs");
    });
    let output = output.unwrap();
    let record = std::fs::read_to_string(path.join("run/run.json")).unwrap_or_default();
    let record = serde_json::from_str(&record).unwrap_or_default();
    std::fs::remove_dir_all(path).unwrap();
    (output, record)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn all(record: &serde_json::Value, field: &str) -> u64 {
    let instances = record["instances"].as_array().unwrap();
    instances.iter().map(|one| one[field].as_u64().unwrap()).sum()
}

#[test]
fn a_thousand_components_with_fifty_thousand_conduits_pass_every_message_on() {
    let (output, record) = run("thousand", &model(1000, 50, 1, ""));
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!((all(&record, "sent_messages"), all(&record, "received_messages")), (50_000, 50_000));
    // One thread runs all instances, so the sum of their computing times is at most the time of the run.
    let seconds = |one: &serde_json::Value, field: &str| one[field].as_f64().unwrap();
    let instances = record["instances"].as_array().unwrap();
    let computing: f64 = instances.iter().map(|one| seconds(one, "computing")).sum();
    let longest = instances.iter().map(|one| seconds(one, "total")).fold(0.0, f64::max);
    assert!(computing > 0.0 && computing < longest + 1e-6, "{computing} s of {longest}");
    let pid = &record["instances"][0]["pid"];
    assert!(record["instances"]
        .as_array()
        .unwrap()
        .iter()
        .all(|one| one["pid"] == *pid && one["state"] == "done"));
}

#[test]
fn messages_go_on_where_every_conduit_takes_one_at_a_time() {
    let (output, record) = run("narrow", &model(9, 5, 200, "  budget: 1\n"));
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(all(&record, "received_messages"), 9 * 5 * 200);
}
