//! Steering: settings that change while the model runs. All instances that a change concerns make it at the
//! same model time.

use crate::error::{AgentError, Error, ErrorKind};
use crate::instance::Instance;
use crate::overlay::from_value;
use ligament_catalogue::fault;
use ligament_model::{Reference, SettingType, Settings};
use ligament_shm::steering::Gate;
use ligament_wire::control;
use ligament_wire::steering::ModelTime;
use ligament_wire::{decode_body, Limits};
use std::sync::Arc;

/// A setting that a client may change during the run, as a code declares it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SettingDeclaration<'a> {
    /// The name by which the code reads the setting.
    pub name: &'a str,
    /// Smallest and largest permitted value. `None` means no limit.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The unit, for people. Empty if there is none.
    pub unit: &'a str,
    /// True if the code reads the setting once in each pass of the reuse loop, and not in each step.
    pub restart: bool,
    /// The type that the code reads. `None` if it is the type of the model's value.
    pub kind: Option<SettingType>,
}

impl Instance {
    /// Applies changes of settings. The code calls this once in each step, before the step's work, with the
    /// step's model time in s. Returns true if settings have changed; the code then reads the settings that
    /// the step needs again. All instances that a change concerns make it in their first step at or after
    /// the same model time. The call waits while instances agree on such a change, and while the run is
    /// halted. If there is nothing to do, it takes some nanoseconds.
    ///
    /// # Errors
    /// `Usage` if the time is not finite. `RunEnds` if the run ends during the wait. `Interrupted`.
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

    /// Returns true if `steer` would have nothing to do at this time. This is for callers for whom a call
    /// that may wait costs more.
    #[doc(hidden)]
    #[inline]
    pub fn steer_at_once(&mut self, time: f64) -> bool {
        self.is_alive() && self.endpoint.steer_at_once(time)
    }

    /// Declares that a setting of this code can be steered, as a model does under `ligament: steerable:`.
    /// If the model declares the same setting, the model's declaration counts.
    ///
    /// # Errors
    /// `Usage` if the name or the range is invalid. `System` if the declaration cannot be sent.
    pub fn declare_steerable(&mut self, setting: SettingDeclaration<'_>) -> Result<(), Error> {
        self.alive()?;
        let SettingDeclaration { name, min, max, unit, restart, kind } = setting;
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
            kind: kind.map(|kind| kind.name().to_owned()),
        };
        let told = self.endpoint.declares(setting);
        told.map_err(|error| Error::during(error, || "declaring a setting".into()))
    }

    /// Applies changes of settings that the code reads once in each pass. Called when a pass of the reuse
    /// loop has begun.
    pub(crate) fn steer_pass(&mut self) -> Result<(), Error> {
        let times = self.initial.values().map(|(message, _)| message.timestamp);
        let time = times.fold(f64::NEG_INFINITY, f64::max);
        // Without a message, there is only one pass, which begins before any setting can change.
        if time > f64::NEG_INFINITY {
            self.pass_gate(Gate::Pass, time)?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn pass_gate(&mut self, gate: Gate, time: f64) -> Result<bool, Error> {
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
