//! `ligament submit --site A --site B`: a run with one job at each site. The head is a process of its own on
//! this machine. `run_jobs` provides its agents, `keeper` watches each job, `job_wait` decides if the jobs of
//! all sites run, and `leftover_jobs` cancels jobs whose head is gone.

mod job_wait;
mod keeper;
mod leftover_jobs;
mod run_jobs;

pub(crate) use leftover_jobs::{cancel as cancel_left, left};

use crate::arguments::print;
use crate::detach;
use crate::spread_options::ListenOptions;
use crate::submit::{size_for, Submit};
use crate::summary::{tell, SummaryStyle};
use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::{Job, JobSystem};
use ligament_launch::own_command;
use ligament_launch::site::{Site, Walltime};
use ligament_launch::{needs, DomainCapacity, PlacementOptions, ResourceNeed};
use ligament_link::{Key, Options};
use ligament_manager::RunDirectory;
use ligament_model::ResolvedModel;
use ligament_net::{Route, Station};
use ligament_runtime::client::SiteJob;
use ligament_runtime::{run_over, DomainSpread, ExpectedDomain, RunOptions, Show, Terminal};
use ligament_wire::DomainId;
use run_jobs::RunJobs;
use rustix::fs::Mode;
use rustix::process::umask;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Default time that a job waits for jobs at other sites. If half of the shortest job's time is less, that time
/// is used.
const WAIT: Duration = Duration::from_secs(30 * 60);

/// Maximum time to reach a relay before the run is submitted.
const RELAY_ANSWERS: Duration = Duration::from_secs(5);

/// How a run at several sites comes together.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "At several sites")]
pub(crate) struct SitesOptions {
    /// For how long a job that has begun waits for those at the other sites, before it gives its nodes back
    /// [default: 30min, or half of the shortest job's time if that is less].
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds)]
    pub wait_for_others: Option<Duration>,
    /// The number of times that a job that has waited so long queues again; then the run ends [default: 2].
    #[arg(long, value_name = "N")]
    pub queue_again: Option<u32>,
    #[command(flatten)]
    pub listening: ListenOptions,
    #[command(flatten)]
    pub relaying: crate::relay::RelayOptions,
    /// For how long a site may be cut off, or silent, before the run is given up [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = crate::spread_options::seconds)]
    pub patience: Option<Duration>,
}

impl SitesOptions {
    /// Returns the name of a given option that has no meaning for a single site, if there is one.
    pub fn given(&self) -> Option<&'static str> {
        let ListenOptions { listen, ports } = &self.listening;
        let all = [
            (self.wait_for_others.is_some(), "--wait-for-others"),
            (self.queue_again.is_some(), "--queue-again"),
            (self.patience.is_some(), "--patience"),
            (listen.is_some(), "--listen"),
            (ports.is_some(), "--ports"),
            (!self.relaying.relay.is_empty(), "--relay"),
            (self.relaying.jump.is_some(), "--jump"),
        ];
        all.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }

    fn waiting(&self, parts: &[SiteShare]) -> Result<job_wait::JobWaitLimits, Fault> {
        let times = parts.iter().filter_map(|part| Some((part.time?, part.site.name.as_str())));
        let wait = wait(self.wait_for_others, times.min_by_key(|(time, _)| *time))?;
        Ok(job_wait::JobWaitLimits { wait, again: self.queue_again.unwrap_or(2) })
    }

    /// Returns the maximum silence of a domain before the run is given up.
    fn silence(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_secs(60))
    }
}

/// Returns the time that jobs wait for each other. Fails if it is not less than the time of the shortest job.
/// `shortest` has this time and the name of its site.
fn wait(asked: Option<Duration>, shortest: Option<(Walltime, &str)>) -> Result<Duration, Fault> {
    match (asked, shortest) {
        (Some(wait), Some((time, site))) if wait.as_secs() >= time.0 => Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "--wait-for-others is {} s, and the job at {site} may take {} s (its time): it would be over \
             before it has waited so long; let it wait less, or give it more time (--time, or time: in the \
             site's file)",
            wait.as_secs(),
            time.0
        )),
        (Some(wait), _) => Ok(wait),
        (None, shortest) => {
            let half = shortest.map_or(WAIT, |(time, _)| Duration::from_secs(time.0) / 2);
            Ok(half.min(WAIT))
        }
    }
}

/// The part of a run at one site.
pub(crate) struct SiteShare {
    pub site: Site,
    pub nodes: u32,
    /// Number of cores on each node. `None` if the job has whole nodes.
    cores: Option<u32>,
    time: Option<Walltime>,
    /// Number of the domain of the job's first node. The domains of its other nodes have the numbers after
    /// it.
    first: u32,
    /// Names and texts of the files beside the job's script: the site's file and the files of relays.
    pub files: Vec<File>,
    /// Names of the relay files in `files` over which the agents of this site connect, nearest first.
    relays: Vec<String>,
}

impl SiteShare {
    /// Returns the numbers of the domains at this site.
    pub fn domains(&self) -> impl Iterator<Item = DomainId> {
        (self.first..self.first + self.nodes).map(DomainId::new)
    }

    fn expected(&self) -> impl Iterator<Item = ExpectedDomain> + '_ {
        let one = |(i, domain): (usize, DomainId)| {
            let node = self.site.hosts.get(i);
            ExpectedDomain {
                domain,
                name: node.map_or_else(String::new, |node| node.name.clone()),
                cores: node.and_then(|node| node.cores),
                site: Some(self.site.name.clone()),
                agent_cores: self.site.agent_cores,
            }
        };
        self.domains().enumerate().map(one)
    }
}

/// Returns the job for one site. Its files are in `place`.
fn part_job(part: &SiteShare, run: &str, place: &Path, silence: Duration) -> Job {
    let site = &part.site;
    let there = |name: &str| place.join(name).display().to_string();
    let own = || own_command().display().to_string();
    let mut command = vec![site.ligament.clone().unwrap_or_else(own), "agents".to_owned()];
    command.extend([
        "--join".into(),
        there("invitation"),
        "--site".into(),
        there(&format!("{}.yaml", site.name)),
    ]);
    command.extend(["--first".into(), part.first.to_string(), "--nodes".into(), part.nodes.to_string()]);
    command.extend(["--patience".into(), format!("{}s", silence.as_secs_f64())]);
    command.extend(part.relays.iter().flat_map(|relay| ["--relay".to_owned(), there(relay)]));
    Job {
        run: run.to_owned(),
        directory: place.to_path_buf(),
        from: place.to_path_buf(),
        nodes: part.nodes,
        cores: part.cores,
        time: part.time,
        does: "The run's part at this site: waits until the others run too, then starts an agent on each node.",
        command,
    }
}

/// Divides a run into its parts at the sites: nodes and domains of each.
fn parts(arguments: &Submit, sites: Vec<Site>, model: &ResolvedModel) -> Result<Vec<SiteShare>, Fault> {
    let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(fault!(WORD_OF_THE_COMMAND_LINE, "the site {name} is given twice"));
        }
    }
    if let Some(one) = arguments.account.as_ref().or(arguments.partition.as_ref()) {
        return Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "\"{one}\" cannot be meant for several sites: write \"account:\" and \"partition:\" into their \
             files"
        ));
    }
    if let Some(other) = arguments
        .nodes
        .iter()
        .filter_map(|nodes| nodes.site.as_ref())
        .find(|site| !names.contains(&site.as_str()))
    {
        return Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "--nodes: the site {other} is none of {}",
            names.join(", ")
        ));
    }
    if let Some((name, place)) =
        model.ligament.place.iter().find(|(_, place)| !names.contains(&place.domain.as_str()))
    {
        return Err(fault!(
            DOMAIN_UNKNOWN,
            "\"{name}\" is placed in \"{}\"; in a run at several sites things are placed at one of them: {}",
            place.domain,
            names.join(", ")
        ));
    }
    let rooms: Vec<DomainCapacity> = sites
        .iter()
        .map(|site| DomainCapacity {
            name: site.name.clone(),
            cores: 0,
            reserved: 0,
            site: Some(site.name.clone()),
        })
        .collect();
    let all = needs(model, &rooms, &|_| None)?;
    let options = PlacementOptions::of(&model.ligament);
    let mut first = 1;
    let mut parts = Vec::new();
    for site in sites {
        let own: Vec<ResourceNeed> =
            all.iter().filter(|need| need.site.as_deref() == Some(&site.name)).cloned().collect();
        if own.is_empty() {
            return Err(fault!(
                NODES_UNKNOWN,
                "nothing runs at the site {0}: place something there, in the model or with --on {0}=NAME, or \
                 leave the site out",
                site.name
            ));
        }
        let wanted = arguments.nodes_at(&site.name);
        let hosts = u32::try_from(site.hosts.len()).unwrap_or(u32::MAX);
        let (nodes, cores) = match hosts {
            0 => size_for(&site, &|_| Ok(own.clone()), wanted, (options, model.instances.len()))?,
            hosts => (hosts, None),
        };
        let (files, relays) = files_of(&site)?;
        let time = arguments.time.or(site.time);
        parts.push(SiteShare { site, nodes, cores, time, first, files, relays });
        first += nodes;
    }
    Ok(parts)
}

/// Name and text of a file.
type File = (String, String);

/// Returns the files that the job at a site needs in addition to its script, and the names of the relay files
/// among them.
fn files_of(site: &Site) -> Result<(Vec<File>, Vec<String>), Fault> {
    let mut files = Vec::new();
    let text =
        site.file.as_ref().map(std::fs::read_to_string).transpose().map_err(|error| {
            fault!(SITE_UNKNOWN, "the file of the site {} cannot be read: {error}", site.name)
        })?;
    files.push((format!("{}.yaml", site.name), text.unwrap_or_default()));
    let mut relays = Vec::new();
    for (i, relay) in site.relays.iter().enumerate() {
        let name = format!("{i}.relay");
        files.push((name.clone(), Station::read(relay)?.to_text().to_string()));
        relays.push(name);
    }
    Ok((files, relays))
}

/// Returns the route from the head to other domains: the relays of the command line, or else the last relay of
/// the first site with relays. The domains of all sites meet at this relay.
fn way(arguments: &Submit, parts: &[SiteShare]) -> Result<Option<Arc<Route>>, Fault> {
    let own = &arguments.together.relaying;
    let mut meeting = Site::default();
    meeting.relays.extend(parts.iter().find_map(|part| part.site.relays.last().cloned()));
    own.way(&meeting, true)
}

/// Checks, before any job is submitted, that the relays work: the head connects to itself over them. Fails if
/// the connection is not made.
fn meets_itself(way: &Route) -> Result<(), Fault> {
    let stations = way.stations().to_vec();
    let Some(last) = stations.last().filter(|_| !way.has_gate()) else { return Ok(()) };
    let at = last.at.join(" or ");
    let (key, options) = (Key::make(), Options { stations, patience: RELAY_ANSWERS, ..Options::default() });
    let met = ligament_link::Path::listen(&key, "127.0.0.1:0", &options).and_then(|one| {
        let other = ligament_link::Path::open(&key, &[], &options)?;
        other.wait_connected(None).map(|()| drop(one))
    });
    met.map_err(|why| {
        fault!(
            RELAY_UNUSABLE,
            "the head cannot be met at the relay {at}: {why}; look whether it runs there, and with this file. \
             Nothing was submitted"
        )
    })
}

/// Submits a run to several sites. Returns the exit status.
pub(crate) fn submit(arguments: &Submit, sites: Vec<Site>, model: &ResolvedModel, model_text: String) -> i32 {
    let refuse = |error: &Fault| crate::fail(arguments.json, error, crate::BAD_USE);
    let parts = match parts(arguments, sites, model) {
        Ok(parts) => parts,
        Err(error) => return refuse(&error),
    };
    let patience = match arguments.together.waiting(&parts) {
        Ok(patience) => patience,
        Err(error) => return refuse(&error),
    };
    if arguments.dry_run {
        return dry_run(arguments, &parts, model);
    }
    let way = match way(arguments, &parts) {
        Ok(way) => way,
        Err(error) => return refuse(&error),
    };
    if let Err(error) = way.as_ref().map_or(Ok(()), |way| meets_itself(way)) {
        return refuse(&error);
    }
    let begun =
        detach::begin(arguments.run_dir.as_deref(), &model.name, arguments.json, |directory, terminal| {
            carry_out(arguments, (&parts, patience), model, model_text, way, directory, terminal)
        });
    let (run, pid) = match begun {
        Ok(begun) => begun,
        Err(status) => return status,
    };
    let jobs = SiteJob::all_of(&run);
    if arguments.json {
        let json = serde_json::json!({
            "ok": true, "run": run.name(), "directory": run.path().display().to_string(), "pid": pid,
            "sites": jobs,
        });
        print(&format!("{json}\n"));
        return crate::DONE;
    }
    let jobs: Vec<String> =
        jobs.iter().map(|job| format!("{} at {} ({})", job.job, job.site, nodes(job.nodes))).collect();
    crate::say(&format!("{}: submitted as jobs {}; {}", run.name(), jobs.join(", "), run.path().display()));
    if arguments.detach {
        return crate::DONE;
    }
    crate::say(&crate::attach::how_to_leave(&run, true));
    crate::attach::show(&run, None, false)
}

fn nodes(count: u32) -> String {
    if count == 1 {
        "1 node".to_owned()
    } else {
        format!("{count} nodes")
    }
}

fn dry_run(arguments: &Submit, parts: &[SiteShare], model: &ResolvedModel) -> i32 {
    let run = format!("{}-{}", model.name, ligament_manager::UtcTime::now().compact());
    let directory = arguments.run_dir.clone().unwrap_or_else(|| PathBuf::from("runs").join(&run));
    let script = |part: &SiteShare| {
        let directory = std::path::absolute(&directory).unwrap_or_else(|_| directory.clone());
        let mut shell = ligament_launch::site::SiteShell::at(&part.site);
        let place = keeper::place(part, &run, &directory, &mut shell)?;
        let job = part_job(part, &run, Path::new(&place), arguments.together.silence());
        Ok((part.site.name.clone(), job.script(&part.site, JobSystem::of(&part.site))))
    };
    match parts.iter().map(script).collect::<Result<Vec<_>, Fault>>() {
        Err(error) => crate::fail(arguments.json, &error, crate::FAILED),
        Ok(scripts) if arguments.json => {
            let one = |(site, script): &(String, String)| serde_json::json!({ "site": site, "script": script });
            let scripts: Vec<_> = scripts.iter().map(one).collect();
            print(&format!("{}\n", serde_json::json!({ "ok": true, "dry_run": true, "sites": scripts })));
            crate::DONE
        }
        Ok(scripts) => {
            scripts.iter().for_each(|(site, script)| print(&format!("# ---- {site} ----\n{script}\n")));
            crate::DONE
        }
    }
}

/// Makes the run. This process becomes the run's head. Returns the exit status of the run.
fn carry_out(
    arguments: &Submit,
    (parts, patience): (&[SiteShare], job_wait::JobWaitLimits),
    model: &ResolvedModel,
    model_text: String,
    way: Option<Arc<Route>>,
    directory: PathBuf,
    terminal: Terminal,
) -> i32 {
    ligament_launch::adopt_orphans();
    let for_group = arguments.sharing.share.is_some();
    if for_group {
        let group = Mode::RGRP | Mode::XGRP;
        let before = umask(Mode::empty());
        umask(before - group);
    }
    let together = &arguments.together;
    let started = match &terminal {
        Terminal::None(line) => Some(line.clone()),
        Terminal::EndsRun | Terminal::MayGo => None,
    };
    let mut agents = RunJobs::new(parts, patience, together.silence(), started);
    let options = RunOptions {
        directory: Some(directory),
        show: Show::Nothing,
        terminal,
        model_files: arguments.models.clone(),
        settings: arguments
            .settings
            .iter()
            .filter_map(|set| Some(set.split_once('=')?.0.trim().into()))
            .collect(),
        model_text,
        for_group,
        ..RunOptions::default()
    };
    let spread = DomainSpread {
        expected: parts.iter().flat_map(SiteShare::expected).collect(),
        listen: together.listening.listen(),
        way,
        encrypt: true,
        join_timeout: parts.iter().map(|part| part.site.start_within).max().unwrap_or_default(),
        patience: together.silence(),
        name: None,
        // The machine of the head runs no instances.
        cores: Some(0),
        // The site files tell how many cores of each node are reserved for agents.
        agent_cores: None,
        streams: None,
        pace: None,
        place: PlacementOptions::of(&model.ligament),
        agents: &mut agents,
    };
    match run_over(model, options, None, Some(spread)) {
        Ok(result) => {
            agents.in_order = true;
            tell(&RunDirectory::open(&result.directory), &result.record, SummaryStyle::Errors)
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_job_waits_for_others_until_it_is_over() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let of = |minutes: u64| Some((Walltime(60 * minutes), "a"));
        assert_eq!(wait(None, None), Ok(minutes(30)));
        assert_eq!(wait(None, of(600)), Ok(minutes(30)));
        assert_eq!(wait(None, of(10)), Ok(minutes(5)), "half of its time is left");
        assert_eq!(wait(Some(minutes(9)), of(10)), Ok(minutes(9)));
        assert_eq!(wait(Some(minutes(90)), None), Ok(minutes(90)));
        let why = wait(Some(minutes(10)), of(10)).unwrap_err();
        assert!(why.contains("--wait-for-others is 600 s, and the job at a may take 600 s"), "{why}");
    }
}
