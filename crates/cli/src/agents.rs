//! `ligament agents`: the program of a run's job at one of several sites. It waits until the jobs at the
//! other sites run, then starts an agent on each of its nodes, and ends when the agents have ended.

use ligament_catalogue::{fault, Fault};
use ligament_launch::agents::{self, launcher, AgentCommand, ExpectedDomain};
use ligament_launch::site::{find_site, Site};
use ligament_launch::{all_machines, own_command, MachineList};
use ligament_wire::DomainId;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two checks whether the jobs at the other sites run, and whether agents have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum time without a sign of the run's head, as a multiple of `--patience`. The head gives a sign every
/// few seconds.
const MAX_MISSED_SIGNS: u32 = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct SiteAgents {
    /// The invitation to the run; beside it appears the file `begin` when all jobs run, and `watched` is
    /// touched as long as somebody looks after this one.
    #[arg(long, value_name = "FILE")]
    join: PathBuf,
    /// The domain of the first node.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    first: u32,
    /// The number of nodes that the run counts on.
    #[arg(long, value_name = "N")]
    nodes: u32,
    /// The site's file.
    #[arg(long, value_name = "FILE")]
    site: String,
    #[command(flatten)]
    relaying: crate::relay::RelayOptions,
    /// For how long the head may be cut off before these domains end.
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds, default_value = "60s")]
    patience: Duration,
}

/// Takes part in a run with all nodes of this job. Returns the exit status.
pub(crate) fn agents(arguments: &SiteAgents) -> i32 {
    let status = match await_others(arguments).and_then(|()| nodes(arguments)) {
        Ok(status) => status,
        Err(why) => {
            crate::complain(&why);
            crate::FAILED
        }
    };
    // The head normally removes the keys, and may be gone. So this job removes them, too: the key of a relay
    // would open the relay to other runs.
    let own = arguments.relaying.relay.iter().filter(|relay| relay.parent() == arguments.join.parent());
    for key in own.chain([&arguments.join]) {
        let _ = std::fs::remove_file(key);
    }
    status
}

/// Waits until the jobs at all sites run. Fails if the head gives no sign for too long, so that the job does
/// not keep its nodes for nothing.
fn await_others(arguments: &SiteAgents) -> Result<(), Fault> {
    let directory = arguments.join.parent().unwrap_or(Path::new("."));
    let (begin, watched) = (directory.join("begin"), directory.join("watched"));
    let signs = MAX_MISSED_SIGNS * arguments.patience;
    // The time is measured by this machine's clock, because the clock of the file server may differ.
    let (mut last, mut since) = (None, Instant::now());
    loop {
        // Reading the directory makes a shared file system refresh its cached contents.
        let _ = std::fs::read_dir(directory).map(Iterator::count);
        if !arguments.join.exists() {
            return Err(fault!(HEAD_GONE, "the run is over: its invitation is gone; this job ends"));
        }
        if begin.exists() {
            return Ok(());
        }
        let touched = std::fs::metadata(&watched).and_then(|file| file.modified()).ok();
        if touched != last {
            (last, since) = (touched, Instant::now());
        }
        if since.elapsed() > signs {
            return Err(fault!(
                HEAD_GONE,
                "the head of the run has not looked after this job for {} s, and the jobs at other sites have \
                 not all begun; it ends",
                signs.as_secs()
            ));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Starts an agent on each node, and waits until all agents have ended.
fn nodes(arguments: &SiteAgents) -> Result<i32, Fault> {
    let site = find_site(&arguments.site)?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let all = all_machines(&site, None, &|name| std::env::var(name).ok(), &host)?;
    if all.nodes.len() != arguments.nodes as usize {
        return Err(fault!(
            CANNOT_JOIN,
            "the run counts on {} nodes at the site {}, and the job has {}",
            arguments.nodes,
            site.name,
            all.nodes.len()
        ));
    }
    if all.nodes.len() == 1 && all.here == Some(0) {
        return Ok(one(arguments, &site, all.nodes[0].cores));
    }
    several(arguments, &site, all)
}

/// Runs the agent in this process, because the job has only one node.
fn one(arguments: &SiteAgents, site: &Site, cores: Option<u32>) -> i32 {
    crate::agent::agent(&crate::arguments::Agent {
        join: arguments.join.clone(),
        domain: Some(arguments.first),
        first: 1,
        cores,
        cores_of_job: false,
        scratch: site.scratch.as_ref().map(PathBuf::from),
        listening: crate::spread_options::ListenOptions {
            listen: site.interface.clone(),
            ports: site.ports.clone(),
        },
        relaying: crate::relay::RelayOptions {
            relay: arguments.relaying.relay.clone(),
            jump: site.jump.clone(),
            jump_option: site.jump.iter().flat_map(|_| site.ssh_options.clone()).collect(),
        },
        linking: crate::spread_options::LinkOptions { streams: site.streams, pace: site.pace },
        patience: arguments.patience,
        quiet: false,
        launched: false,
        of_job: true,
    })
}

fn several(arguments: &SiteAgents, site: &Site, all: MachineList) -> Result<i32, Fault> {
    let launcher = launcher(all.launcher, site).ok_or_else(|| {
        fault!(
            AGENT_NOT_STARTED,
            "the site {} has the launcher \"none\", and this job several nodes",
            site.name
        )
    })?;
    let domains = (arguments.first..).map(DomainId::new);
    let one = |(node, domain): (ligament_launch::ComputeNode, DomainId)| ExpectedDomain {
        domain,
        name: node.name,
        cores: node.cores,
        ..ExpectedDomain::default()
    };
    let expected: Vec<ExpectedDomain> = all.nodes.into_iter().zip(domains).map(one).collect();
    let mut words = ["--quiet", "--launched", "--of-job", "--cores-of-job"].map(str::to_owned).to_vec();
    let mut tell = |option: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    };
    tell("--scratch", site.scratch.clone());
    tell("--listen", site.interface.clone());
    tell("--ports", site.ports.as_ref().map(|ports| format!("{}-{}", ports.start(), ports.end())));
    tell("--patience", Some(format!("{}s", arguments.patience.as_secs_f64())));
    tell("--jump", site.jump.clone());
    for option in site.jump.iter().flat_map(|_| &site.ssh_options) {
        tell("--jump-option", Some(option.clone()));
    }
    tell("--streams", site.streams.map(|streams| streams.to_string()));
    tell("--pace", site.pace.map(|pace| pace.to_string()));
    for relay in &arguments.relaying.relay {
        tell("--relay", Some(relay.display().to_string()));
    }
    let command = AgentCommand {
        invitation: arguments.join.clone(),
        ligament: site.ligament_here().unwrap_or_else(own_command),
        arguments: words,
        directory: arguments.join.parent().unwrap_or(Path::new(".")).to_path_buf(),
    };
    let mut running = agents::AgentProcesses::start(launcher.as_ref(), &expected, &command)?;
    let mut left = expected.len();
    while left > 0 {
        for lost in running.ended() {
            if !lost.in_order {
                return Err(lost.why);
            }
            left -= lost.domains.len().min(left);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(crate::DONE)
}
