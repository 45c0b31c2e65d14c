//! `ligament predict`: predicts the duration of a run from the costs of its parts. `measured_run` takes
//! these costs from an earlier run.

mod measured_run;
mod text;

use crate::arguments::print;
use ligament_analysis::predict::{best_placement, predict as predicted, Costs, Prediction, Question};
use ligament_analysis::CheckOptions;
use ligament_catalogue::{fault, Fault};
use ligament_manager::PortsByOperator;
use ligament_model::ResolvedModel;
use measured_run::MeasuredRun;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    /// Model files in yMMSL; later ones add to earlier ones [default: the model of the run after --from].
    #[arg(value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Set a setting, over those of the model; may be given several times.
    #[arg(short, long = "setting", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Which model to predict, if the files have several.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Take what the parts of the model cost from this run: its directory, its name under ./runs, or `latest`.
    #[arg(long, value_name = "RUN")]
    pub from: Option<String>,
    /// Take it from this file; together with --from, what it says holds.
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// Predict it on one machine of so many cores [default: those here].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        conflicts_with = "machines")]
    pub cores: Option<u32>,
    /// Predict it on several machines, of which these are the cores, and look for the best placement.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub machines: Vec<u32>,
    /// Predict it as this run ran it, on its machines, and show beside that what happened.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["cores", "machines"])]
    pub compare: Option<String>,
    /// Write the costs into this file, to be changed and given with --costs.
    #[arg(long, value_name = "FILE")]
    pub write_costs: Option<PathBuf>,
    /// Print it as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Predicts a run and prints the prediction. Returns the exit status.
pub(crate) fn predict(arguments: &Predict) -> i32 {
    match told(arguments) {
        Ok(text) => {
            print(&text);
            crate::DONE
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn told(arguments: &Predict) -> Result<String, Fault> {
    let from = arguments.from.as_deref().map(MeasuredRun::read).transpose()?;
    let compared = arguments.compare.as_deref().map(MeasuredRun::read).transpose()?;
    let costs = costs(arguments, from.as_ref())?;
    let known = [&from, &compared].into_iter().flatten();
    let known: DeclaredPorts = known.flat_map(|run| run.record.declared_ports.clone()).collect();
    let read;
    let model = match (&arguments.models[..], &compared, &from) {
        ([], Some(run), _) | ([], None, Some(run)) if arguments.settings.is_empty() => &run.model,
        ([], Some(run), _) | ([], None, Some(run)) => {
            let path = run.run.path().join("model.ymmsl");
            read = model_of(&[path], &arguments.settings, Some(&run.record.model), &known)?;
            &read
        }
        ([], None, None) => {
            return Err(fault!(NO_MODEL, "which model? Name its file, or a run of it after --from"))
        }
        (files, ..) => {
            read = model_of(files, &arguments.settings, arguments.model.as_deref(), &known)?;
            &read
        }
    };
    if let Some(run) = &from {
        crate::check::of_model(&run.record, model)?;
    }
    if let Some(run) = compared.as_ref().filter(|run| run.model.name != model.name) {
        return Err(fault!(
            CANNOT_PREDICT,
            "the run {} was of the model \"{}\", and \"{}\" is predicted; name a run of that one after \
             --compare",
            run.record.run,
            run.model.name,
            model.name
        ));
    }
    if let Some(path) = &arguments.write_costs {
        let of_run = |run: &MeasuredRun| [run.run.path().join("model.ymmsl"), run.run.record()];
        let read: Vec<PathBuf> = from.iter().chain(&compared).flat_map(of_run).collect();
        let read = arguments.models.iter().chain(&arguments.costs).chain(&read);
        crate::picture::spare(read.map(PathBuf::as_path), path)?;
        let text = costs.to_text();
        crate::picture::write_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    let prediction = prediction(arguments, model, &costs, compared.as_ref())?;
    if arguments.json {
        let mut json = serde_json::json!({ "ok": true, "prediction": prediction });
        if let Some(run) = &compared {
            json["happened"] = text::happened(run);
        }
        return Ok(format!("{json}\n"));
    }
    let text = text::of(&prediction);
    Ok(match &compared {
        Some(run) => format!("{text}\n{}", text::beside(&prediction, run)),
        None => text,
    })
}

fn costs(arguments: &Predict, from: Option<&MeasuredRun>) -> Result<Costs, Fault> {
    let mut costs = match (from, &arguments.costs) {
        (None, None) => {
            return Err(fault!(
                NO_COSTS,
                "no costs are known: name an earlier run with --from, or a file with --costs"
            ))
        }
        (Some(run), _) => run.costs()?,
        (None, _) => Costs::default(),
    };
    if let Some(path) = &arguments.costs {
        let text = ligament_model::read_text(path)
            .map_err(|error| fault!(BAD_COSTS, "{} cannot be read: {error}", path.display()))?;
        let read = Costs::read(&text, &path.display().to_string()).map_err(|problems| {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Fault::new(ligament_catalogue::Code::BAD_COSTS, all.join("\n"))
        })?;
        costs.update(read);
    }
    Ok(costs)
}

fn prediction(
    arguments: &Predict,
    model: &ResolvedModel,
    costs: &Costs,
    compared: Option<&MeasuredRun>,
) -> Result<Prediction, Fault> {
    if let Some(run) = compared {
        let question = run.question();
        // The placement of the run applies only to the same number of instances.
        let same = model.instances.len() == run.model.instances.len();
        return predicted(
            model,
            costs,
            &if same { question } else { Question { placement: None, ..question } },
        );
    }
    if arguments.machines.len() > 1 {
        let question = Question { machines: arguments.machines.clone(), placement: None, speed_up: false };
        return best_placement(model, costs, &question);
    }
    let cores = arguments.cores.or(arguments.machines.first().copied());
    let cores = cores.unwrap_or_else(ligament_runtime::own_cores);
    predicted(model, costs, &Question { speed_up: true, ..Question::on(cores) })
}

/// Ports of each component that its model does not declare and an earlier run has recorded.
type DeclaredPorts = BTreeMap<String, PortsByOperator>;

/// Returns the model for a prediction. Its programs need not be on this machine.
///
/// # Errors
/// Fails if the model has errors.
fn model_of(
    files: &[PathBuf],
    settings: &[String],
    name: Option<&str>,
    declared_ports: &DeclaredPorts,
) -> Result<ResolvedModel, Fault> {
    let options = CheckOptions { declared_ports: declared_ports.clone(), ..crate::check::for_a_look() };
    let report = crate::check::read(files, settings, name, options)?;
    let first = report.problems.iter().find(|problem| problem.is_error());
    match (first, report.resolved) {
        (Some(problem), _) => Err(Fault::new(problem.code, problem.to_string())),
        (None, Some(model)) => Ok(model),
        (None, None) => Err(fault!(NO_MODEL, "the model has nothing that could be predicted")),
    }
}
