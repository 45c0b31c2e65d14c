//! The manager of a simulated run: the real logic. The stage has the log, and reads the status pages, one after
//! the other, while the instances go on.

use crate::random::Random;
use crate::script::Script;
use ligament_agent::plan::PlannedEnd;
use ligament_agent::wiring::Wiring;
use ligament_agent::{AgentOrder, AgentReport, InstanceView, RunOutcome, RunPlan};
use ligament_manager::{Level, Manager, ManagerAction, MessageMemory, Names, RunContext, RunRecord};
use ligament_wire::RankId;

/// The names of the parts of a simulated run.
pub struct PlanNames(RunPlan, Wiring);

impl PlanNames {
    /// The names of a plan.
    pub fn of(plan: &RunPlan) -> PlanNames {
        PlanNames(plan.clone(), plan.wiring())
    }

    fn port(&self, end: PlannedEnd) -> (RankId, String) {
        (end.rank, self.1.end_name(&self.0, end))
    }
}

impl Names for PlanNames {
    fn instance(&self, rank: RankId) -> String {
        self.1.instance(&self.0, rank).name.clone()
    }

    fn rank(&self, rank: RankId) -> String {
        self.1.name(&self.0, rank)
    }

    fn component(&self, rank: RankId) -> u32 {
        self.1.ranks().instance(rank).number()
    }

    fn ends(&self, channel: u32) -> Option<((RankId, String), (RankId, String))> {
        let channel = &self.0.channels[channel as usize];
        Some((self.port(channel.from), self.port(channel.to)))
    }

    fn conduit(&self, channel: u32) -> Option<[u32; 4]> {
        let channel = &self.0.channels[channel as usize];
        let component = |end: PlannedEnd| self.component(end.rank);
        Some([component(channel.from), channel.from.port, component(channel.to), channel.to.port])
    }
}

/// The manager, its log, and the pages that it has read in this round.
pub struct Desk {
    pub logic: Manager<PlanNames>,
    /// Level, origin and text of each line.
    pub log: Vec<(Level, String, String)>,
    pages: Vec<InstanceView>,
    threads: Vec<bool>,
    haste: u64,
    random: Random,
}

impl Desk {
    /// Makes the manager of a script's run.
    pub fn new(script: &Script, random: Random) -> Desk {
        Desk {
            logic: Manager::new(&script.plan, PlanNames::of(&script.plan)),
            log: Vec::new(),
            pages: Vec::new(),
            threads: script.manners.iter().map(|manners| manners.threads).collect(),
            haste: script.haste,
            random,
        }
    }

    fn carry_out(&mut self, deed: ManagerAction) -> Option<AgentOrder> {
        match deed {
            ManagerAction::Announce { level, who, text } | ManagerAction::Write { level, who, text } => {
                self.log.push((level, who, text));
                None
            }
            ManagerAction::Order(order) => Some(order),
        }
    }

    /// Handles a report of the agent.
    pub fn report(&mut self, report: AgentReport) {
        if let Some(deed) = self.logic.report(report) {
            self.carry_out(deed);
        }
    }

    /// Reads a page. Returns the instance whose page is next, unless all are read.
    pub fn read(&mut self, page: InstanceView) -> Option<u32> {
        self.pages.push(page);
        (self.pages.len() < self.threads.len()).then_some(self.pages.len() as u32)
    }

    /// Evaluates the pages that it has read.
    pub fn look(&mut self, now: u64, memory: MessageMemory) -> Vec<AgentOrder> {
        let mut seen = self.logic.observe(&self.pages, now);
        self.pages.clear();
        for (one, &threads) in seen.iter_mut().zip(&self.threads) {
            if let Some(waits) = &mut one.waits {
                waits.may_release &= threads;
            }
        }
        // The models of the simulation have no filters, so no message is held in one.
        let around = RunContext { memory, carriers: &[], channels: &Vec::new, now };
        let deeds = self.logic.check(&seen, &around);
        deeds.into_iter().filter_map(|deed| self.carry_out(deed)).collect()
    }

    /// Number of times that a budget grew.
    pub fn grown(&self) -> usize {
        self.log.iter().filter(|(_, _, text)| text.contains("the budget of")).count()
    }

    /// Returns the time until the next round, ns.
    pub fn pause(&mut self) -> u64 {
        let pause = self.logic.next_check().as_nanos() as u64 / self.haste;
        pause / 2 + self.random.below(pause)
    }

    /// Ends the record of the run.
    pub fn conclude(&mut self, outcome: &RunOutcome, pages: &[InstanceView], now: u64) -> RunRecord {
        let mut record = RunRecord::default();
        let seen = self.logic.observe(pages, now);
        let last = self.logic.conclude(&mut record, outcome, &seen);
        self.carry_out(last);
        record
    }
}
