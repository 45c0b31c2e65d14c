//! The kernel's view of a process that takes part in a run.

/// A process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessState {
    /// Stopped by a signal (SIGSTOP, Ctrl-Z) or held by a debugger.
    pub stopped: bool,
    pub threads: u64,
    /// The kernel's state of the process, in a word.
    pub doing: &'static str,
}

/// Reads the state of a process. `None` if no process has this number.
pub fn process_state(pid: u32) -> Option<ProcessState> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat` (proc(5)). The program's name stands in parentheses and may hold any character.
fn parse(stat: &str) -> Option<ProcessState> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let doing = match *fields.first()? {
        "R" => "running",
        "D" => "waiting for a device",
        "T" | "t" => "stopped",
        "Z" | "X" => "ended",
        _ => "sleeping",
    };
    Some(ProcessState { stopped: doing == "stopped", threads: fields.get(17)?.parse().ok()?, doing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_misleads_nobody() {
        let stat = "42 (a) R 9 (b) T 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 100 0 0";
        assert_eq!(parse(stat), Some(ProcessState { stopped: true, threads: 3, doing: "stopped" }));
        assert_eq!(parse("42 (a) S 1"), None);
    }

    #[test]
    fn this_process_runs() {
        assert!(!process_state(std::process::id()).unwrap().stopped);
        assert!(process_state(std::process::id()).unwrap().threads > 0);
    }
}
