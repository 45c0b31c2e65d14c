//! Starts agents by one `mpirun`, of Open MPI or of MPICH (Hydra), with a host file. Neither launcher
//! passes its input to all processes, so the invitation must be a file that is visible on all machines.

use super::{counted, AgentCommand, ExpectedDomain, Launcher, LauncherCommand};
use crate::mpi::MpiFlavour;
use crate::site::Site;
use ligament_catalogue::{fault, said, Fault};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

pub(super) struct MpirunLauncher {
    before: Vec<String>,
}

impl MpirunLauncher {
    pub(super) fn new(site: &Site) -> MpirunLauncher {
        MpirunLauncher { before: site.before() }
    }

    /// Returns the content of the host file, and the options that refer to `file`.
    pub(super) fn options(
        flavour: MpiFlavour,
        expected: &[ExpectedDomain],
        file: &str,
    ) -> (String, Vec<OsString>) {
        let mut hosts = String::new();
        for one in expected {
            let _ = match flavour {
                MpiFlavour::OpenMpi => writeln!(hosts, "{} slots=1", one.name),
                MpiFlavour::Hydra => writeln!(hosts, "{}:1", one.name),
            };
        }
        let count = expected.len().to_string();
        let options: Vec<&str> = match flavour {
            MpiFlavour::OpenMpi => {
                vec!["--hostfile", file, "--map-by", "ppr:1:node", "--bind-to", "none", "-n", &count]
            }
            MpiFlavour::Hydra => vec!["-f", file, "-ppn", "1", "-bind-to", "none", "-n", &count],
        };
        (hosts, options.into_iter().map(OsString::from).collect())
    }
}

impl Launcher for MpirunLauncher {
    fn name(&self) -> &'static str {
        "mpirun"
    }

    fn starts(
        &self,
        expected: &[ExpectedDomain],
        command: &AgentCommand,
    ) -> Result<Vec<LauncherCommand>, Fault> {
        if expected.is_empty() {
            return Ok(Vec::new());
        }
        let command = counted(command, expected, "mpirun")?;
        let file = command.directory.join("agents.hosts");
        let flavour = MpiFlavour::of(Path::new("mpirun")).map_err(|why| {
            fault!(AGENT_NOT_STARTED, "{why}; load the module of your MPI, or use the launcher ssh")
        })?;
        let (hosts, options) = MpirunLauncher::options(flavour, expected, &file.to_string_lossy());
        std::fs::write(&file, hosts).map_err(|error| {
            fault!(HOSTS_NOT_UNDERSTOOD, "the host file {} cannot be written: {error}", file.display())
        })?;
        let mut words = vec!["mpirun".into()];
        words.extend(options);
        words.extend(command.in_shell(&self.before, &command.invitation, None).map(OsString::from));
        let nodes: Vec<&str> = expected.iter().map(|one| one.name.as_str()).collect();
        let domains = expected.iter().map(|one| one.domain).collect();
        let what = said!(AGENT_NOT_STARTED, "the agents on {}", nodes.join(", "));
        Ok(vec![LauncherCommand { words, invitation_as_input: false, domains, what }])
    }
}
