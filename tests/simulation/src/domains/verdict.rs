//! The rules for a schedule of several domains: the run ends for a reason that exists, and in all domains for
//! the same reason; an instance that is called dead is dead; no process is left; the record blames the first
//! instance that failed, and no other.

use super::script::DomainFault;
use super::sites::Stage;
use super::world::Life;
use ligament_agent::RunOutcome;
use ligament_manager::{Level, Names, RunRecord};
use ligament_wire::RankId;

/// Returns a word for the end of the run, and all broken rules.
pub fn of(stage: &Stage<'_>) -> (&'static str, Vec<String>) {
    let mut wrong = Vec::new();
    let Some(outcome) = stage.sites[0].core.ending() else {
        return ("not ended", vec!["the head has not ended".into()]);
    };
    let end = name(outcome);
    ended_for_a_reason(stage, outcome, end, &mut wrong);
    whoever_is_called_dead_is_so(stage, &mut wrong);
    all_know_and_nobody_is_left(stage, outcome, &mut wrong);
    nobody_else_is_blamed(stage, outcome, &mut wrong);
    (end, wrong)
}

fn name(outcome: &RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Done => "done",
        RunOutcome::Failed(failure) if failure.what.text().starts_with("deadlock: ") => "deadlocked",
        RunOutcome::Failed(failure) if failure.what.text().contains(" vanished: ") => "vanished",
        RunOutcome::Failed(_) => "failed",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Interrupted => "interrupted",
    }
}

fn ended_for_a_reason(stage: &Stage<'_>, outcome: &RunOutcome, end: &str, wrong: &mut Vec<String>) {
    let has = |wanted: &dyn Fn(&DomainFault) -> bool| stage.faults.iter().any(wanted);
    let fits = match (end, outcome) {
        ("done", _) => !stage.script.deadlocks(),
        ("deadlocked", _) => stage.script.deadlocks(),
        ("vanished", RunOutcome::Failed(failure)) => has(&|fault| {
            let DomainFault::AgentDies { domain, .. } = fault else { return false };
            failure.what.text().contains(&format!("the agent on node{domain} (domain {domain}) vanished"))
        }),
        ("failed", RunOutcome::Failed(failure)) => has(
            &|fault| matches!(fault, DomainFault::Crash { who, .. } if failure.rank == Some(RankId::new(*who))),
        ),
        ("stopped", _) => has(&|fault| matches!(fault, DomainFault::Stop { .. })),
        _ => false,
    };
    if !fits {
        wrong.push(format!(
            "the run ended as {outcome:?}; it deadlocks: {}; faults: {:?}",
            stage.script.deadlocks(),
            stage.faults
        ));
    }
    // An agent may die after all have been told that the run is over.
    if end == "done" && !stage.faults.iter().all(|fault| matches!(fault, DomainFault::AgentDies { .. })) {
        wrong.push(format!("the run is done, in spite of {:?}", stage.faults));
    }
}

fn whoever_is_called_dead_is_so(stage: &Stage<'_>, wrong: &mut Vec<String>) {
    let Some(found) = stage.manager.deadlock() else { return };
    for wait in &found.knot.waits {
        if !stage.script.stuck[wait.rank.index()] {
            wrong.push(format!("part{} was called dead, and is not", wait.rank));
        }
    }
    // An instance that waits for one in the deadlock may also wait for room.
    for wait in found.knot.waits.iter().chain(&found.behind) {
        let who = wait.rank.index();
        let before = stage.doomed.as_ref().map_or(0, |moved| moved[who]);
        if stage.world.processes[who].moved != before {
            wrong.push(format!("part{who} was called dead, and went on"));
        }
    }
}

fn all_know_and_nobody_is_left(stage: &Stage<'_>, outcome: &RunOutcome, wrong: &mut Vec<String>) {
    for (domain, site) in stage.sites.iter().enumerate().filter(|(_, site)| site.alive) {
        // If two faults happen at the same time, a domain may have met one before it heard of the other.
        let met = |own: &RunOutcome| {
            let RunOutcome::Failed(failure) = own else { return false };
            stage.faults.len() > 1 && failure.rank.is_some_and(|who| crashed(stage, who.number()))
        };
        match site.core.ending() {
            Some(own) if name(own) == name(outcome) || met(own) => {}
            own => wrong.push(format!("domain {domain} ended as {own:?}, and the run as {outcome:?}")),
        }
        if !site.over {
            wrong.push(format!("domain {domain} is not over"));
        }
    }
    for (who, process) in stage.world.processes.iter().enumerate() {
        if matches!(process.life, Life::Runs | Life::Done) {
            wrong.push(format!("part{who} is left: {:?}", process.life));
        }
    }
}

fn crashed(stage: &Stage<'_>, who: u32) -> bool {
    stage.faults.iter().any(|fault| matches!(fault, DomainFault::Crash { who: one, .. } if *one == who))
}

fn nobody_else_is_blamed(stage: &Stage<'_>, outcome: &RunOutcome, wrong: &mut Vec<String>) {
    let culprit = match outcome {
        RunOutcome::Failed(failure) => failure.rank.map(|rank| stage.names.rank(rank)),
        _ => None,
    };
    for (level, who, text) in &stage.log {
        let known = |one: u32| crashed(stage, one) && *who == stage.names.rank(RankId::new(one));
        let is_first = stage.faults.len() > 1 && (0..stage.script.placement.len() as u32).any(known);
        if *level == Level::Error && who != "run" && Some(who) != culprit.as_ref() && !is_first {
            wrong.push(format!("the log blames {who}: {text}"));
        }
    }
    let mut record = RunRecord::default();
    let seen = stage.manager.observe(&stage.last_views(), stage.clock);
    stage.manager.conclude(&mut record, outcome, &seen);
    for instance in &record.instances {
        let failed = instance.state == "failed";
        if failed != (culprit.as_ref() == Some(&instance.name)) {
            wrong.push(format!(
                "the record says of {}: {}; to blame is {culprit:?}",
                instance.name, instance.state
            ));
        }
        if *outcome == RunOutcome::Done && instance.state != "done" {
            wrong.push(format!("the run is done, and {} is {}", instance.name, instance.state));
        }
    }
}
