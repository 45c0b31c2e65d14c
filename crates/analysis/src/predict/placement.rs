//! Which instance goes to which machine: first as room allows, then by moving one at a time as long as that
//! helps.

use super::costs::FittedCosts;
use super::simulate::{simulate, PlayedMachines};
use ligament_catalogue::Fault;
use ligament_model::ResolvedModel;

/// All attempts together play no more steps and messages than this.
const MAX_SEARCH_EVENTS: f64 = 10e6;
/// And no more attempts are made.
const MAX_ATTEMPTS: usize = 400;
/// A gain that is worth a move.
const MAX_WORTHWHILE_RATIO: f64 = 0.999;

/// In the order of the model, each to the first machine that still has its cores; who finds none goes where
/// most are free for each that is there.
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

/// A placement that is no worse than the one given.
///
/// # Errors
/// As `simulate`.
pub(super) fn best(
    model: &ResolvedModel,
    fitted: &FittedCosts,
    from: PlayedMachines,
) -> Result<PlayedMachines, Fault> {
    let first = simulate(model, fitted, &from)?;
    let attempts = ((MAX_SEARCH_EVENTS / (first.operations as f64 + 1.0)) as usize).min(MAX_ATTEMPTS);
    let mut search = Search { model, fitted, place: from, takes: first.duration, left: attempts };
    // The instances that compute longest come first: they decide most.
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
    /// Tries every instance on every other machine, by itself and in exchange for each that is there; whether
    /// anything helped.
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
