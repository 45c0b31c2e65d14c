//! The host of the head's own agent: it handles the agent's requests and reports.

use super::{Runtime, ToStart, REDRAW};
use crate::observe::{gained, see_threads};
use crate::of_instances;
use ligament_agent::{
    AgentOrder, AgentReport, CarrierReport, ConnectionId, DrainReason, EndpointActivity, ExternalRequest,
    Guard, Host, PeekRequest, RemoteTapEvent, RunView, StartedProcess, TimelineDelta,
};
use ligament_catalogue::{fault, Fault};
use ligament_manager::timeline::{self, TimelineRecorder};
use ligament_manager::{output_in, output_of_rank, workdir_in, JournalEvent, Level, Names};
use ligament_wire::control::SteerRequest;
use ligament_wire::peek::Sight;
use ligament_wire::{EndpointId, InstanceId, RankId};
use std::time::Duration;

impl Runtime<'_> {
    /// Adds the activities of a rank in any domain up to `now` to the run's timeline.
    pub(super) fn add_to_timeline(&mut self, rank: RankId, seen: &TimelineDelta, now: u64, why: DrainReason) {
        let Some(timeline) = &mut self.timeline else { return };
        let moment = match (why, seen.status.state) {
            (DrainReason::Tick, _) => timeline::UpdateReason::Tick,
            (DrainReason::OnDemand, _) => timeline::UpdateReason::OnDemand,
            (DrainReason::ProcessEnded, EndpointActivity::Ended) => {
                timeline::UpdateReason::LaneEnded("ended".into())
            }
            (DrainReason::ProcessEnded, EndpointActivity::Failed) => {
                timeline::UpdateReason::LaneEnded("failed".into())
            }
            (DrainReason::ProcessEnded, _) => timeline::UpdateReason::LaneEnded("gone".into()),
        };
        let at = timeline::UpdateOccasion { now, reason: &moment };
        timeline.add(rank, &gained(seen), &at, self.manager.names());
    }
}

impl Host for Runtime<'_> {
    fn begins(&mut self, address: &str, token: &str) {
        self.record.agent = Some(address.to_owned());
        if let Err(error) = self.directory.write_token(token) {
            crate::complain(&error);
        }
        self.save();
        self.tell_that_it_is_up();
        match self.begin_timeline() {
            Ok(timeline) => self.timeline = timeline,
            Err(why) => self.no_timeline(why.text()),
        }
        let n = self.model.instances.len();
        let path = self.directory.path().display().to_string();
        self.add(Level::Info, "run", &format!("{} instances of {}, in {path}", n, self.model.name));
        self.say_cores();
        for i in InstanceId::first(n) {
            if self.by_hand[i.index()] && self.homes.contains_key(&i) {
                let (name, run) = (self.name(i), self.directory.name());
                // The line is for a user who watches the start. At the end of the run, it must not be repeated
                // among the warnings.
                let text = format!("is to be started by hand: ligament join {run} '{name}' -- COMMAND");
                self.add(Level::Warning, &name, &text);
                self.record.warnings.retain(|one| one.who != name || one.text != text);
            }
        }
    }

    fn start(
        &mut self,
        guard: &mut Guard,
        endpoint: EndpointId,
        instance: InstanceId,
        environment: &[(&'static str, String)],
    ) -> Result<Option<StartedProcess>, Fault> {
        let home =
            self.homes.get(&instance).cloned().unwrap_or_else(|| self.directory.instance(&self.name(instance)));
        let rank = self
            .model
            .separate_ranks(instance.number())
            .map(|ranks| (self.ranks.place(endpoint.leader()), ranks));
        let output = rank.map_or(output_in(&home), |(place, _)| output_of_rank(&home, place));
        let command = match rank {
            Some((place, ranks)) => {
                self.commands.get(&instance).map(|command| command.of_rank(place, ranks, output.clone()))
            }
            None => self.commands.remove(&instance),
        };
        if let Some(mut command) = command {
            for (name, value) in environment {
                command.environment.set(name, value);
            }
            if self.recordings.contains(&instance) {
                let name = self.manager.names().rank(endpoint.leader());
                self.note_recorded_command(&name, &command, rank.is_some());
            }
            return guard.launch(endpoint.number(), command).map(|()| None);
        }
        let (name, component) = (self.manager.names().rank(endpoint.leader()), self.component(instance));
        let directory = workdir_in(&home);
        let cores = self.cores_of(endpoint.leader()).to_vec();
        let starter = self.starter.as_mut().ok_or_else(|| fault!(NO_PROGRAM, "it has no program"))?;
        let what = ToStart {
            instance: &name,
            component: &component,
            environment,
            directory: &directory,
            output: &output,
            cores: &cores,
        };
        starter.start(&what).map(Some)
    }

    fn report(&mut self, report: AgentReport) {
        if let AgentReport::Ending(outcome) = &report {
            self.tell_ending(outcome);
        }
        self.take_in(report);
    }

    fn started(&mut self, rank: RankId, pid: u32) {
        self.note_started(rank, pid);
    }

    fn external_request(&mut self, wish: &ExternalRequest) {
        let (order, instance) = match wish {
            ExternalRequest::Signal(signal) => ((*signal).to_owned(), None),
            ExternalRequest::Stop => ("stop".to_owned(), None),
            ExternalRequest::Join(instance) => ("join".to_owned(), Some(instance.clone())),
        };
        self.journal.note(JournalEvent::Order { order, instance });
    }

    fn hung_up(&mut self) -> bool {
        self.terminal_is_gone()
    }

    fn status(&mut self, view: &RunView<'_>) -> String {
        let seen = self.look_well(view);
        self.status_of(&seen, view.core.memory(), view.channels())
    }

    fn status_since(&mut self, view: &RunView<'_>, since: u64) -> Option<(String, u64)> {
        Some(self.news_since(view, since))
    }

    fn peek(&mut self, link: ConnectionId, what: &PeekRequest) -> Option<Sight> {
        self.look_at(link, what)
    }

    fn peek_replies(&mut self) -> Vec<(ConnectionId, Sight)> {
        self.sights_for_clients()
    }

    fn steer(&mut self, link: ConnectionId, what: SteerRequest, view: &RunView<'_>) -> Option<Fault> {
        self.steer_for(link, what, view.now)
    }

    fn taps(&mut self) -> Vec<RemoteTapEvent> {
        std::mem::take(&mut self.taps)
    }

    fn steer_replies(&mut self) -> Vec<(ConnectionId, Result<String, Fault>)> {
        self.steering_answers()
    }

    fn orders(&mut self) -> Vec<AgentOrder> {
        self.steering_orders()
    }

    fn directory(&self, instance: InstanceId) -> String {
        self.directory.workdir(&self.name(instance)).display().to_string()
    }

    fn timeline(&mut self, rank: RankId, seen: &TimelineDelta, now: u64, why: DrainReason) {
        if self.is_here(self.instance_of(rank)) {
            self.add_to_timeline(rank, seen, now, why);
        }
    }

    fn timelines_seen(&mut self) {
        if let Some(Err(why)) = self.timeline.as_mut().map(TimelineRecorder::write) {
            self.no_timeline(&why);
        }
    }

    fn tick_every(&self) -> Option<Duration> {
        let look = self.manager.next_check();
        Some(if self.view.is_some() { look.min(REDRAW) } else { look })
    }

    fn show(&mut self, view: &RunView<'_>) {
        let seen = self.look_well(view);
        let records = self.records(&seen);
        let text = format!("how the run stands:\n{}", of_instances(records, self.record.time_unit.as_deref()));
        self.log.add(Level::Info, "run", &text);
        match &mut self.view {
            Some(screen) => screen.say(text.trim_end()),
            // The log is shown, and has these lines already.
            None if self.shown => {}
            None => crate::say_lines(&text),
        }
    }

    fn tick(&mut self, view: &RunView<'_>) -> Vec<AgentOrder> {
        let mut seen = self.see(&view.instances, view.now);
        see_threads(&mut seen, &view.instances);
        if self.view.is_some() {
            let records = self.records(&seen);
            let (run, seconds) = (&self.record.run, self.since.elapsed().as_secs_f64());
            if let Some(screen) = &mut self.view {
                screen.time_unit.clone_from(&self.record.time_unit);
                screen.draw(run, seconds, &records, view.now);
            }
        }
        self.note_started_elsewhere(&seen);
        self.tell_watchers(view);
        self.watch_outputs();
        self.steering_tick(&seen, view.now);
        let mut orders = self.watch_others(view.now);
        orders.extend(self.look(&seen, view));
        orders
    }

    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        self.heard_from_others(heard)
    }

    fn connection_refused(&mut self, who: &str, why: &str, others: u64) {
        self.not_let_in(who, why, others);
    }

    fn grace_cut_short(&mut self) {
        self.hurry_others();
    }

    fn is_done_here(&mut self, _: &RunView<'_>) -> Option<Vec<AgentOrder>> {
        Some(self.own_part_is_done())
    }
}
