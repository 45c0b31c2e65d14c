//! The state of a process of a run, as the kernel reports it in `/proc`.

/// The state of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessState {
    /// True if a signal (SIGSTOP, Ctrl-Z) or a debugger has stopped the process.
    pub stopped: bool,
    pub threads: u64,
    /// The kernel's state of the process in words. Example: `waiting for a device`.
    pub doing: &'static str,
}

/// Reads the state of a process. Returns `None` if no process has this number.
pub fn process_state(pid: u32) -> Option<ProcessState> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat` (proc(5)). The program's name is in parentheses and may contain any character,
/// so the fields begin after the last closing parenthesis.
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
