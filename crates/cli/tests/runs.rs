//! Whole runs by the command `ligament`. Good runs succeed. Every kind of failure ends a run, is reported with
//! its reason first, and leaves no process behind. Runs can be asked, stopped and joined.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Time limit for a hanging run. Every run here takes much less.
const WATCHDOG: Duration = Duration::from_secs(60);

fn ligament() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ligament"));
    command.stdin(Stdio::null()).env_remove("WAY");
    command
}

/// Returns the program of the instances, `examples/peer.rs`. `cargo test` builds it, and `cargo test --test
/// runs` does not: run `cargo build --examples` before it.
fn peer() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples/peer")
}

/// A directory for one test, with a model file.
struct Place {
    path: PathBuf,
}

impl Place {
    fn new(test: &str, micro: &str) -> Place {
        let path = std::env::temp_dir().join(format!("ligament-runs-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let model = format!(
            "ymmsl_version: v0.1
model:
  name: pair
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    micro: {{implementation: micro, ports: {{f_init: in, o_f: out}}}}
  conduits:
    macro.out: micro.in
    micro.out: macro.in
settings:
  steps: 10
implementations:
  macro: {{executable: {peer}, args: [macro]}}
  micro: {micro}
",
            peer = peer().display()
        );
        std::fs::write(path.join("pair.ymmsl"), model).unwrap();
        Place { path }
    }

    /// Makes a directory with a model file that has the text `model`.
    fn with_model(test: &str, model: &str) -> Place {
        let place = Place::new(test, "{executable: none}");
        let model = model.replace("PEER", peer().to_str().unwrap());
        std::fs::write(place.path.join("pair.ymmsl"), model).unwrap();
        place
    }

    /// Makes a model whose micro model fails at number 3, in the way that `way` names.
    fn failing(test: &str, way: &str) -> Place {
        Place::new(test, &format!("{{executable: {}, args: [micro, {way}]}}", peer().display()))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = ligament();
        command.args(arguments).current_dir(&self.path);
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut arguments = vec!["run", "pair.ymmsl", "--run-dir", "run"];
        arguments.extend(more);
        finish(self.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut arguments = vec!["run", "pair.ymmsl", "--run-dir", "run"];
        arguments.extend(more);
        self.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn record(&self) -> serde_json::Value {
        let text = std::fs::read_to_string(self.path.join("run/run.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Requests the state of the run until it fulfils the condition.
    fn wait_for(&self, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let began = Instant::now();
        loop {
            let output = self.ask(&["status", "run", "--json"]);
            if output.status.success() {
                let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                if wanted(&json) {
                    return json;
                }
            }
            assert!(began.elapsed() < WATCHDOG, "it never came: {output:?}");
            std::thread::yield_now();
        }
    }

    /// Waits until micro has printed its last line. It does nothing afterwards.
    fn wait_for_micro(&self) {
        let began = Instant::now();
        let output = self.path.join("run/instances/micro/output.log");
        while !std::fs::read_to_string(&output).is_ok_and(|text| text.contains("last line")) {
            assert!(began.elapsed() < WATCHDOG);
            std::thread::yield_now();
        }
    }

    /// Checks that no process of the run is left.
    fn assert_all_gone(&self) {
        for instance in self.record()["instances"].as_array().unwrap() {
            if let Some(pid) = instance["pid"].as_u64() {
                assert!(is_gone(pid), "{} still runs", instance["name"]);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn is_gone(pid: u64) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // A zombie counts as gone. Its new parent will remove it.
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

/// Waits for a process, and kills it if it hangs.
fn finish(child: Child) -> Output {
    let pid = rustix::process::Pid::from_child(&child);
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(WATCHDOG) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            panic!("the command hangs");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the first line of the error output that begins with `ligament: `.
fn reason(output: &Output) -> String {
    let all = text(&output.stderr);
    all.lines().find(|line| line.starts_with("ligament: ")).unwrap_or_else(|| panic!("{all}")).to_owned()
}

#[test]
fn a_model_of_two_instances_runs_to_its_end() {
    let place = Place::failing("well", "never");
    let output = place.run(&["-s", "steps=20"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = place.record();
    assert_eq!(record["state"], "done");
    for instance in record["instances"].as_array().unwrap() {
        assert_eq!((&instance["state"], &instance["sent_messages"]), (&"done".into(), &20.into()));
    }
    let shown = text(&output.stdout);
    assert!(shown.contains("macro") && shown.contains("run directory: run"), "{shown}");
    let run = place.path.join("run");
    for file in ["model.ymmsl", "manager.log", "instances/macro/output.log", "instances/micro/workdir"] {
        assert!(run.join(file).exists(), "{file}");
    }
    assert!(std::fs::read_to_string(run.join("settings.yaml")).unwrap().contains("steps: 20"));
    assert!(!run.join("token").exists());
    place.assert_all_gone();

    let again = place.run(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(reason(&again).contains("holds a run already"));
}

#[test]
fn every_way_of_failing_ends_the_run_with_its_reason_first() {
    for (way, words) in [
        ("exit", "micro ended with exit status 3"),
        ("abort", "micro was ended by signal SIGABRT"),
        ("report", "micro reported an error: the temperature is negative"),
        ("leave", "micro ended without saying that it is done"),
    ] {
        let place = Place::failing(way, way);
        let output = place.run(&["--quiet"]);
        assert_eq!(output.status.code(), Some(1), "{way}");
        let all = text(&output.stderr);
        let first = all.lines().next().unwrap();
        assert!(first.contains(words), "{way}: {all}");
        assert!(all.contains("this is the last line of micro"), "{way}: {all}");
        assert_eq!(place.record()["state"], "failed");
        place.assert_all_gone();
    }
}

#[test]
fn a_program_that_never_registers_fails_the_run() {
    let place = Place::new("silent", &format!("{{executable: {}, args: [silent]}}", peer().display()));
    let output = place.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(reason(&output).contains("never registered"), "{}", reason(&output));
    place.assert_all_gone();
}

#[test]
fn an_instance_killed_from_outside_fails_the_run() {
    let place = Place::failing("killed", "wait");
    let run = place.start(&["--quiet"]);
    place.wait_for_micro();
    let state = place.wait_for(|json| json["instances"][1]["state"] == "computing");
    let pid = state["instances"][1]["pid"].as_i64().unwrap() as i32;
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let output = finish(run);
    assert_eq!(output.status.code(), Some(1));
    assert!(reason(&output).contains("micro was ended by signal SIGKILL"), "{}", reason(&output));
    place.assert_all_gone();
}

#[test]
fn a_missing_executable_is_found_before_anything_runs() {
    let place = Place::new("missing", "{executable: ./nowhere}");
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let all = text(&output.stderr);
    assert!(all.starts_with("pair.ymmsl:") && all.contains("./nowhere"), "{all}");
    assert!(!place.path.join("run").exists());
}

#[test]
fn a_script_whose_interpreter_is_missing_fails_the_run() {
    use std::os::unix::fs::PermissionsExt;
    // `check` reads the first line of a script file before the run. A script in the model becomes a file only
    // at the start, so its mistake fails the run.
    let place = Place::new("interpreter", "{executable: ./script}");
    let script = place.path.join("script");
    std::fs::write(&script, "#!/nowhere/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = place.run(&["--quiet"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("[not-executable]"), "{}", text(&refused.stderr));
    let model = std::fs::read_to_string(place.path.join("pair.ymmsl")).unwrap();
    let model = model.replace("{executable: ./script}", "{script: ['#!/nowhere/interpreter']}");
    std::fs::write(place.path.join("pair.ymmsl"), model).unwrap();
    let output = place.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    let why = reason(&output);
    assert!(why.contains("micro could not be started") && why.contains("interpreter"), "{why}");
    place.assert_all_gone();
}

/// Starts a run whose program ignores SIGTERM and has a child that ignores it, too. Returns the number of the
/// child.
fn stubborn(test: &str) -> (Place, Child, u64) {
    let script = "{script: \"trap '' TERM; sleep 1000 & echo $! > child; wait; wait\"}";
    let place = Place::new(test, script);
    let run = place.start(&["--quiet"]);
    let began = Instant::now();
    let child = place.path.join("run/instances/micro/workdir/child");
    let pid = loop {
        if let Some(pid) = std::fs::read_to_string(&child).ok().and_then(|text| text.trim().parse().ok()) {
            break pid;
        }
        assert!(began.elapsed() < WATCHDOG);
        std::thread::yield_now();
    };
    (place, run, pid)
}

#[test]
fn one_that_does_not_heed_the_end_is_killed_with_all_its_children() {
    let (place, run, child) = stubborn("stubborn");
    assert_eq!(place.ask(&["stop", "run"]).status.code(), Some(0));
    let output = finish(run);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(place.record()["state"], "stopped");
    place.assert_all_gone();
    assert!(is_gone(child));
}

#[test]
fn children_of_instances_die_with_a_manager_that_is_killed() {
    let (_place, run, child) = stubborn("orphan");
    rustix::process::kill_process(rustix::process::Pid::from_child(&run), rustix::process::Signal::KILL)
        .unwrap();
    finish(run);
    let began = Instant::now();
    while !is_gone(child) {
        assert!(began.elapsed() < WATCHDOG, "{child} outlives the manager");
        std::thread::yield_now();
    }
}

/// Returns the guard of a run, which is the child process with this name.
fn guard_of(run: &Child) -> rustix::process::Pid {
    let found = std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit(')').next()?.split_ascii_whitespace().nth(1)?;
        let is_guard = stat.contains("(ligament-guard)") && parent == run.id().to_string();
        is_guard.then(|| entry.file_name().to_str()?.parse().ok()).flatten()
    });
    rustix::process::Pid::from_raw(found.expect("every run has a guard")).unwrap()
}

#[test]
fn a_run_whose_guard_is_killed_fails_and_leaves_nobody() {
    let (place, run, child) = stubborn("unguarded");
    rustix::process::kill_process(guard_of(&run), rustix::process::Signal::KILL).unwrap();
    let output = finish(run);
    assert_eq!(output.status.code(), Some(1));
    assert!(reason(&output).contains("the run's guard"), "{}", reason(&output));
    assert_eq!(place.record()["state"], "failed");
    place.assert_all_gone();
    assert!(is_gone(child));
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let (place, run, child) = stubborn("twice");
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // The second signal is sent after the log shows the first one, because two signals at once may arrive as
    // one.
    let began = Instant::now();
    let log = place.path.join("run/manager.log");
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("interrupted")) {
        assert!(began.elapsed() < WATCHDOG);
        std::thread::yield_now();
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(finish(run).status.code(), Some(130));
    place.assert_all_gone();
    assert!(is_gone(child));
}

#[test]
fn an_interrupt_ends_the_run_in_order() {
    let place = Place::failing("interrupt", "wait");
    let run = place.start(&[]);
    place.wait_for_micro();
    rustix::process::kill_process(rustix::process::Pid::from_child(&run), rustix::process::Signal::INT)
        .unwrap();
    let output = finish(run);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(place.record()["state"], "interrupted");
    place.assert_all_gone();
}

#[test]
fn a_run_tells_who_waits_for_whom_and_can_be_stopped() {
    let place = Place::failing("status", "wait");
    let run = place.start(&[]);
    place.wait_for_micro();
    let state = place.wait_for(|json| json["instances"][0]["waits_for"] == "micro.out");
    assert_eq!(state["state"], "running");
    assert_eq!(state["instances"][0]["state"], "waiting to receive");
    assert!(text(&place.ask(&["status", "run"]).stdout).contains("micro.out"));
    assert!(text(&place.ask(&["logs", "run"]).stdout).contains("registered"));
    assert!(text(&place.ask(&["logs", "run", "micro"]).stdout).contains("last line of micro"));
    let unknown = place.ask(&["logs", "run", "nobody"]);
    assert!(unknown.status.code() == Some(2) && text(&unknown.stderr).contains("macro, micro"));
    let follow = place.command(&["logs", "-f", "run"]).stdout(Stdio::piped()).spawn().unwrap();

    assert_eq!(place.ask(&["stop", "run"]).status.code(), Some(0));
    assert_eq!(finish(run).status.code(), Some(1));
    place.assert_all_gone();
    assert!(text(&finish(follow).stdout).contains("the run is stopped"));
    let after = place.ask(&["stop", "run"]);
    assert!(after.status.code() == Some(1) && text(&after.stderr).contains("not running"));
    assert!(text(&place.ask(&["status", "run"]).stdout).contains("stopped"));
    let states: Vec<_> =
        place.record()["instances"].as_array().unwrap().iter().map(|i| i["state"].clone()).collect();
    assert_eq!(states, ["stopped", "stopped"]);
}

#[test]
fn an_instance_started_by_hand_joins_its_run() {
    let place = Place::failing("join", "never");
    let run = place.start(&["--manual", "micro"]);
    place.wait_for(|json| json["instances"][0]["waits_for"] == "micro.out");
    let refused = place.ask(&["join", "run", "macro"]);
    assert!(text(&refused.stderr).contains("--manual macro"), "{}", text(&refused.stderr));
    let shown = text(&place.ask(&["join", "run", "micro"]).stdout);
    assert!(shown.contains("export LIGAMENT_TOKEN='"), "{shown}");
    let joined = place.ask(&["join", "run", "micro", "--", peer().to_str().unwrap(), "micro"]);
    assert_eq!(joined.status.code(), Some(0), "{}", text(&joined.stderr));
    assert_eq!(finish(run).status.code(), Some(0));
    assert_eq!(place.record()["instances"][1]["state"], "done");
    let unknown = place.ask(&["run", "pair.ymmsl", "--manual", "mirco"]);
    assert!(unknown.status.code() == Some(2) && reason(&unknown).contains("\"micro\""));
}

#[test]
fn instances_die_with_a_manager_that_is_killed() {
    let place = Place::failing("lost", "wait");
    let run = place.start(&[]);
    place.wait_for_micro();
    let state = place.wait_for(|json| json["instances"][1]["state"] == "computing");
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    finish(run);
    let began = Instant::now();
    for instance in state["instances"].as_array().unwrap() {
        while !is_gone(instance["pid"].as_u64().unwrap()) {
            assert!(began.elapsed() < WATCHDOG, "{} outlives its manager", instance["name"]);
            std::thread::yield_now();
        }
    }
    // The guard records the reason.
    let record = place.wait_for(|json| json["state"] == "failed");
    let why = record["reason"].as_str().unwrap();
    assert!(why.contains("the process of the run itself") && why.contains("is gone"), "{why}");
    assert!(std::fs::read_to_string(place.path.join("run/manager.log")).unwrap().contains(why));
    assert!(!place.path.join("run/token").exists());
}

#[test]
fn json_is_one_object_that_says_whether_it_went_well() {
    for (way, ok, status) in [("never", true, 0), ("exit", false, 1)] {
        let place = Place::failing(&format!("json-{way}"), way);
        let output = place.run(&["--json"]);
        assert_eq!(output.status.code(), Some(status));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["ok"], ok);
        assert!(Path::new(json["directory"].as_str().unwrap()).is_absolute());
        assert_eq!(json["last_lines"].is_array(), !ok);
    }
}

#[test]
fn an_instance_that_never_registers_is_reported_with_its_last_error_and_what_to_do() {
    let sh = |text: &str| format!("{{executable: sh, args: [-c, {text:?}]}}");
    let traceback =
        "echo 'Traceback (most recent call last):\n  File x\nFileNotFoundError: [Errno 2] No such file or \
                     directory: '\\''mesh.txt'\\''\nlater' >&2; exit 1";
    let cases: [(&str, String, &[&str]); 6] = [
        (
            "python",
            "{executable: python3, args: [-I, -S, -c, import ligament]}".to_owned(),
            &["before it had registered: ModuleNotFoundError: No module named 'ligament'; /", "python3 ran it"],
        ),
        (
            "colours",
            sh("printf '\\033[31mERROR\\033[0m: \\033]0;title\\007too hot\\r\\n' >&2; exit 3"),
            &["with exit status 3 before it had registered: ERROR: too hot (ligament explain \
               exit-unregistered)"],
        ),
        (
            "input",
            sh(traceback),
            &[
                "its working directory is \
                                    /",
                "micro/workdir; name input files under \
                                                                  \"stage:\"",
            ],
        ),
        ("beside", sh("cat pair.ymmsl"), &["pair.ymmsl lies beside it: \"stage: {micro: pair.ymmsl}\""]),
        ("command", sh("exec no-such-mesher"), &["no-such-mesher is not in its PATH"]),
        ("signal", sh("echo 'error: bad mesh'; kill -ABRT $$"), &["before it had registered: error: bad mesh"]),
    ];
    for (test, micro, wanted) in cases {
        let place = Place::new(&format!("unregistered-{test}"), &micro);
        let output = place.run(&[]);
        assert_eq!(output.status.code(), Some(1));
        for wanted in wanted {
            assert!(reason(&output).contains(wanted), "{test}: {}", text(&output.stderr));
        }
        let why = place.record()["reason"].as_str().unwrap().to_owned();
        assert!(!why.contains('\x1b') && reason(&output).contains(&why), "{why}");
    }
}

#[test]
fn a_script_whose_interpreter_is_missing_says_which() {
    for (test, line, wanted) in [
        ("gone", "#!/no/such/python3", "names /no/such/python3, which is not there"),
        ("dos", "#!/bin/sh\\r", "carriage return"),
    ] {
        // `check` would find the mistake in a script file. A script in the model becomes a file only at the
        // start.
        let place = Place::new(&format!("interpreter-{test}"), &format!("{{script: [\"{line}\", exit 0]}}"));
        let output = place.run(&[]);
        assert!(reason(&output).contains(wanted), "{}", text(&output.stderr));
    }
}

#[test]
fn what_a_program_printed_is_shown_without_control_sequences_and_cut_and_kept_as_it_is() {
    let long = "x".repeat(5000);
    let place = Place::new(
        "control",
        &format!(
            "{{executable: sh, args: [-c, \"printf '\\\\033[2J\\\\377hidden\\\\rerror\\\\n{long}\\\\n'; \
                  exit 3\"]}}"
        ),
    );
    let output = place.run(&[]);
    let shown = text(&output.stderr);
    assert!(shown.contains("\n  error\n") && !shown.contains('\x1b'), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 1000), "{shown}");
    let kept = std::fs::read(place.path.join("run/instances/micro/output.log")).unwrap();
    assert!(kept.starts_with(b"\x1b[2J\xffhidden\rerror\n") && kept.len() > 5000);
    // A pipe gets the output unchanged.
    assert_eq!(place.ask(&["logs", "run", "micro"]).stdout, kept);
}

#[test]
fn a_full_conduit_in_a_circle_of_waits_is_widened() {
    let place = Place::with_model(
        "parks",
        "ymmsl_version: v0.1
model:
  name: pair
  components:
    flood: {implementation: flood, ports: {o_i: [many, first]}}
    drain: {implementation: drain, ports: {s: [many, first]}}
  conduits:
    flood.many: drain.many
    flood.first: drain.first
implementations:
  flood: {executable: PEER, args: [flood]}
  drain: {executable: PEER, args: [drain]}
ligament:
  budget: 2000
",
    );
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let log = std::fs::read_to_string(place.path.join("run/manager.log")).unwrap();
    assert!(log.contains("the budget of flood.many grows from 2.0 KiB to "), "{log}");
}

#[test]
fn instances_that_wait_for_each_other_in_vain_end_the_run_and_are_named() {
    let place = Place::with_model(
        "deadlock",
        "ymmsl_version: v0.1
model:
  name: pair
  components:
    a: {implementation: polite, ports: {s: in, o_i: out}}
    b: {implementation: polite, ports: {s: in, o_i: out}}
  conduits:
    a.out: b.in
    b.out: a.in
implementations:
  polite: {executable: PEER, args: [polite]}
",
    );
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let why = reason(&output);
    for part in
        ["deadlock: a waits at a.in for a message from b.out (for ", "b waits at b.in for a message from a.out"]
    {
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(place.record()["deadlock"][1]["waits_on"][0], "a");
    place.assert_all_gone();
}

/// Runs a model that sends one message of 8 MiB, with `memory` as the limit for all messages.
fn big_message(test: &str, memory: &str) -> (Place, Output) {
    let model = "ymmsl_version: v0.1
model:
  name: pair
  components:
    big: {implementation: big, ports: {o_f: out}}
    gulp: {implementation: gulp, ports: {f_init: in}}
  conduits:
    big.out: gulp.in
implementations:
  big: {executable: PEER, args: [big, '8388608']}
  gulp: {executable: PEER, args: [gulp, '8388608']}
ligament:
  memory: MEMORY
";
    let place = Place::with_model(test, &model.replace("MEMORY", memory));
    let output = place.run(&["--quiet"]);
    (place, output)
}

#[test]
fn a_message_that_the_runs_memory_does_not_hold_streams_through() {
    for memory in ["64 MiB", "6 MiB"] {
        let (place, output) = big_message(&memory.replace(' ', ""), memory);
        assert_eq!(output.status.code(), Some(0), "{memory}: {}", text(&output.stderr));
        place.assert_all_gone();
    }
}

#[test]
fn a_run_without_memory_for_its_messages_ends_with_that_reason() {
    let (place, output) = big_message("tiny", "64 kB");
    assert_eq!(output.status.code(), Some(1));
    let why = reason(&output);
    assert!(why.contains("big reported an error") && why.contains("no memory for"), "{why}");
    place.assert_all_gone();
}

#[test]
fn a_directory_of_the_users_own_is_no_run_directory_and_keeps_its_files() {
    let place = Place::failing("own", "none");
    let model = std::fs::read_to_string(place.path.join("pair.ymmsl")).unwrap();
    std::fs::rename(place.path.join("pair.ymmsl"), place.path.join("model.ymmsl")).unwrap();
    std::fs::write(place.path.join("settings.yaml"), "mine").unwrap();
    for how in [&[][..], &["--detach"]] {
        let mut arguments = vec!["run", "model.ymmsl", "--run-dir", "."];
        arguments.extend(how);
        let output = place.ask(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("holds files that are not a run's (model.ymmsl, settings.yaml)"), "{said}");
        assert!(said.contains("ligament explain directory-not-empty"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(place.path.join("model.ymmsl")).unwrap(), model);
    assert_eq!(std::fs::read_dir(&place.path).unwrap().count(), 2);
}

#[test]
fn a_run_leaves_a_foreign_latest_alone_and_takes_an_empty_directory() {
    let place = Place::failing("latest", "none");
    std::fs::create_dir(place.path.join("releases")).unwrap();
    std::fs::create_dir(place.path.join("run")).unwrap();
    std::os::unix::fs::symlink("releases", place.path.join("latest")).unwrap();
    let output = place.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_link(place.path.join("latest")).unwrap(), Path::new("releases"));
}

#[test]
fn a_submission_that_fails_moves_latest_nowhere_and_its_directory_can_be_used_again() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::failing("submission", "none");
    let bin = place.path.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let submit = |slurm: &str, directory: &[&str]| {
        let sbatch = bin.join("sbatch");
        std::fs::write(&sbatch, format!("#!/bin/sh\n{slurm}\n")).unwrap();
        std::fs::set_permissions(&sbatch, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut arguments = vec!["submit", "pair.ymmsl", "--detach"];
        arguments.extend(directory);
        let mut command = place.command(&arguments);
        finish(command.env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let latest = place.path.join("runs/latest");
    let failed = submit("echo not today >&2; exit 1", &[]);
    assert!(text(&failed.stderr).contains("not today"), "{}", text(&failed.stderr));
    assert!(latest.symlink_metadata().is_err());
    assert_eq!(submit("exit 1", &["--run-dir", "runs/mine"]).status.code(), Some(2));
    let done = submit("echo 17", &["--run-dir", "runs/mine"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(std::fs::read_link(&latest).unwrap(), Path::new("mine"));
    // The job runs this command.
    let ran = place.ask(&["run", "pair.ymmsl", "--run-dir", "runs/mine", "--quiet"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(place.path.join("runs/mine/job.json").exists());
}

#[test]
fn what_cannot_be_done_yet_is_refused_by_check_run_and_submit_alike_unless_it_may_be_left_out() {
    let place = Place::failing("notyet", "none");
    let file = place.path.join("pair.ymmsl");
    let model = std::fs::read_to_string(&file).unwrap();
    let refused = |model: &str, code: &str, more: &[&str]| {
        std::fs::write(&file, model).unwrap();
        for command in ["check", "run", "submit"] {
            let mut arguments = vec![command, "pair.ymmsl"];
            arguments.extend(more);
            let output = place.ask(&arguments);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(
                said.starts_with("pair.ymmsl:") && said.contains(&format!("[{code}]")),
                "{command}: {said}"
            );
        }
    };
    let filtered = model.replace("macro.out: micro.in", "macro.out: last micro.in");
    refused(&filtered, "timeline-mismatch", &["--ignore=checkpoints,resume,wait"]);
    let parked = format!("{model}ligament: {{wait: park}}\n");
    refused(&parked, "wait-not-yet", &["--ignore", "resume"]);
    assert!(!place.path.join("runs").exists(), "nothing was begun");
    let checked = place.ask(&["check", "pair.ymmsl", "--ignore", "resume", "--ignore", "wait"]);
    assert!(text(&checked.stdout).contains("1 warning; it can be run"), "{}", text(&checked.stdout));
    let ran = place.run(&["--ignore=resume,wait"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("it is ignored, as you have asked"), "{}", text(&ran.stderr));
}
