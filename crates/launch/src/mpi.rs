//! Programs that are started with MPI: this module puts the launcher's command line around the program's
//! own. The launchers are those of the machine. Only their command lines are known here, so the rest of
//! Ligament needs no MPI.
//!
//! All processes of an instance run on the machine of its agent, unless the instance has several nodes. The
//! options tell the launcher to do so, and not to bind processes to cores, because it would begin at core 0
//! for each instance. Rank 0 always runs on the machine of the agent.

use crate::command::{beside, Command, NodeShare};
use crate::environment::Environment;
use crate::launched_program::{find_in, is_executable};
use crate::terminal_text::last_lines;
use ligament_catalogue::{fault, Fault};
use ligament_model::{ExecutionModel, Program, Resources};
use ligament_wire::control::{ENV_IDENTITY, ENV_RANKS};
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

/// Beginning of the path of the directory in which Open MPI's processes of a run have their shared memory.
const SEGMENTS_PREFIX: &str = "/dev/shm/ligament-mpi-";
/// The variables that name this directory: of Open MPI 4 and of Open MPI 5.
const SEGMENTS_VARIABLES: [&str; 2] =
    ["OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"];

/// The kind of a launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MpiFlavour {
    /// Open MPI.
    OpenMpi,
    /// Hydra: MPICH and Intel MPI.
    Hydra,
}

impl MpiFlavour {
    /// Returns the kind of a launcher, from the launcher's own version text.
    ///
    /// # Errors
    /// The launcher cannot be started, or prints an unknown text. The error is the beginning of a sentence,
    /// without advice.
    pub(crate) fn of(launcher: &Path) -> Result<MpiFlavour, Fault> {
        let name = launcher.display();
        let output = std::process::Command::new(launcher).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|error| fault!(MPI_LAUNCHER, "{name} cannot be started: {error}"))?;
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if said.contains("Open MPI") || said.contains("OpenRTE") {
            return Ok(MpiFlavour::OpenMpi);
        }
        if said.contains("HYDRA") || said.contains("MPICH") || said.contains("Intel(R) MPI") {
            return Ok(MpiFlavour::Hydra);
        }
        let first = last_lines(said.as_bytes(), usize::MAX).into_iter().next().unwrap_or_default();
        Err(fault!(MPI_LAUNCHER, "{name} is neither Open MPI's nor MPICH's (it says \"{first}\")"))
    }
}

/// The resources of a program in MPI's terms.
struct RankLayout {
    processes: usize,
    threads: usize,
    /// Number of nodes, if the model sets it.
    nodes: Option<usize>,
}

impl RankLayout {
    fn of(resources: Resources) -> RankLayout {
        match resources {
            Resources::Threads { threads } => RankLayout { processes: 1, threads, nodes: None },
            Resources::MpiProcesses { mpi_processes, threads_per_mpi_process } => {
                RankLayout { processes: mpi_processes, threads: threads_per_mpi_process, nodes: None }
            }
            Resources::MpiNodes { nodes, mpi_processes_per_node, threads_per_mpi_process } => RankLayout {
                processes: nodes.saturating_mul(mpi_processes_per_node),
                threads: threads_per_mpi_process,
                nodes: Some(nodes),
            },
        }
    }
}

/// A program that may be started with MPI.
pub(crate) struct MpiProgram<'a> {
    pub program: &'a Program,
    pub resources: Resources,
    /// The nodes over which the program's processes are spread. Empty if all processes are on this node.
    pub nodes: &'a [NodeShare],
    /// True if a shell loads modules first, and then looks up the launcher.
    pub in_shell: bool,
}

impl MpiProgram<'_> {
    /// Returns the words that precede the program on its command line and start it with MPI. Returns no words
    /// for a program without MPI. Sets the variables that the launcher needs.
    ///
    /// # Errors
    /// There is no such launcher, or it belongs to another MPI than the model says; or the instance needs
    /// several nodes, and the run has none to give.
    pub fn launcher(&self, environment: &mut Environment) -> Result<Vec<OsString>, Fault> {
        if !self.program.execution_model.is_mpi() {
            return Ok(Vec::new());
        }
        for name in told_by_launchers(environment) {
            environment.remove(&name);
        }
        let ranks = RankLayout::of(self.resources);
        environment.set_default("OMP_NUM_THREADS", ranks.threads.to_string());
        environment.set(ENV_RANKS, ranks.processes.to_string());
        let launcher = find(self.program, environment, self.in_shell)?;
        let options = match self.program.execution_model {
            ExecutionModel::SrunMpi => srun(self.program, &ranks, self.nodes, environment)?,
            _ => self.mpirun(&ranks, &launcher, environment)?,
        };
        let launcher = std::iter::once(launcher.into_os_string());
        Ok(launcher.chain(options.into_iter().map(OsString::from)).collect())
    }

    fn mpirun(
        &self,
        ranks: &RankLayout,
        launcher: &Path,
        environment: &mut Environment,
    ) -> Result<Vec<String>, Fault> {
        let &MpiProgram { program, nodes, .. } = self;
        let name = &program.name;
        if let Some(wanted) = ranks.nodes.filter(|&wanted| wanted > 1 && nodes.is_empty()) {
            return Err(fault!(
                MPI_LAUNCHER,
                "\"{name}\" asks for {wanted} nodes, and this run has one machine; begin it in a job with as \
                many nodes, or with --hosts, or ask for mpi_processes"
            ));
        }
        let wanted = match program.execution_model {
            ExecutionModel::OpenMpi => MpiFlavour::OpenMpi,
            _ => MpiFlavour::Hydra,
        };
        let found = if launcher.is_absolute() {
            MpiFlavour::of(launcher).map_err(|why| {
                fault!(MPI_LAUNCHER, "{why}; load the module of the MPI that \"{name}\" was built with")
            })?
        } else {
            // A module provides the launcher.
            wanted
        };
        if found != wanted {
            let (other, advice) = match found {
                MpiFlavour::OpenMpi => ("Open MPI's", "write \"execution_model: openmpi\""),
                MpiFlavour::Hydra => ("MPICH's or Intel MPI's", "write \"mpich: NAME\" under \"ligament:\""),
            };
            return Err(fault!(
                MPI_LAUNCHER,
                "\"{name}\" is to be started by {}, and {} is {other}; {advice} if the program was built with \
                that, or name the right command in \"mpirun:\" under \"ligament:\"",
                program.execution_model.name(),
                launcher.display()
            ));
        }
        let count = ranks.processes.to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        if !nodes.is_empty() {
            return Ok(over_nodes(program, nodes, found, environment));
        }
        Ok(match found {
            MpiFlavour::OpenMpi => {
                // Within a Slurm job, the launcher would start its processes by srun. The run itself ends
                // remaining processes, so srun need not wait for them.
                for (variable, value) in [
                    ("OMPI_MCA_plm", "^slurm"),
                    ("OMPI_MCA_ras", "^slurm"),
                    ("PRTE_MCA_plm", "^slurm"),
                    ("PRTE_MCA_ras", "^slurm"),
                    ("OMPI_MCA_odls_base_sigkill_timeout", "0"),
                ] {
                    environment.set_default(variable, value);
                }
                for variable in SEGMENTS_VARIABLES {
                    environment.set_default(variable, segments());
                }
                // The options give the launcher as many slots as processes, so it does not notice that
                // processes share cores.
                if std::thread::available_parallelism().is_ok_and(|cores| ranks.processes > cores.get()) {
                    environment.set_default("OMPI_MCA_mpi_yield_when_idle", "1");
                }
                words(&["-n", &count, "--host", &format!("localhost:{count}"), "--bind-to", "none"])
            }
            MpiFlavour::Hydra => {
                environment.set_default("I_MPI_PIN", "0");
                words(&["-launcher", "fork", "-rmk", "user", "-bind-to", "none", "-n", &count])
            }
        })
    }
}

/// Returns the directory for the shared memory of Open MPI's processes on this machine. Open MPI chooses
/// the files' names, and leaves the files behind if its processes are killed. The directory belongs to this
/// run alone, so the guard can remove it with all its content.
fn segments() -> &'static str {
    static SEGMENTS: OnceLock<String> = OnceLock::new();
    SEGMENTS.get_or_init(|| {
        // Several containers may share /dev/shm, and each has its own process numbers.
        let chance = RandomState::new().build_hasher().finish();
        format!("{SEGMENTS_PREFIX}{}-{chance:016x}", std::process::id())
    })
}

/// Returns true if a variable names the directory of a run's shared memory, which ends with the run.
pub fn names_segments(name: &str, value: &str) -> bool {
    SEGMENTS_VARIABLES.contains(&name) && value.starts_with(SEGMENTS_PREFIX)
}

/// Returns the directory for shared memory that `segments` gave to a command.
pub(crate) fn segments_of(command: &Command) -> Option<PathBuf> {
    let named = SEGMENTS_VARIABLES.iter().find_map(|name| command.environment.get(name)?.to_str());
    named.filter(|path| path.starts_with(SEGMENTS_PREFIX)).map(PathBuf::from)
}

/// Returns the number of ranks that a command starts, if the command is an MPI launcher.
pub(crate) fn ranks_of(command: &Command) -> Option<usize> {
    command.environment.get(ENV_RANKS)?.to_str()?.parse().ok()
}

/// Returns the program itself and its arguments, whether the program is started with MPI or directly.
pub(crate) fn own_words(command: &Command) -> Vec<OsString> {
    // The words before the program are the launcher's options, and no option is a path. The program has a
    // full path.
    let started = command.environment.get(ENV_RANKS).and_then(|_| {
        let is_path = |word: &OsString| word.as_bytes().starts_with(b"/");
        let at = command.arguments.iter().position(is_path)?;
        Some(command.arguments[at..].to_vec())
    });
    started.unwrap_or_else(|| {
        let program = command.program.clone().into_os_string();
        std::iter::once(program).chain(command.arguments.iter().cloned()).collect()
    })
}

/// Returns the variables in which a launcher gives its processes their ranks. If a launcher started the
/// agent, the agent has such variables, and the instance must not inherit them.
fn told_by_launchers(environment: &Environment) -> Vec<String> {
    let told = |name: &str| {
        let of_open_mpi = name.starts_with("OMPI_")
            && !name.starts_with("OMPI_MCA_")
            && !name.starts_with("OMPI_ALLOW_RUN_AS_ROOT");
        of_open_mpi
            || ["PMIX_", "PMI_", "HYDI_", "HYDRA_", "MPI_LOCAL"].iter().any(|begin| name.starts_with(begin))
    };
    environment
        .iter()
        .filter_map(|(name, _)| name.to_str())
        .filter(|name| told(name))
        .map(str::to_owned)
        .collect()
}

/// Returns the launcher's file, or only its name if a shell will look it up.
fn find(program: &Program, environment: &Environment, in_shell: bool) -> Result<PathBuf, Fault> {
    let usual = if program.execution_model == ExecutionModel::SrunMpi { "srun" } else { "mpirun" };
    let wanted = program.mpirun.as_deref().unwrap_or(usual);
    let found = if wanted.contains('/') {
        Some(beside(program, wanted)).filter(|path| is_executable(path))
    } else if in_shell {
        Some(wanted.into())
    } else {
        find_in(environment.get("PATH").unwrap_or_default(), wanted)
    };
    found.ok_or_else(|| {
        fault!(
            MPI_LAUNCHER,
            "the command \"{wanted}\", which starts \"{}\" with MPI ({}), is not there; install it, load its \
            module under \"modules:\", or name another in \"mpirun: {{{}: COMMAND}}\" under \"ligament:\"",
            program.name,
            program.execution_model.name(),
            program.name
        )
    })
}

/// Returns the options of an mpirun that starts processes on several nodes: by `srun` within a job of
/// Slurm, else by ssh.
fn over_nodes(
    program: &Program,
    nodes: &[NodeShare],
    found: MpiFlavour,
    environment: &mut Environment,
) -> Vec<String> {
    let count = nodes.iter().map(|node| u64::from(node.processes)).sum::<u64>().to_string();
    let hosts: Vec<String> = nodes.iter().map(|node| format!("{}:{}", node.name, node.processes)).collect();
    let hosts = hosts.join(",");
    // The processes start on these nodes of the job, although other steps, such as agents, run on them.
    environment.set_default("SLURM_OVERLAP", "1");
    match found {
        MpiFlavour::OpenMpi => {
            for (variable, value) in [
                ("OMPI_MCA_ras", "^slurm"),
                ("PRTE_MCA_ras", "^slurm"),
                ("OMPI_MCA_odls_base_sigkill_timeout", "0"),
            ] {
                environment.set_default(variable, value);
            }
            let mut words = vec!["-n".to_owned(), count, "--host".to_owned(), hosts];
            words.extend(["--bind-to", "none", "--map-by", "slot"].map(str::to_owned));
            // Slurm passes on all other variables, but ssh does not. A process other than rank 0 that makes
            // an `Instance` is informed of its rank.
            let own = program.env.keys().map(|name| name.trim_start_matches('+'));
            for name in own.chain(ENV_IDENTITY).chain(["OMP_NUM_THREADS"]) {
                words.extend(["-x".to_owned(), name.to_owned()]);
            }
            words
        }
        MpiFlavour::Hydra => {
            environment.set_default("I_MPI_PIN", "0");
            let by = if environment.get("SLURM_JOB_ID").is_some() { "slurm" } else { "ssh" };
            let words = ["-launcher", by, "-rmk", "user", "-bind-to", "none", "-hosts", &hosts, "-n", &count];
            words.map(str::to_owned).to_vec()
        }
    }
}

fn srun(
    program: &Program,
    ranks: &RankLayout,
    nodes: &[NodeShare],
    environment: &Environment,
) -> Result<Vec<String>, Fault> {
    let of_slurm = |name: &str| environment.get(name).map(OsStr::to_string_lossy).map(String::from);
    if of_slurm("SLURM_JOB_ID").is_none() {
        return Err(fault!(
            MPI_LAUNCHER,
            "\"{}\" is to be started by srun, and this is no job of Slurm; begin the run with \"ligament \
            submit\" or in a job, or use another execution_model",
            program.name
        ));
    }
    let mut words = vec![
        format!("--ntasks={}", ranks.processes),
        format!("--cpus-per-task={}", ranks.threads),
        "--overlap".to_owned(),
        "--cpu-bind=none".to_owned(),
        "--kill-on-bad-exit=1".to_owned(),
        "--input=none".to_owned(),
    ];
    if let Some(first) = nodes.first() {
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        words.extend([format!("--nodes={}", nodes.len()), format!("--nodelist={}", names.join(","))]);
        if nodes.iter().all(|node| node.processes == first.processes) {
            words.push(format!("--ntasks-per-node={}", first.processes));
        }
        return Ok(words);
    }
    match (ranks.nodes, of_slurm("SLURMD_NODENAME")) {
        (Some(nodes), _) => words.push(format!("--nodes={nodes}")),
        (None, Some(here)) => words.extend(["--nodes=1".to_owned(), format!("--nodelist={here}")]),
        (None, None) => words.push("--nodes=1".to_owned()),
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::Reference;
    use std::os::unix::fs::PermissionsExt;

    /// A directory with launchers that print the name of their MPI.
    struct LauncherFixture(PathBuf);

    impl LauncherFixture {
        fn new(test: &str) -> LauncherFixture {
            let path = std::env::temp_dir().join(format!("ligament-mpi-{}-{test}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            for (launcher, says) in [
                ("open/mpirun", "mpirun (Open MPI) 4.1"),
                ("hydra/mpirun", "HYDRA build details"),
                ("odd/mpirun", "?"),
            ] {
                let file = path.join(launcher);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            LauncherFixture(path)
        }

        fn around(
            &self,
            launcher: &str,
            model: ExecutionModel,
            resources: Resources,
        ) -> Result<Command, Fault> {
            self.around_on(launcher, model, resources, &[])
        }

        fn around_on(
            &self,
            launcher: &str,
            model: ExecutionModel,
            resources: Resources,
            nodes: &[NodeShare],
        ) -> Result<Command, Fault> {
            let mut program = Program::new(Reference::new("flow").unwrap());
            program.execution_model = model;
            let mut environment = Environment::default();
            environment.set("PATH", self.0.join(launcher).into_os_string());
            environment.set("OMPI_COMM_WORLD_RANK", "1");
            environment.set("OMPI_MCA_btl", "self");
            let mpi = super::MpiProgram { program: &program, resources, nodes, in_shell: false };
            let mut words = mpi.launcher(&mut environment)?;
            words.extend(["/flow".into(), "-v".into()]);
            let path = self.0.clone();
            Ok(Command {
                program: words.remove(0).into(),
                arguments: words,
                environment,
                directory: path.clone(),
                output: path,
                cores: Vec::new(),
            })
        }
    }

    impl Drop for LauncherFixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const FOUR_PROCESSES: Resources = Resources::MpiProcesses { mpi_processes: 4, threads_per_mpi_process: 2 };

    fn said(command: &Command) -> String {
        let words: Vec<_> = command.arguments.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn each_mpi_is_told_how_many_processes_there_are_and_that_it_binds_none() {
        let ground = LauncherFixture::new("each");
        let open = ground.around("open", ExecutionModel::OpenMpi, FOUR_PROCESSES).unwrap();
        assert_eq!(open.program, ground.0.join("open/mpirun"));
        assert_eq!(said(&open), "-n 4 --host localhost:4 --bind-to none /flow -v");
        assert_eq!(own_words(&open), ["/flow", "-v"]);
        for model in [ExecutionModel::Mpich, ExecutionModel::IntelMpi] {
            let hydra = ground.around("hydra", model, FOUR_PROCESSES).unwrap();
            assert_eq!(said(&hydra), "-launcher fork -rmk user -bind-to none -n 4 /flow -v");
            assert_eq!(hydra.environment.get("OMP_NUM_THREADS").unwrap(), "2");
        }
        let direct = ground.around("nowhere", ExecutionModel::Direct, FOUR_PROCESSES).unwrap();
        assert_eq!(own_words(&direct), ["/flow", "-v"]);
        assert_eq!((direct.program, direct.arguments), ("/flow".into(), vec!["-v".into()]));
    }

    #[test]
    fn what_a_launcher_has_told_the_agent_is_not_told_to_the_instance() {
        let open =
            LauncherFixture::new("told").around("open", ExecutionModel::OpenMpi, FOUR_PROCESSES).unwrap();
        assert_eq!(open.environment.get("OMPI_COMM_WORLD_RANK"), None);
        assert_eq!(open.environment.get("OMPI_MCA_btl").unwrap(), "self");
        assert_eq!(open.environment.get("OMPI_MCA_plm").unwrap(), "^slurm");
        assert_eq!(open.environment.get(ENV_RANKS).unwrap(), "4");
    }

    #[test]
    fn a_launcher_that_is_missing_or_another_s_is_refused_by_name() {
        let ground = LauncherFixture::new("refused");
        let why = |launcher, model, resources| ground.around(launcher, model, resources).unwrap_err();
        assert!(why("nowhere", ExecutionModel::OpenMpi, FOUR_PROCESSES).contains("is not there; install it"));
        assert!(why("hydra", ExecutionModel::OpenMpi, FOUR_PROCESSES).contains("MPICH's or Intel MPI's"));
        assert!(why("open", ExecutionModel::Mpich, FOUR_PROCESSES).contains("is Open MPI's"));
        assert!(why("odd", ExecutionModel::OpenMpi, FOUR_PROCESSES)
            .contains("neither Open MPI's nor MPICH's (it says \"?\")"));
        let nodes = Resources::MpiNodes { nodes: 2, mpi_processes_per_node: 2, threads_per_mpi_process: 1 };
        assert!(why("open", ExecutionModel::OpenMpi, nodes).contains("asks for 2 nodes"));
    }

    #[test]
    fn each_launcher_is_told_the_nodes_that_the_run_has_given() {
        let ground = LauncherFixture::new("nodes");
        let share = |name: &str, processes| NodeShare { name: name.into(), processes };
        let nodes = [share("n1", 3), share("n3", 1)];
        let open = ground.around_on("open", ExecutionModel::OpenMpi, FOUR_PROCESSES, &nodes).unwrap();
        let words =
            "-n 4 --host n1:3,n3:1 --bind-to none --map-by slot -x LIGAMENT_AGENT -x LIGAMENT_INSTANCE -x \
            LIGAMENT_TOKEN -x LIGAMENT_RANKS -x OMP_NUM_THREADS /flow -v";
        assert_eq!(said(&open), words);
        assert_eq!(open.environment.get("OMPI_MCA_plm"), None, "others are started by srun");
        let hydra = ground.around_on("hydra", ExecutionModel::Mpich, FOUR_PROCESSES, &nodes).unwrap();
        assert_eq!(said(&hydra), "-launcher ssh -rmk user -bind-to none -hosts n1:3,n3:1 -n 4 /flow -v");
        let mut environment = Environment::default();
        environment.set("SLURM_JOB_ID", "7");
        let program = Program::new(Reference::new("flow").unwrap());
        let words = |nodes: &[NodeShare]| {
            srun(&program, &RankLayout::of(FOUR_PROCESSES), nodes, &environment).unwrap().join(" ")
        };
        assert!(words(&nodes).ends_with("--nodes=2 --nodelist=n1,n3"));
        assert!(words(&[share("n1", 2), share("n2", 2)]).ends_with("--nodelist=n1,n2 --ntasks-per-node=2"));
    }

    #[test]
    fn srun_is_told_all_but_only_within_a_job() {
        let ranks = RankLayout::of(Resources::MpiNodes {
            nodes: 2,
            mpi_processes_per_node: 3,
            threads_per_mpi_process: 4,
        });
        let program = Program::new(Reference::new("flow").unwrap());
        let mut environment = Environment::default();
        assert!(srun(&program, &ranks, &[], &environment).unwrap_err().contains("no job of Slurm"));
        environment.set("SLURM_JOB_ID", "7");
        environment.set("SLURMD_NODENAME", "n1");
        let words = srun(&program, &ranks, &[], &environment).unwrap().join(" ");
        assert!(
            words.starts_with("--ntasks=6 --cpus-per-task=4 --overlap") && words.ends_with("--nodes=2"),
            "{words}"
        );
        let words = srun(&program, &RankLayout::of(FOUR_PROCESSES), &[], &environment).unwrap().join(" ");
        assert!(words.starts_with("--ntasks=4") && words.ends_with("--nodes=1 --nodelist=n1"), "{words}");
    }
}
