//! `ligament run`.

use crate::arguments::{print, Run};
use crate::check::read;
use crate::earlier_model::{changed_model, model_files, settings_of, ComparedPart};
use crate::launched_agents::LaunchedAgents;
use crate::lost_machines::next_machines;
use crate::restarts::Restarts;
use crate::spread_options::ByHand;
use crate::summary::{tell, SummaryStyle};
use ligament_analysis::{CheckOptions, Files};
use ligament_catalogue::Fault;
use ligament_launch::site::Site;
use ligament_launch::RunMachines;
use ligament_manager::steering::SettingAssignment;
use ligament_manager::{RunDirectory, RunRecord, SteeringRecord};
use ligament_model::ResolvedModel;
use ligament_runtime::checkpoints::{find_checkpoint, Checkpoint};
use ligament_runtime::{check_instance, run_over, RunOptions, RunResult, Show, Terminal};
use ligament_wire::times::begin_of;
use rustix::fs::Mode;
use rustix::process::umask;
use std::path::PathBuf;

/// Runs a model.
pub(crate) fn run(arguments: &Run) -> i32 {
    let mut limits = arguments.limits.options();
    arguments.places.add_to(&mut limits);
    let machines = arguments.hosts.site().and_then(|site| Ok((arguments.hosts.machines(&site)?, site)));
    let (machines, site) = match machines {
        Ok(found) => found,
        Err(error) => return refuse(arguments, &error),
    };
    let options = CheckOptions {
        limits,
        files: Files::MustExist,
        ignore: arguments.ignore.set(),
        with_text: true,
        ..CheckOptions::default()
    };
    let resumed = arguments.resume.as_deref().map(|wanted| ResumedRun::find(wanted, &arguments.settings));
    let resumed = resumed.transpose();
    let resumed = match resumed {
        Ok(resumed) => resumed,
        Err(error) => return refuse(arguments, &error.told(|error| format!("--resume: {error}"))),
    };
    let named = match &resumed {
        Some(from) if arguments.models.is_empty() => from.named_model(arguments),
        _ => Ok(NamedModel::of(arguments)),
    };
    let report = named.and_then(|named| {
        let report = read(&named.files, &named.settings, named.model.as_deref(), options)?;
        Ok((named.files, report))
    });
    let (models, mut report) = match report {
        Ok(report) => report,
        Err(error) => return refuse(arguments, &error),
    };
    if !arguments.quiet || !report.is_ok() {
        crate::say_lines(&report.to_text());
    }
    let found = report.is_ok().then(|| report.resolved.take()).flatten();
    let Some(mut model) = found else {
        if arguments.json {
            print(&format!("{}\n", report.to_json()));
        }
        return crate::BAD_USE;
    };
    if let Some(from) = &resumed {
        model.resume = from.checkpoint.files();
    }
    // The report of a large model takes half of the memory, so it is dropped here.
    let model_text = report.into_text();
    let changed =
        resumed.as_ref().and_then(|from| changed_model(&from.run, &model_text, ComparedPart::Messages));
    if let Some(changed) = changed {
        crate::say(&format!("warning: {changed}; its checkpoint is taken all the same"));
    }
    for name in &arguments.manual {
        if let Err(error) = check_instance(&model, name) {
            return refuse(arguments, &error.told(|error| format!("--manual: {error}")));
        }
    }
    let steered = arguments.steered.as_deref().map(|run| {
        let record = ligament_runtime::client::record_of(&ligament_manager::find_run(run)?)?;
        Ok(record.steering)
    });
    let steered = match steered.transpose() {
        Ok(Some(steered)) => steered,
        Ok(None) => resumed.as_ref().map(|from| from.steering.clone()).unwrap_or_default(),
        Err(error) => return refuse(arguments, &Fault::told(error, |error| format!("--steered: {error}"))),
    };
    let show = match (arguments.quiet || arguments.json, arguments.detach) {
        (true, _) => Show::Nothing,
        (false, true) => Show::Log,
        (false, false) => Show::View,
    };
    let directory = match arguments.open {
        Some(role) => match crate::page_start::open(arguments.run_dir.as_deref(), &model.name, role) {
            Ok(directory) => Some(directory),
            Err(error) => return refuse(arguments, &error),
        },
        None => arguments.run_dir.clone(),
    };
    let options = RunOptions {
        directory,
        manual: arguments.manual.clone(),
        show,
        colours: crate::colour::chosen(),
        terminal: Terminal::MayGo,
        model_files: models,
        settings: arguments
            .settings
            .iter()
            .filter_map(|set| Some(set.split_once('=')?.0.trim().into()))
            .collect(),
        model_text,
        for_group: arguments.sharing.is_with_group(&site),
        steered,
        resumed_from: resumed.as_ref().map(|from| from.checkpoint.name()),
        recorded: arguments.record.clone(),
        makes_restarts: true,
        may_be_continued: false,
    };
    let checkpoint = resumed.map(|from| from.checkpoint);
    if arguments.detach {
        let name = model.name.clone();
        crate::detach::detach(arguments, options.directory.clone(), &name, |directory, terminal| {
            let options = RunOptions { directory: Some(directory), terminal, ..options };
            carry_out(arguments, model, options, &machines, &site, checkpoint)
        })
    } else {
        carry_out(arguments, model, options, &machines, &site, checkpoint)
    }
}

/// The model of a run, as the command line names it.
struct NamedModel {
    files: Vec<PathBuf>,
    settings: Vec<String>,
    model: Option<String>,
}

impl NamedModel {
    fn of(arguments: &Run) -> NamedModel {
        NamedModel {
            files: arguments.models.clone(),
            settings: arguments.settings.clone(),
            model: arguments.model.clone(),
        }
    }
}

/// A run from which another one resumes.
struct ResumedRun {
    run: RunDirectory,
    record: RunRecord,
    checkpoint: Checkpoint,
    /// The changes of steering of this run, and those of the settings that the user sets in addition.
    steering: Vec<SteeringRecord>,
}

impl ResumedRun {
    fn find(wanted: &str, settings: &[String]) -> Result<ResumedRun, Fault> {
        let (run, checkpoint) = find_checkpoint(wanted)?;
        let record = ligament_runtime::client::record_of(&run)?;
        let steering = steering_again(&record, &checkpoint, settings);
        Ok(ResumedRun { run, record, checkpoint, steering })
    }

    /// Returns the model of this run with its settings, and those that the user sets in addition. Files are
    /// named as they were for this run.
    fn named_model(&self, arguments: &Run) -> Result<NamedModel, Fault> {
        let settings = settings_of(&self.run)?.into_iter().map(|(name, value)| format!("{name}={value}"));
        Ok(NamedModel {
            files: model_files(&self.run.path().display().to_string(), &self.record)?,
            settings: settings.chain(arguments.settings.iter().cloned()).collect(),
            model: arguments.model.clone().or_else(|| Some(self.record.model.clone())),
        })
    }
}

/// Returns all changes of steering of a run, which a run that resumes makes again. An instance may have saved
/// before it came to a change at an earlier time than the checkpoint's; a change that is part of its state
/// gives a setting the value that it has. Each of `settings` (NAME=VALUE) that was steered before the
/// checkpoint is changed once more, because the value that the user sets for the run would have no effect.
fn steering_again(record: &RunRecord, checkpoint: &Checkpoint, settings: &[String]) -> Vec<SteeringRecord> {
    let moment = checkpoint.record.model_time.map(begin_of);
    let is_earlier = |at: f64| moment.is_none_or(|moment| at < moment);
    let mut steering = record.steering.clone();
    for (name, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
        let (name, value) = (name.trim(), value.trim());
        let has_setting = |one: &SteeringRecord| {
            one.settings.iter().any(|known| unqualified(&known.name) == unqualified(name))
        };
        let known = record.steering.iter().filter(|one| one.is_agreed() && has_setting(one));
        let times = known.filter_map(|one| Some((one.model_time.filter(|&at| is_earlier(at))?, one)));
        let Some((_, known)) = times.max_by(|(one, _), (other, _)| one.total_cmp(other)) else { continue };
        let set = SettingAssignment { name: name.to_owned(), from: None, to: value.to_owned() };
        let who = "--resume".to_owned();
        steering.push(SteeringRecord { who, settings: vec![set], ..known.clone() });
    }
    steering
}

/// Returns a setting's own name, without those of the instances that have it.
fn unqualified(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Makes the run, and those that go on from its checkpoints if it fails. This process becomes their head.
/// Returns the exit status.
fn carry_out(
    arguments: &Run,
    mut model: ResolvedModel,
    mut options: RunOptions,
    machines: &RunMachines,
    site: &Site,
    resumed: Option<Checkpoint>,
) -> i32 {
    let mut machines = machines.clone();
    let allowed = arguments.restarts.or(model.ligament.restarts).unwrap_or(0);
    let mut restarts = Restarts::new(allowed, resumed);
    ligament_launch::adopt_orphans();
    if options.for_group {
        // Instances inherit the umask of this process.
        let group = Mode::RGRP | Mode::XGRP;
        let before = umask(Mode::empty());
        umask(before - group);
    }
    let telling = match (arguments.json, arguments.quiet) {
        (true, _) => SummaryStyle::Json,
        (false, true) => SummaryStyle::Errors,
        (false, false) => SummaryStyle::All,
    };
    // The last run that has failed.
    let mut failed: Option<RunResult> = None;
    loop {
        // The options have the text of the model, which may be long. Only another run needs it again.
        options.may_be_continued = restarts.are_left();
        let own = if restarts.are_left() { options.clone() } else { std::mem::take(&mut options) };
        let (mut result, next) = match (run_once(arguments, &model, own, &machines, site), failed.take()) {
            (Ok(result), _) => match restarts.next(&result) {
                Some(next) => (result, next),
                None => {
                    let status = tell(&RunDirectory::open(&result.directory), &result.record, telling);
                    restarts
                        .last_word()
                        .filter(|_| !arguments.json)
                        .inspect(|text| ligament_runtime::say(text));
                    return status;
                }
            },
            (Err(error), failed) => match failed.zip(restarts.instead(&error)) {
                Some(again) => {
                    crate::complain(&error);
                    again
                }
                None => return refuse(arguments, &error),
            },
        };
        let directory = RunDirectory::open(&result.directory);
        result.record.continued_by = Some(next.directory.display().to_string());
        let recorded = serde_json::to_string_pretty(&result.record);
        if let Some(error) = recorded.ok().and_then(|text| directory.write_record(&text).err()) {
            crate::complain(&error);
        }
        if !arguments.json {
            tell(&directory, &result.record, SummaryStyle::Errors);
            ligament_runtime::say(&next.text);
        }
        if let Some(next) = next_machines(&machines, &result.record.domains, &model, site.agent_cores) {
            if !arguments.json {
                ligament_runtime::say(&next.text);
            }
            machines = next.machines;
        }
        options.directory = Some(next.directory);
        options.resumed_from = next.checkpoint.as_ref().map(Checkpoint::name);
        model.resume = next.checkpoint.as_ref().map(Checkpoint::files).unwrap_or_default();
        options.steered = result.record.steering.clone();
        failed = Some(result);
    }
}

fn run_once(
    arguments: &Run,
    model: &ResolvedModel,
    options: RunOptions,
    machines: &RunMachines,
    site: &Site,
) -> Result<RunResult, Fault> {
    let mut agents = ByHand;
    let mut launched = LaunchedAgents::new(machines, site, &arguments.spreading);
    let spread = match arguments.spreading.by_hand(site, model, &mut agents) {
        Ok(None) if !machines.is_only_here() => {
            launched.spread(machines, &arguments.spreading, model).map(Some)
        }
        by_hand => by_hand,
    };
    run_over(model, options, None, spread?)
}

fn refuse(arguments: &Run, error: &Fault) -> i32 {
    crate::fail(arguments.json, error, crate::BAD_USE)
}
