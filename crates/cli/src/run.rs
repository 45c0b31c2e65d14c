//! `ligament run`.

use crate::arguments::{print, Run};
use crate::check::read;
use crate::launched_agents::LaunchedAgents;
use crate::spread_options::ByHand;
use crate::summary::{tell, SummaryStyle};
use ligament_analysis::{CheckOptions, Files};
use ligament_catalogue::Fault;
use ligament_launch::site::Site;
use ligament_launch::RunMachines;
use ligament_manager::RunDirectory;
use ligament_model::ResolvedModel;
use ligament_runtime::{check_instance, run_over, RunOptions, Show, Terminal};
use rustix::fs::Mode;
use rustix::process::umask;

/// Runs a model.
pub(crate) fn run(arguments: &Run) -> i32 {
    let (model, mut limits) = (arguments.model.as_deref(), arguments.limits.options());
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
    let mut report = match read(&arguments.models, &arguments.settings, model, options) {
        Ok(report) => report,
        Err(error) => return refuse(arguments, &error),
    };
    if !arguments.quiet || !report.is_ok() {
        crate::say_lines(&report.to_text());
    }
    let found = report.is_ok().then(|| report.resolved.take()).flatten();
    let Some(model) = found else {
        if arguments.json {
            print(&format!("{}\n", report.to_json()));
        }
        return crate::BAD_USE;
    };
    // The report of a large model takes half of the memory, so it is dropped here.
    let model_text = report.into_text();
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
        Ok(steered) => steered.unwrap_or_default(),
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
        model_files: arguments.models.clone(),
        settings: arguments
            .settings
            .iter()
            .filter_map(|set| Some(set.split_once('=')?.0.trim().into()))
            .collect(),
        model_text,
        for_group: arguments.sharing.is_with_group(&site),
        steered,
    };
    if arguments.detach {
        crate::detach::detach(arguments, options.directory.clone(), &model.name, |directory, terminal| {
            let options = RunOptions { directory: Some(directory), terminal, ..options };
            carry_out(arguments, &model, options, &machines, &site)
        })
    } else {
        carry_out(arguments, &model, options, &machines, &site)
    }
}

/// Makes the run. This process becomes the run's head. Returns the exit status.
fn carry_out(
    arguments: &Run,
    model: &ResolvedModel,
    options: RunOptions,
    machines: &RunMachines,
    site: &Site,
) -> i32 {
    ligament_launch::adopt_orphans();
    if options.for_group {
        // Instances inherit the umask of this process.
        let group = Mode::RGRP | Mode::XGRP;
        let before = umask(Mode::empty());
        umask(before - group);
    }
    let mut agents = ByHand;
    let mut launched = LaunchedAgents::new(machines, site, &arguments.spreading);
    let spread = match arguments.spreading.by_hand(site, model, &mut agents) {
        Ok(None) if !machines.is_only_here() => {
            launched.spread(machines, &arguments.spreading, model).map(Some)
        }
        by_hand => by_hand,
    };
    let spread = match spread {
        Ok(spread) => spread,
        Err(error) => return refuse(arguments, &error),
    };
    let telling = match (arguments.json, arguments.quiet) {
        (true, _) => SummaryStyle::Json,
        (false, true) => SummaryStyle::Errors,
        (false, false) => SummaryStyle::All,
    };
    match run_over(model, options, None, spread) {
        Ok(result) => tell(&RunDirectory::open(&result.directory), &result.record, telling),
        Err(error) => refuse(arguments, &error),
    }
}

fn refuse(arguments: &Run, error: &Fault) -> i32 {
    crate::fail(arguments.json, error, crate::BAD_USE)
}
