//! The process that runs all shipped components of a run. Each instance is a light component. A setting of
//! the instance names its shipped component. In a run with checkpoints, each instance has a process.

use crate::implicit::Implicit;
use crate::sinks::SinkSubmodel;
use crate::sources::SourceSubmodel;
use crate::{mappers, settings, sinks, sources};
use ligament_catalogue::{fault, Coded, Fault};
use ligament_filters::{FilterMemory, FilterRemark, FilterStep, Parcel, StepOutput};
use ligament_instance::{
    run_light_with, Error, ErrorKind, Flags, Instance, Interpreter, MapperSubmodel, Submodel,
};
use ligament_model::{Filter, IMPLEMENTATION_SETTING};

/// Beginning of the names of all sources.
const SOURCES: &str = "ligament.sources.";
/// Name of the only mapper that keeps something.
const IMPLICIT: &str = "ligament.mappers.implicit";

/// Runs all instances of shipped components of the run that the environment names, to their ends.
///
/// # Errors
/// There is no such run, or an instance has failed and has reported it to the run.
pub fn run_shipped() -> Result<(), Fault> {
    let flags = Flags { uses_checkpoint_api: true, ..Flags::default() };
    run_light_with(None, flags, "rust", make).map_err(|error| Fault::heard(error.to_string(), error.code()))
}

/// Takes the place of an instance that had ended at the checkpoint from which the run resumes. It has nothing
/// to do, and its program would find no state.
///
/// # Errors
/// As `run_shipped`.
pub fn run_ended_instance() -> Result<(), Fault> {
    ligament_instance::run_python_filters_by(Box::new(UnusedFilters));
    let flags = Flags { keeps_no_state_for_next_use: true, ..Flags::default() };
    let ended = || -> Result<(), Error> {
        let mut instance = Instance::with_options(None, flags, "rust")?;
        while instance.reuse_instance()? {}
        Ok(())
    };
    ended().map_err(|error| Fault::heard(error.to_string(), error.code()))
}

/// The Python filters of an instance that had ended. No message comes to them, and this process has no Python.
struct UnusedFilters;

impl Interpreter for UnusedFilters {
    fn find(&self, _: &Filter) -> Result<Option<Fault>, Fault> {
        Ok(None)
    }

    fn make(&self, _: &Filter) -> Result<Box<dyn FilterStep>, Fault> {
        Ok(Box::new(UnusedFilters))
    }
}

impl FilterStep for UnusedFilters {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        Ok(StepOutput::One(parcel))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
    }
}

fn make(instance: &mut Instance) -> Result<Box<dyn Submodel>, Error> {
    let what = settings::text(instance, IMPLEMENTATION_SETTING)?.unwrap_or_default();
    // Sources save their place. Other mappers keep nothing, and sinks begin new files.
    if !what.starts_with(SOURCES) && what != IMPLICIT {
        instance.keeps_no_state();
    }
    Ok(match &*what {
        "ligament.sources.constant" => Box::new(SourceSubmodel::new(sources::Series::constant(instance)?)),
        "ligament.sources.time_series" => Box::new(SourceSubmodel::new(sources::Series::table(instance)?)),
        "ligament.sources.csv" => Box::new(SourceSubmodel::new(sources::Csv::new(instance)?)),
        "ligament.sources.npy" => Box::new(SourceSubmodel::new(sources::Npy::new(instance)?)),
        "ligament.sources.jsonl" => Box::new(SourceSubmodel::new(sources::JsonLines::new(instance)?)),
        "ligament.sources.vti" => Box::new(SourceSubmodel::new(sources::Vti::new(instance)?)),
        "ligament.sinks.csv" => Box::new(SinkSubmodel::new(sinks::Csv::new(instance)?)),
        "ligament.sinks.npy" => Box::new(SinkSubmodel::new(sinks::Npy::new(instance)?)),
        "ligament.sinks.jsonl" => Box::new(SinkSubmodel::new(sinks::JsonLines::new(instance)?)),
        "ligament.sinks.vti" => Box::new(SinkSubmodel::new(sinks::Vti::new(instance)?)),
        "ligament.sinks.console" => Box::new(SinkSubmodel::new(sinks::Console::new(instance)?)),
        "ligament.sinks.discard" => Box::new(SinkSubmodel::new(sinks::Discard)),
        "ligament.mappers.duplicate" => Box::new(MapperSubmodel::of(mappers::Duplicate)),
        "ligament.mappers.gather" => Box::new(MapperSubmodel::of(mappers::Gather::new(instance)?)),
        "ligament.mappers.scatter" => Box::new(MapperSubmodel::of(mappers::Scatter)),
        "ligament.mappers.combine" => Box::new(MapperSubmodel::of(mappers::Combine::new(instance)?)),
        "ligament.mappers.difference" => Box::new(MapperSubmodel::of(mappers::Difference)),
        "ligament.mappers.regrid" => Box::new(MapperSubmodel::of(mappers::Regrid::new(instance)?)),
        "ligament.mappers.mesh" => Box::new(MapperSubmodel::of(mappers::Mesh::new(instance)?)),
        IMPLICIT => Box::new(Implicit::new(instance)?),
        other => {
            let fault = fault!(
                SHIPPED_SETTING_WRONG,
                "there is no shipped component \"{other}\" in this version of Ligament \
                 ({IMPLEMENTATION_SETTING})"
            );
            return Err(Error::other(ErrorKind::Usage, fault));
        }
    })
}
