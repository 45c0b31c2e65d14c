//! `ligament submit`: submits a run as a job of a batch system. Runs at several sites are in `sites`.

use crate::arguments::print;
use crate::places::Places;
use ligament_analysis::{CheckOptions, Files};
use ligament_catalogue::{fault, Fault};
use ligament_launch::jobs::{self, Job, JobSystem};
use ligament_launch::own_command;
use ligament_launch::site::{find_site, Site, Walltime};
use ligament_launch::{needs, place, reserved, DomainCapacity, PlacementOptions, ResourceNeed};
use ligament_manager::{RunDirectory, UtcTime};
use ligament_model::ResolvedModel;
use ligament_runtime::client::JobRecord;
use std::path::{Path, PathBuf};

/// Maximum number of nodes that are requested without `--nodes`.
const MAX_NODES: u32 = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Submit {
    /// Model files in yMMSL; later ones add to earlier ones.
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Set a setting, over those of the model; may be given several times.
    #[arg(short, long = "setting", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// The site to run at: its name, or its file. Without one, the Slurm of this machine. Given several times,
    /// the run has a job at each of these sites.
    #[arg(long, value_name = "SITE")]
    pub site: Vec<String>,
    /// On how many nodes, of each site or of one; without it, on as many as the model's resources need, if the
    /// site says how many cores each has, else on one.
    #[arg(long, value_name = "[SITE=]N", value_parser = node_count)]
    pub nodes: Vec<NodeCount>,
    /// How long the job may take, such as 1:30:00 or 90min.
    #[arg(long, value_name = "TIME", value_parser = walltime)]
    pub time: Option<Walltime>,
    /// The account that pays.
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// The partition to run in.
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    #[command(flatten)]
    pub asks: crate::job_requests::JobRequests,
    /// If an instance, a machine or a link dies, go on within the job from the last checkpoint, at most this
    /// many times [default: `restarts` of the model, or 0].
    #[arg(long, value_name = "N")]
    pub restarts: Option<u32>,
    /// Record all that passes between these instances (or all instances of a component) and the run, for
    /// `ligament replay`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub record: Vec<String>,
    /// The run directory [default: runs/<model>-<time>].
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Which model to run, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print the script, and submit nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Show how the job and then the run go, until the end; Ctrl-C ends only the showing. This is the default.
    #[arg(long, conflicts_with = "detach")]
    pub follow: bool,
    /// Submit, and do not wait.
    #[arg(long)]
    pub detach: bool,
    /// Print the job as JSON, and do not wait.
    #[arg(long, conflicts_with = "follow")]
    pub json: bool,
    #[command(flatten)]
    pub ignore: crate::check::Ignore,
    #[command(flatten)]
    pub sharing: crate::places::ShareOptions,
    #[command(flatten)]
    pub places: Places,
    #[command(flatten)]
    pub together: crate::sites::SitesOptions,
    #[command(flatten)]
    pub limits: crate::limits::Limits,
    /// The site is here, though its file says how to reach it: what `submit` calls at the other end.
    #[arg(long, hide = true)]
    pub at_site: bool,
}

/// A number of nodes, for the site `site` or, without a name, for each site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeCount {
    pub site: Option<String>,
    pub count: u32,
}

fn node_count(text: &str) -> Result<NodeCount, Fault> {
    let (site, count) =
        text.split_once('=').map_or((None, text), |(site, count)| (Some(site.trim().to_owned()), count));
    match count.trim().parse() {
        Ok(count @ 1..) => Ok(NodeCount { site, count }),
        _ => Err(fault!(WORD_OF_THE_COMMAND_LINE, "\"{count}\" is no number of nodes; write 2, or big=2")),
    }
}

impl Submit {
    /// Returns the number of nodes from `--nodes` for a site. A value with the name of the site takes
    /// precedence over a value without a name. The last of several such values counts.
    pub fn nodes_at(&self, site: &str) -> Option<u32> {
        let named = |named: bool| {
            let mut of = self.nodes.iter().rev().filter(|one| one.site.is_some() == named);
            of.find(|one| one.site.as_deref().is_none_or(|name| name == site)).map(|one| one.count)
        };
        named(true).or_else(|| named(false))
    }
}

impl Submit {
    /// Returns the options about restarts and recordings, as `ligament run` has them, too.
    pub fn restart_words(&self) -> Vec<String> {
        let restarts = self.restarts.map(|restarts| format!("--restarts={restarts}"));
        restarts.into_iter().chain(self.record.iter().map(|name| format!("--record={name}"))).collect()
    }
}

fn walltime(text: &str) -> Result<Walltime, Fault> {
    Walltime::parse(text).ok_or_else(|| fault!(WORD_OF_THE_COMMAND_LINE, "write for example 1:30:00 or 90min"))
}

/// Submits a run. Returns the exit status.
pub(crate) fn submit(arguments: &Submit) -> i32 {
    let refuse = |error: &Fault| crate::fail(arguments.json, error, crate::BAD_USE);
    let mut sites = match arguments.site.iter().map(|site| find_site(site)).collect::<Result<Vec<_>, _>>() {
        Ok(sites) => sites,
        Err(error) => return refuse(&error),
    };
    let several = sites.len() > 1;
    if let Some(option) = arguments.together.given().filter(|_| !several) {
        return refuse(&fault!(
            WORD_OF_THE_COMMAND_LINE,
            "{option} is for a run at several sites; give \"--site\" for each of them, or leave it out"
        ));
    }
    if let Some(option) = arguments.restart_words().first().filter(|_| several) {
        return refuse(&fault!(
            WORD_OF_THE_COMMAND_LINE,
            "{option}: a run at several sites is neither restarted nor recorded; resume it by hand, or leave \
             the option out"
        ));
    }
    if sites.is_empty() {
        sites.push(Site::default());
    }
    if let Err(error) = arguments.asks.add_to(&mut sites) {
        return refuse(&error);
    }
    let mut site = if several { Site::default() } else { sites.pop().unwrap_or_default() };
    site.account = arguments.account.clone().or(site.account);
    site.partition = arguments.partition.clone().or(site.partition);
    let elsewhere = site.ssh.is_some() && !arguments.at_site;
    // Modules of the site may add programs to PATH that are not there now, so no files are looked for.
    let files =
        if several || elsewhere || !site.before().is_empty() { Files::Elsewhere } else { Files::MustExist };
    let mut limits = arguments.limits.options();
    arguments.places.add_to(&mut limits);
    let model = arguments.model.as_deref();
    let options = CheckOptions { limits, files, ignore: arguments.ignore.set(), ..CheckOptions::default() };
    let mut report = match crate::check::read(&arguments.models, &arguments.settings, model, options) {
        Ok(report) => report,
        Err(error) => return refuse(&error),
    };
    crate::say_lines(&report.to_text());
    let found = report.is_ok().then(|| report.resolved.take()).flatten();
    let Some(model) = found else {
        if arguments.json {
            print(&format!("{}\n", report.to_json()));
        }
        return crate::BAD_USE;
    };
    if several {
        return crate::sites::submit(arguments, sites, &model, report.configuration.to_yaml());
    }
    if elsewhere {
        return crate::remote::submit(&site, arguments, &model.name, &report.configuration.to_yaml());
    }
    match prepare(arguments, &site, &model).and_then(|prepared| carry_out(arguments, &site, &prepared)) {
        Ok(status) => status,
        Err(error) => refuse(&error),
    }
}

/// Values of a job that are computed before the job is written and submitted.
struct PreparedJob {
    model: String,
    now: UtcTime,
    nodes: u32,
    cores: Option<u32>,
}

fn prepare(arguments: &Submit, site: &Site, model: &ResolvedModel) -> Result<PreparedJob, Fault> {
    let (nodes, cores) = size(arguments, site, model)?;
    Ok(PreparedJob { model: model.name.clone(), now: UtcTime::now(), nodes, cores })
}

/// Returns the number of nodes, and the number of cores on each. The second number is `None` if the job has
/// whole nodes.
fn size(arguments: &Submit, site: &Site, model: &ResolvedModel) -> Result<(u32, Option<u32>), Fault> {
    // The model places instances on machines by name, and the names of the job's machines are unknown until the
    // job runs.
    let by_number = model.ligament.place.values().all(|place| place.domain.parse::<u32>().is_ok());
    match (arguments.nodes_at(&site.name), site.cores_per_node) {
        (wanted, Some(cores)) if !by_number => match wanted {
            Some(nodes) => Ok((nodes, (!site.whole_nodes).then_some(cores))),
            None => Err(fault!(
                NODES_UNKNOWN,
                "the model places instances on machines by their names, so how many nodes it needs cannot be \
                 worked out; say it with --nodes"
            )),
        },
        (wanted, _) => {
            let of = |rooms: &[DomainCapacity]| needs(model, rooms, &|_| None);
            let options = PlacementOptions::of(&model.ligament);
            size_for(site, &of, wanted, (options, model.instances.len()))
        }
    }
}

/// A function that returns the cores that a model needs on the given machines.
pub(crate) type Needs<'a> = &'a dyn Fn(&[DomainCapacity]) -> Result<Vec<ResourceNeed>, Fault>;

/// Returns the number of nodes, and of cores on each, for the part of a model at a site. There are `wanted`
/// nodes, or as many as the part needs.
pub(crate) fn size_for(
    site: &Site,
    needs: Needs<'_>,
    wanted: Option<u32>,
    (options, instances): (PlacementOptions, usize),
) -> Result<(u32, Option<u32>), Fault> {
    let Some(cores) = site.cores_per_node else {
        return Ok((wanted.unwrap_or(1), None));
    };
    let reserved = reserved(site.agent_cores, cores);
    let room =
        |i: u32| DomainCapacity { name: format!("node {i}"), cores, reserved, site: Some(site.name.clone()) };
    let fits = |nodes: u32| -> Result<u32, Fault> {
        let rooms: Vec<DomainCapacity> = (0..nodes).map(room).collect();
        let placed = place(&needs(&rooms)?, &rooms, options)?;
        let mut used = vec![0; rooms.len()];
        let given = placed.cores.iter().flatten();
        given.for_each(|(domain, cores)| used[domain.index()] = used[domain.index()].max(last(cores)));
        Ok(used.into_iter().max().unwrap_or(0).max(1))
    };
    let (nodes, used) = match wanted {
        Some(nodes) => (nodes, fits(nodes)?),
        None => {
            let most = u32::try_from(instances).unwrap_or(u32::MAX).saturating_add(64).min(MAX_NODES);
            let mut tried = Err(fault!(NODES_UNKNOWN, "the model has no instances"));
            let nodes = (1..=most).find(|&nodes| {
                tried = fits(nodes);
                tried.is_ok()
            });
            (nodes.unwrap_or(most), tried?)
        }
    };
    Ok((nodes, (!site.whole_nodes).then_some(used)))
}

/// Returns the highest of these core numbers, plus 1.
fn last(cores: &[u32]) -> u32 {
    cores.iter().max().map_or(0, |last| last + 1)
}

fn carry_out(arguments: &Submit, site: &Site, prepared: &PreparedJob) -> Result<i32, Fault> {
    if arguments.dry_run {
        let name = format!("{}-{}", prepared.model, prepared.now.compact());
        let directory = arguments.run_dir.clone().unwrap_or_else(|| Path::new("runs").join(name));
        let directory = std::path::absolute(&directory)
            .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", directory.display()))?;
        let script =
            job(arguments, site, prepared, &RunDirectory::open(directory))?.script(site, JobSystem::Slurm);
        if arguments.json {
            print(&format!("{}\n", serde_json::json!({ "ok": true, "dry_run": true, "script": script })))
        } else {
            print(&script)
        }
        return Ok(crate::DONE);
    }
    let run = RunDirectory::prepare(arguments.run_dir.as_deref(), &prepared.model, prepared.now)?;
    let job = job(arguments, site, prepared, &run)?;
    if let Some(file) = &site.file {
        // The job may begin days later, and the site file may change until then. So its present content is
        // copied.
        let text = std::fs::read_to_string(file).map_err(|error| {
            fault!(SITE_UNKNOWN, "the site file {} cannot be read: {error}", file.display())
        })?;
        run.write(&format!("{}.yaml", site.name), &text)?;
    }
    run.write("job.sh", &job.script(site, JobSystem::Slurm))?;
    let number = jobs::submit(&run.path().join("job.sh"))?;
    let record = JobRecord::new(number, &site.name);
    record.write(&run)?;
    if arguments.json {
        let mut json = record.to_json();
        json["ok"] = true.into();
        json["directory"] = run.path().display().to_string().into();
        json["nodes"] = prepared.nodes.into();
        print(&format!("{json}\n"));
        return Ok(crate::DONE);
    }
    let nodes = if prepared.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", prepared.nodes) };
    let (name, path) = (run.name(), run.path().display());
    crate::say(&format!("{name}: submitted as job {} for {nodes}; {path}", record.job));
    if arguments.detach {
        return Ok(crate::DONE);
    }
    crate::say(&crate::attach::how_to_leave(&run, true));
    Ok(crate::attach::show(&run, Some(&record), false))
}

/// Returns the job. Its command is `ligament run` with the arguments that the user gave to `ligament submit`.
fn job(arguments: &Submit, site: &Site, prepared: &PreparedJob, run: &RunDirectory) -> Result<Job, Fault> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map(|path| path.display().to_string())
            .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", path.display()))
    };
    let ligament = site.ligament.clone().map_or_else(own_command, PathBuf::from);
    let mut command = vec![ligament.display().to_string(), "run".to_owned()];
    for model in &arguments.models {
        command.push(absolute(model)?);
    }
    command.extend(arguments.settings.iter().flat_map(|setting| ["-s".to_owned(), setting.clone()]));
    if let Some(model) = &arguments.model {
        command.extend(["--model".to_owned(), model.clone()]);
    }
    command.extend(["--run-dir".to_owned(), run.path().display().to_string()]);
    if site.file.is_some() {
        let file = run.path().join(format!("{}.yaml", site.name));
        command.extend(["--site".to_owned(), file.display().to_string()]);
    }
    command.extend(arguments.restart_words());
    command.extend(arguments.sharing.words());
    command.extend(arguments.places.words());
    command.extend(arguments.limits.words());
    command.extend(arguments.ignore.words());
    let from = std::env::current_dir()
        .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "the current directory: {error}"))?;
    Ok(Job {
        run: run.name(),
        directory: run.path().to_path_buf(),
        from,
        nodes: prepared.nodes,
        cores: prepared.cores,
        time: arguments.time.or(site.time),
        does: "The head of the run, on the first node; it starts an agent on each of the others.",
        command,
    })
}
