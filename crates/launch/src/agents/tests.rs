//! The commands of each launcher, word for word. `tests/launch` tests the behaviour of real launchers.

use super::*;
use std::time::Duration;

fn expected(names: &[&str]) -> Vec<ExpectedDomain> {
    let domains = names.iter().zip((1..).map(DomainId::new));
    domains
        .map(|(name, domain)| ExpectedDomain { domain, name: (*name).into(), ..ExpectedDomain::default() })
        .collect()
}

fn command() -> AgentCommand {
    AgentCommand {
        invitation: "/runs/r/invitation".into(),
        ligament: "/opt/lig ament/bin/ligament".into(),
        arguments: vec!["--scratch".into(), "$TMPDIR".into()],
        directory: "/runs/r".into(),
    }
}

fn words(kind: LauncherKind, site: &Site, names: &[&str]) -> Vec<Vec<String>> {
    let launcher = launcher(kind, site).unwrap();
    let starts = launcher.starts(&expected(names), &command()).unwrap();
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    starts.iter().map(|start| start.words.iter().map(text).collect()).collect()
}

#[test]
fn srun_starts_one_task_on_each_node_and_gives_the_invitation_to_all() {
    let starts = launcher(LauncherKind::Slurm, &Site::default()).unwrap();
    let starts = starts.starts(&expected(&["n2", "n3"]), &command()).unwrap();
    assert_eq!((starts.len(), starts[0].invitation_as_input), (1, true));
    assert_eq!(starts[0].domains, [1, 2].map(DomainId::new));
    assert_eq!(
        words(LauncherKind::Slurm, &Site::default(), &["n2", "n3"])[0].join("|"),
        "srun|--nodes=2|--ntasks=2|--ntasks-per-node=1|--nodelist=n2,n3|--distribution=block|--overlap|\
         --cpu-bind=none|--mem=0|--mpi=none|--kill-on-bad-exit=0|--wait=0|--input=all|--unbuffered|\
         --job-name=ligament-agents|/opt/lig ament/bin/ligament|agent|--join|-|--scratch|$TMPDIR"
    );
}

#[test]
fn ssh_never_asks_and_never_hangs_and_its_command_is_one_word_for_the_other_shell() {
    let site = Site {
        ssh_options: vec!["-p".into(), "2222".into()],
        start_within: Duration::from_secs(20),
        ..Site::default()
    };
    let all = words(LauncherKind::Ssh, &site, &["a", "me@b"]);
    assert_eq!(
        all[1][..all[1].len() - 1].join("|"),
        "ssh|-T|-o|BatchMode=yes|-o|ConnectTimeout=20|-o|ServerAliveInterval=30|-p|2222|--|me@b"
    );
    let script = "l='/opt/lig ament/bin/ligament'\n[ -x \"$l\" ] || l=ligament\n\
                  exec \"$l\" 'agent' '--join' '-' '--domain' '2' '--scratch' '$TMPDIR'";
    assert_eq!(all[1].last().unwrap(), &format!("exec '/bin/sh' '-c' {}", quote(script)));
    assert!(all.iter().flatten().all(|word| !word.contains("invitation")));
}

#[test]
fn what_a_site_wants_run_before_is_run_by_a_login_shell_and_its_failure_is_said() {
    let site = Site { modules: vec!["gcc".into()], commands: vec!["source it's.sh".into()], ..Site::default() };
    let shell = command().in_shell(&site.before(), Path::new("-"), Some(DomainId::new(1)));
    assert_eq!(shell[..2], ["bash", "-lc"]);
    assert!(shell[2].starts_with(
        "module load 'gcc'\n[ $? -eq 0 ] || { echo 'ligament: this line of the site failed: module load '"
    ));
    assert!(shell[2].contains("\nsource it's.sh\n[ $? -eq 0 ] ||"), "{}", shell[2]);
}

#[test]
fn a_ligament_that_is_only_a_name_is_found_by_path_there() {
    let command = AgentCommand { ligament: "ligament".into(), ..command() };
    let script = command.script(&[], Path::new("-"), None);
    assert_eq!(script, "exec 'ligament' 'agent' '--join' '-' '--scratch' '$TMPDIR'");
}

#[test]
fn pbs_and_lsf_start_agents_one_by_one_with_a_file_that_all_see() {
    let pbs = words(LauncherKind::Pbs, &Site::default(), &["h1", "h2"]);
    assert_eq!(pbs[1][..2], ["pbs_tmrsh", "h2"]);
    assert!(pbs[1][2].contains("/runs/r/invitation"), "{:?}", pbs[1]);
    assert_eq!(
        words(LauncherKind::Lsf, &Site::default(), &["h1"])[0].join("|"),
        "blaunch|-n|h1|/opt/lig ament/bin/ligament|agent|--join|/runs/r/invitation|--domain|1|--scratch|$TMPDIR"
    );
}

#[test]
fn host_files_and_options_are_as_each_mpi_has_them() {
    use crate::mpi::MpiFlavour;
    use mpirun::MpirunLauncher;
    let join = |words: Vec<OsString>| words.join(&OsString::from("|")).into_string().unwrap();
    let (hosts, options) = MpirunLauncher::options(MpiFlavour::OpenMpi, &expected(&["a", "b"]), "F");
    assert_eq!(hosts, "a slots=1\nb slots=1\n");
    assert_eq!(join(options), "--hostfile|F|--map-by|ppr:1:node|--bind-to|none|-n|2");
    let (hosts, options) = MpirunLauncher::options(MpiFlavour::Hydra, &expected(&["a", "b"]), "F");
    assert_eq!(hosts, "a:1\nb:1\n");
    assert_eq!(join(options), "-f|F|-ppn|1|-bind-to|none|-n|2");
}

#[test]
fn by_hand_each_machine_has_its_line() {
    assert!(launcher(LauncherKind::None, &Site::default()).is_none());
    assert_eq!(
        by_hand(&expected(&["a", "b"]), &command())[1],
        "on b: '/opt/lig ament/bin/ligament' agent --join /runs/r/invitation --domain 2 --scratch '$TMPDIR'"
    );
}

#[test]
fn domains_that_a_launcher_would_count_otherwise_are_refused() {
    let mut two = expected(&["a", "b"]);
    two.swap(0, 1);
    let error = launcher(LauncherKind::Slurm, &Site::default()).unwrap().starts(&two, &command()).unwrap_err();
    assert!(
        error.contains("counts agents from 2, and the agent on a is to be of domain 1 instead of 3"),
        "{error}"
    );
}

#[test]
fn agents_of_one_of_several_sites_are_counted_from_its_first_domain() {
    let third = |i: u32| ExpectedDomain {
        domain: DomainId::new(i + 3),
        name: format!("n{i}"),
        ..ExpectedDomain::default()
    };
    let three: Vec<ExpectedDomain> = (0..3).map(third).collect();
    let starts = launcher(LauncherKind::Slurm, &Site::default()).unwrap().starts(&three, &command()).unwrap();
    assert!(starts[0].words.contains(&"--first=3".into()), "{:?}", starts[0].words);
}
