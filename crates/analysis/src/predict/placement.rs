//! The search for the machine of each instance. The first placement fills the machines in order. The search
//! then moves one instance at a time while this shortens the run.

use super::costs::FittedCosts;
use super::simulate::{simulate, PlayedMachines};
use ligament_catalogue::Fault;
use ligament_model::ResolvedModel;

/// Maximum number of steps and messages that all attempts together play.
const MAX_SEARCH_EVENTS: f64 = 10e6;
/// Maximum number of attempts.
const MAX_ATTEMPTS: usize = 400;
/// Maximum ratio of the new duration to the old duration for a move to be accepted.
const MAX_WORTHWHILE_RATIO: f64 = 0.999;

/// Places the instances in the order of the model, each on the first machine with enough free cores. An
/// instance for which no machine has enough free cores goes to the machine with the largest fraction of
/// free cores.
pub(super) fn in_order(model: &ResolvedModel, machines: &[f64]) -> Vec<u32> {
    let mut free = machines.to_vec();
    let mut of = Vec::new();
    for instance in &model.instances {
        let cores = f64::from(instance.resources.cores_on_node().max(1));
        let found = free.iter().position(|&free| free >= cores);
        let at = found.unwrap_or_else(|| {
            let load = |at: &usize| free[*at] / machines[*at];
            (0..free.len()).max_by(|a, b| load(a).total_cmp(&load(b)).then(b.cmp(a))).unwrap_or(0)
        });
        free[at] -= cores;
        of.push(at as u32);
    }
    of
}

/// Returns a placement that is at least as good as the placement `from`.
///
/// # Errors
/// The same errors as `simulate`.
pub(super) fn best(
    model: &ResolvedModel,
    fitted: &FittedCosts,
    from: PlayedMachines,
) -> Result<PlayedMachines, Fault> {
    let first = simulate(model, fitted, &from)?;
    let attempts = ((MAX_SEARCH_EVENTS / (first.operations as f64 + 1.0)) as usize).min(MAX_ATTEMPTS);
    let mut search = Search { model, fitted, place: from, takes: first.duration, left: attempts };
    // The instances that compute longest are tried first, because they have the largest effect.
    let mut order: Vec<usize> = (0..model.instances.len()).collect();
    order.sort_by(|&a, &b| first.did[b].work.total_cmp(&first.did[a].work));
    while search.go_over(&order)? {}
    Ok(search.place)
}

struct Search<'a> {
    model: &'a ResolvedModel,
    fitted: &'a FittedCosts,
    place: PlayedMachines,
    takes: f64,
    left: usize,
}

impl Search<'_> {
    /// Tries to move every instance to every other machine, alone and in exchange for each instance of that
    /// machine. Returns true if a move has shortened the run and attempts are left.
    fn go_over(&mut self, order: &[usize]) -> Result<bool, Fault> {
        let before = self.takes;
        for (at, &one) in order.iter().enumerate() {
            if self.left == 0 {
                break;
            }
            for machine in 0..self.place.machines.len() as u32 {
                let home = self.place.of[one];
                if machine == home {
                    continue;
                }
                if !self.attempt(&[(one, machine)])? {
                    for &other in &order[at + 1..] {
                        if self.left == 0 {
                            break;
                        }
                        if self.place.of[other] == machine && self.attempt(&[(one, machine), (other, home)])? {
                            break;
                        }
                    }
                }
            }
        }
        Ok(self.takes < before && self.left > 0)
    }

    fn attempt(&mut self, moves: &[(usize, u32)]) -> Result<bool, Fault> {
        if self.left == 0 || !moves.iter().all(|&(one, machine)| self.fits(one, machine)) {
            return Ok(false);
        }
        self.left -= 1;
        let before: Vec<u32> = moves.iter().map(|&(one, _)| self.place.of[one]).collect();
        for &(one, machine) in moves {
            self.place.of[one] = machine;
        }
        let takes = simulate(self.model, self.fitted, &self.place)?.duration;
        if takes < self.takes * MAX_WORTHWHILE_RATIO {
            self.takes = takes;
            return Ok(true);
        }
        for (&(one, _), home) in moves.iter().zip(before) {
            self.place.of[one] = home;
        }
        Ok(false)
    }

    fn fits(&self, one: usize, machine: u32) -> bool {
        let cores = self.model.instances[one].resources.cores_on_node().max(1);
        f64::from(cores) <= self.place.machines[machine as usize]
    }
}
