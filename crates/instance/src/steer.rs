//! Steering: settings that change while the model runs, at one model time for all whom they concern.

use crate::error::{AgentError, Error, ErrorKind};
use crate::instance::Instance;
use crate::overlay::from_value;
use ligament_catalogue::fault;
use ligament_model::{Reference, Settings};
use ligament_shm::steering::Gate;
use ligament_wire::control;
use ligament_wire::steering::ModelTime;
use ligament_wire::{decode_body, Limits};
use std::sync::Arc;

/// A setting that can be steered, as a code declares it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SettingDeclaration<'a> {
    /// As the code asks for it.
    pub name: &'a str,
    /// The least and the most that it may be; none: anything.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Its unit, for people; empty for none.
    pub unit: &'a str,
    /// True if it is read once a pass of the reuse loop, and not in each step.
    pub restart: bool,
}

impl Instance {
    /// To be called once in each step, with the model time of what is done in it, s, before that is done. Says
    /// whether settings have changed; those that the step needs are then to be asked for again. All whom a
    /// change concerns make it in their first step at or after the same model time. Waits while such a change
    /// is being agreed on, and where the run is to stand still. With nothing to do it takes some nanoseconds.
    ///
    /// # Errors
    /// `Usage` for a time that is not finite; `RunEnds` when the run ends meanwhile, `Interrupted`.
    #[inline]
    pub fn steer(&mut self, time: f64) -> Result<bool, Error> {
        self.alive()?;
        if !time.is_finite() {
            return Err(Error::other(
                ErrorKind::Usage,
                fault!(BAD_STEERING, "steer: a model time is a finite number, and this is {time}"),
            ));
        }
        self.pass_gate(Gate::Step, time)
    }

    /// As `steer`, if there is nothing to be done: whether that is so. For callers whose way to a call that may
    /// wait is long.
    #[doc(hidden)]
    #[inline]
    pub fn steer_at_once(&mut self, time: f64) -> bool {
        self.is_alive() && self.endpoint.steer_at_once(time)
    }

    /// Declares that a setting of this code can be steered, as a model does under `ligament: steerable:`. If
    /// the model declares it too, that counts.
    ///
    /// # Errors
    /// `Usage` if that is no name, or the range is none; `System` if the run cannot be told.
    pub fn declare_steerable(&mut self, setting: SettingDeclaration<'_>) -> Result<(), Error> {
        self.alive()?;
        let SettingDeclaration { name, min, max, unit, restart } = setting;
        let bad =
            |why: &str| Error::other(ErrorKind::Usage, fault!(BAD_STEERING, "the setting \"{name}\": {why}"));
        if Reference::new(name).is_err() {
            return Err(bad("this is no name of a setting"));
        }
        let is_nan = |bound: Option<f64>| bound.is_some_and(f64::is_nan);
        if is_nan(min) || is_nan(max) || matches!((min, max), (Some(min), Some(max)) if min > max) {
            return Err(bad("its range has no values"));
        }
        let setting = control::SteerableSetting {
            name: name.to_owned(),
            min: min.map(ModelTime),
            max: max.map(ModelTime),
            unit: unit.to_owned(),
            restart,
        };
        let told = self.endpoint.declares(setting);
        told.map_err(|error| Error::during(error, || "declaring a setting".into()))
    }

    /// A pass of the reuse loop has begun: settings that are read once a pass may have changed.
    pub(crate) fn steer_pass(&mut self) -> Result<(), Error> {
        let times = self.initial.values().map(|(message, _)| message.timestamp);
        let time = times.fold(f64::NEG_INFINITY, f64::max);
        // Without a message there is one pass only, which begins before anything can change.
        if time > f64::NEG_INFINITY {
            self.pass_gate(Gate::Pass, time)?;
        }
        Ok(())
    }

    #[inline]
    fn pass_gate(&mut self, gate: Gate, time: f64) -> Result<bool, Error> {
        match self.endpoint.steer(gate, time) {
            Ok(changed) if changed.is_empty() => Ok(false),
            Ok(changed) => self.change_settings(changed).map(|()| true),
            Err(error) => Err(Error::during(error, || "waiting in steer".into())),
        }
    }

    #[cold]
    fn change_settings(&mut self, changed: Vec<Arc<[u8]>>) -> Result<(), Error> {
        for body in changed {
            let new: Settings = decode_body(0, body.to_vec().into(), &Limits::default())
                .ok()
                .and_then(|value| from_value(&value))
                .ok_or(AgentError::Settings)?;
            self.steered.update(&new);
        }
        Ok(())
    }
}
