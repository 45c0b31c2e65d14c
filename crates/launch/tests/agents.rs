//! Tests of starting agents, with scripts in place of ssh, srun and the like. The tests check the arguments
//! that these commands get, their failures, and that none of their processes remain. `tests/launch` tests real
//! commands.

use ligament_catalogue::Fault;
use ligament_launch::agents::{launcher, AgentCommand, AgentProcesses, ExpectedDomain};
use ligament_launch::site::{LauncherKind, Site};
use ligament_wire::DomainId;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time limit of each wait. No test here takes that long.
const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(60);

/// A script that plays a launcher. It writes its arguments and its input into files beside itself, which have
/// its name, and then executes the file `NAME.play`.
const ACTOR_SCRIPT: &str = r#"#!/bin/sh
here=${0%/*}
name=${0##*/}
{ for word in "$@"; do printf '%s\n' "$word"; done; } > "$here/$name.words.$$"
cat > "$here/$name.input.$$"
mv "$here/$name.words.$$" "$here/$name.words"
mv "$here/$name.input.$$" "$here/$name.input"
. "$here/$name.play"
"#;

/// Returns a directory with a script for each launcher. It is made once for all tests of this file, and is the
/// first directory in PATH.
fn stage() -> &'static Path {
    static ACTOR_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    ACTOR_DIRECTORY.get_or_init(|| {
        let stage = std::env::temp_dir().join(format!("ligament-agents-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&stage);
        std::fs::create_dir_all(&stage).unwrap();
        for (name, play) in [
            ("ssh", "echo 'ssh: connect to host east port 22: Connection refused' >&2; exit 255\n"),
            ("srun", "exec sleep 1000\n"),
            ("blaunch", "trap '' TERM; echo $$ > \"$here/blaunch.pid\"; while :; do sleep 1000; done\n"),
            ("pbs_tmrsh", "exit 0\n"),
            ("mpirun", "case $1 in --version) echo 'mpirun (Open MPI) 4.1.4'; exit 0;; esac\nkill -9 $$\n"),
        ] {
            std::fs::write(stage.join(format!("{name}.play")), play).unwrap();
            // Another process writes the script. If this process did, a process that another test forks
            // meanwhile would keep the file open for writing, and the script could not be executed.
            let status = Command::new("sh")
                .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", ACTOR_SCRIPT])
                .arg(stage.join(name))
                .status();
            assert!(status.unwrap().success());
        }
        std::fs::write(stage.join("invitation"), "the key\n").unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        std::env::set_var("PATH", format!("{}:{path}", stage.display()));
        stage
    })
}

fn start(kind: LauncherKind, names: &[&str]) -> Result<AgentProcesses, Fault> {
    let stage = stage();
    let directory = stage.join(format!("run-{}", kind.name()));
    std::fs::create_dir_all(&directory).unwrap();
    let expected: Vec<ExpectedDomain> = names
        .iter()
        .zip((1..).map(DomainId::new))
        .map(|(name, domain)| ExpectedDomain { domain, name: (*name).into(), ..ExpectedDomain::default() })
        .collect();
    let command = AgentCommand {
        invitation: stage.join("invitation"),
        ligament: "ligament".into(),
        arguments: Vec::new(),
        directory,
    };
    AgentProcesses::start(launcher(kind, &Site::default()).unwrap().as_ref(), &expected, &command)
}

fn until<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(began.elapsed() < WATCHDOG_TIMEOUT, "it takes too long");
        std::thread::yield_now();
    }
}

fn said(file: &str) -> String {
    until(|| std::fs::read_to_string(stage().join(file)).ok())
}

#[test]
fn a_machine_that_refuses_is_named_with_what_ssh_said() {
    let mut agents = start(LauncherKind::Ssh, &["east"]).unwrap();
    let lost = until(|| agents.ended().pop());
    assert_eq!(lost.domains, [DomainId::new(1)]);
    assert_eq!(
        lost.why.text(),
        "the agent on east: not reached; ssh said: ssh: connect to host east port 22: Connection refused"
    );
    assert!(agents.ended().is_empty(), "it is told once");
    assert_eq!(said("ssh.input"), "the key\n");
    assert!(!said("ssh.words").contains("the key"));
}

#[test]
fn srun_gets_the_invitation_as_its_input_and_is_ended_with_the_run() {
    let mut agents = start(LauncherKind::Slurm, &["n2", "n3"]).unwrap();
    assert_eq!(said("srun.input"), "the key\n");
    assert!(said("srun.words").contains("\n--nodelist=n2,n3\n"));
    assert!(agents.ended().is_empty());
    agents.stop();
    assert!(agents.ended().is_empty());
}

#[test]
fn one_that_does_not_heed_is_killed() {
    let agents = start(LauncherKind::Lsf, &["h1"]).unwrap();
    let pid: u32 = until(|| said("blaunch.pid").trim().parse().ok());
    drop(agents);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(said("blaunch.words").lines().take(3).collect::<Vec<_>>(), ["-n", "h1", "ligament"]);
    assert_eq!(said("blaunch.input"), "");
}

#[test]
fn one_that_ends_without_a_word_is_told_all_the_same() {
    let mut agents = start(LauncherKind::Pbs, &["h1"]).unwrap();
    let lost = until(|| agents.ended().pop());
    assert_eq!(lost.why.text(), "the agent on h1: ended; pbs_tmrsh said nothing");
}

#[test]
fn mpirun_is_asked_whose_it_is_and_its_death_takes_all_agents() {
    let mut agents = start(LauncherKind::Mpirun, &["a", "b"]).unwrap();
    let lost = until(|| agents.ended().pop());
    assert_eq!(lost.domains, [1, 2].map(DomainId::new));
    assert!(lost.why.starts_with("the agents on a, b: ended by SIGKILL"), "{}", lost.why);
    let hosts = std::fs::read_to_string(stage().join("run-mpirun/agents.hosts")).unwrap();
    assert_eq!(hosts, "a slots=1\nb slots=1\n");
}
