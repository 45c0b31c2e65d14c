//! Checks of the messages between the head and the agents of other domains: the instances that a message
//! names belong to its sender, channels exist, and no text or path is out of bounds. So no number or path
//! in a checked message points beyond the end of a table or out of a directory.

use super::files::leads_below;
use super::{
    AgentReport, Begin, CheckpointPart, FromAgent, OutputPart, RunOutcome, RunPlan, Snapshot, MAX_TEXT, VERSION,
};
use crate::control::CheckpointOutcome;
use crate::number::{DomainId, InstanceId, RankId, Ranks};
use crate::peek::{Sight, MAX_ANSWER_BYTES, MAX_DIRECTORY_ENTRIES};
use crate::status::{AwaitedEvent, Status};
use ligament_catalogue::{fault, Fault};
use std::path::{Component, Path};

/// Maximum number of ranks of a run.
const MAX_RANKS: u32 = 1 << 24;

/// The extent of a run. A number in a message is valid if it lies within this extent.
#[derive(Debug, Clone, Default)]
pub struct Extent {
    /// The domain of each instance.
    pub placement: Vec<DomainId>,
    pub ranks: Ranks,
    pub channels: usize,
    /// Number of inputs, and of files from which ranks resume.
    pub inputs: usize,
}

impl Extent {
    /// Checks a message that the agent of domain `domain` has sent.
    ///
    /// # Errors
    /// Fails if the message is impossible, for example if it names an instance of another domain.
    pub fn check(&self, domain: DomainId, message: &FromAgent) -> Result<(), Fault> {
        match message {
            FromAgent::Join(join) => {
                short(&join.host)?;
                short(&join.scratch)?;
                join.addresses.iter().try_for_each(|address| short(address))
            }
            FromAgent::Reports(reports) => reports.iter().try_for_each(|report| self.report(domain, report)),
            FromAgent::Snapshot(snapshot) => self.snapshot(domain, snapshot),
            FromAgent::Files(pieces) => pieces.iter().try_for_each(|piece| self.piece(domain, piece)),
            FromAgent::Over(outcome) => outcome.iter().try_for_each(|outcome| self.outcome(outcome)),
            FromAgent::Unable(why) => short(why),
            FromAgent::Wants(inputs) => self.wants(inputs),
            FromAgent::Ready(scratch) => scratch.iter().try_for_each(|scratch| short(scratch)),
            FromAgent::Seen(seen) => sight(&seen.sight),
            FromAgent::Tapped(tapped) => tapped.shows.check(),
            FromAgent::Cores(all) => all.iter().try_for_each(|one| self.owns_all_of(domain, one.instance)),
            FromAgent::Checkpoint(piece) => self.checkpoint(domain, piece),
            FromAgent::Wrote(_) | FromAgent::Leaves { .. } => Ok(()),
        }
    }

    fn owns(&self, domain: DomainId, rank: RankId) -> Result<(), Fault> {
        match self.ranks.try_instance(rank) {
            Some(instance) => self.owns_all_of(domain, instance),
            None => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "it speaks of instance {rank}, and there are {}",
                self.ranks.count()
            )),
        }
    }

    fn owns_all_of(&self, domain: DomainId, instance: InstanceId) -> Result<(), Fault> {
        match self.placement.get(instance.index()) {
            Some(&owner) if owner == domain => Ok(()),
            Some(owner) => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "it speaks of instance {instance}, which is domain {owner}'s"
            )),
            None => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "it speaks of instance {instance}, and there are {}",
                self.placement.len()
            )),
        }
    }

    fn channel(&self, channel: u32) -> Result<(), Fault> {
        if (channel as usize) < self.channels {
            return Ok(());
        }
        Err(fault!(DOMAIN_SENDS_NONSENSE, "it speaks of channel {channel}, and there are {}", self.channels))
    }

    fn report(&self, domain: DomainId, report: &AgentReport) -> Result<(), Fault> {
        match report {
            AgentReport::Registered { rank, language, .. } => {
                self.owns(domain, *rank).and_then(|()| short(language))
            }
            AgentReport::Exited { rank, .. }
            | AgentReport::Slots { rank, .. }
            | AgentReport::Steers { rank, .. } => self.owns(domain, *rank),
            AgentReport::Steerable { rank, setting } => {
                self.owns(domain, *rank)?;
                short(&setting.name).and_then(|()| short(&setting.unit))
            }
            AgentReport::Checkpoint { rank, outcome, .. } => {
                self.owns(domain, *rank)?;
                match outcome {
                    CheckpointOutcome::Failed { why } | CheckpointOutcome::Unsavable { why } => short(why),
                    CheckpointOutcome::Saved | CheckpointOutcome::Void => Ok(()),
                }
            }
            AgentReport::Sends { rank, ports } => {
                self.owns(domain, *rank)?;
                ports.iter().try_for_each(|port| short(port))
            }
            AgentReport::Declares { rank, ports } => {
                self.owns(domain, *rank)?;
                ports.iter().try_for_each(|(name, operator)| short(name).and_then(|()| short(operator)))
            }
            AgentReport::Said { rank, text, .. } => self.owns(domain, *rank).and_then(|()| short(text)),
            AgentReport::Used { rank, asked, sent, received } => {
                self.owns(domain, *rank)?;
                asked.iter().try_for_each(|name| short(name))?;
                sent.iter().chain(received).try_for_each(|&(channel, _)| self.channel(channel))
            }
            AgentReport::Remark { text, .. } => short(text),
            AgentReport::Ending(outcome) => self.outcome(outcome),
        }
    }

    fn outcome(&self, outcome: &RunOutcome) -> Result<(), Fault> {
        let RunOutcome::Failed(failure) = outcome else { return Ok(()) };
        if failure.rank.is_some_and(|rank| rank.index() >= self.ranks.count()) {
            return Err(fault!(DOMAIN_SENDS_NONSENSE, "it blames an instance that there is not"));
        }
        short(failure.what.text())?;
        failure.said.iter().try_for_each(|said| short(said))
    }

    fn snapshot(&self, domain: DomainId, snapshot: &Snapshot) -> Result<(), Fault> {
        for row in &snapshot.rows {
            self.owns(domain, row.rank)?;
            row.view.status.iter().try_for_each(|status| self.status(status))?;
            row.inspection.ranks.iter().try_for_each(|lag| short(&lag.what))?;
        }
        for lane in &snapshot.lanes {
            self.owns(domain, lane.rank)?;
            self.status(&lane.news.status)?;
        }
        let passages = snapshot.passages.iter().flatten();
        passages.map(|passage| passage.channel).try_for_each(|channel| self.channel(channel))
    }

    fn status(&self, status: &Status) -> Result<(), Fault> {
        match status.waits.as_ref().map(|waits| &waits.what) {
            Some(AwaitedEvent::Message { channels }) => {
                channels.iter().try_for_each(|&channel| self.channel(channel))
            }
            Some(AwaitedEvent::Credit { channel, .. }) => self.channel(*channel),
            Some(AwaitedEvent::Slots { endpoint }) if endpoint.index() >= self.ranks.count() => Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "it waits for instance {endpoint}, and there are {}",
                self.ranks.count()
            )),
            _ => Ok(()),
        }
    }

    fn piece(&self, domain: DomainId, piece: &OutputPart) -> Result<(), Fault> {
        self.owns_all_of(domain, piece.instance)?;
        if !leads_below(&piece.path) {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "it sends the file {:?}, which is not below an instance's directory",
                piece.path
            ));
        }
        piece.part.check()
    }

    fn checkpoint(&self, domain: DomainId, piece: &CheckpointPart) -> Result<(), Fault> {
        self.owns(domain, piece.rank)?;
        below_checkpoint(piece.path.as_deref())?;
        piece.part.check()
    }

    fn wants(&self, inputs: &[u32]) -> Result<(), Fault> {
        let mut wanted = vec![false; self.inputs];
        for &input in inputs {
            match wanted.get_mut(input as usize) {
                Some(wanted) if !*wanted => *wanted = true,
                Some(_) => return Err(fault!(DOMAIN_SENDS_NONSENSE, "it wants input {input} twice")),
                None => {
                    return Err(fault!(
                        DOMAIN_SENDS_NONSENSE,
                        "it wants input {input}, and there are {}",
                        self.inputs
                    ))
                }
            }
        }
        Ok(())
    }
}

fn below_checkpoint(path: Option<&str>) -> Result<(), Fault> {
    match path {
        Some(path) if !leads_below(path) => Err(fault!(
            DOMAIN_SENDS_NONSENSE,
            "the file {path:?} of a checkpoint is not below the directory of its rank"
        )),
        _ => Ok(()),
    }
}

fn sight(sight: &Sight) -> Result<(), Fault> {
    match sight {
        Sight::Directory(entries) if entries.len() > MAX_DIRECTORY_ENTRIES => {
            Err(fault!(DOMAIN_SENDS_NONSENSE, "it shows {} entries of a directory at once", entries.len()))
        }
        Sight::Directory(entries) => entries.iter().try_for_each(|entry| short(&entry.name)),
        Sight::File { bytes, .. } if bytes.len() > MAX_ANSWER_BYTES as usize => {
            Err(fault!(DOMAIN_SENDS_NONSENSE, "it shows {} bytes of a file at once", bytes.len()))
        }
        Sight::File { .. } => Ok(()),
        Sight::Nothing(why) => short(why),
    }
}

impl Begin {
    /// Checks a message that the agent of domain `me` has received from the head.
    ///
    /// # Errors
    /// Fails if the message is impossible, or has another version of the protocol.
    pub fn check(&self, me: DomainId) -> Result<(), Fault> {
        if self.version != VERSION {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "the head speaks version {} of the protocol between domains, and this agent version {VERSION}; \
                 install the same version everywhere",
                self.version
            ));
        }
        if me.index() >= self.domains.len() {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "the run has {} domains, and this is domain {me}",
                self.domains.len()
            ));
        }
        self.plan.check(self.domains.len())?;
        if let Some(input) = self.inputs.iter().find(|input| !leads_below(&input.name)) {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "the input {:?} has no place below the inputs'",
                input.name
            ));
        }
        for file in &self.resume_files {
            if self.plan.ranks().try_instance(file.rank).is_none() {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "rank {} has a file to resume from, and does not exist",
                    file.rank
                ));
            }
            below_checkpoint(file.path.as_deref())?;
        }
        for given in &self.given {
            let known = given.instance.index() < self.plan.instances.len()
                && (given.input as usize) < self.inputs.len()
                && leads_below(&given.name);
            if !known {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "an input called {:?} is given to nobody, or does not exist",
                    given.name
                ));
            }
        }
        Ok(())
    }
}

impl RunPlan {
    /// Checks that every number in the plan refers to something that exists, in a run with this number of
    /// domains.
    fn check(&self, domains: usize) -> Result<(), Fault> {
        let counts = self.instances.iter().map(|instance| instance.ranks.unwrap_or(1));
        let all = counts.fold(0, u32::saturating_add);
        if all > MAX_RANKS {
            return Err(fault!(
                DOMAIN_SENDS_NONSENSE,
                "the plan has {all} ranks, where {MAX_RANKS} are the most"
            ));
        }
        let ranks = self.ranks();
        for instance in &self.instances {
            let known = instance.domain.index() < domains
                && (instance.ports as usize) < self.ports.len()
                && instance.program.is_none_or(|program| (program as usize) < self.programs.len());
            if !known {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "the plan has {} refer to what is not there",
                    instance.name
                ));
            }
            let first = instance.shares.map(|first| self.instances.get(first.index()));
            if first.is_some_and(|first| first.is_none_or(|first| first.domain != instance.domain)) {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "{} is to share a process of another domain",
                    instance.name
                ));
            }
            if instance.ranks.is_some_and(|ranks| ranks == 0 || instance.shares.is_some()) {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "{} has no ranks, or ranks that share a process",
                    instance.name
                ));
            }
            let home = Path::new(&instance.home);
            if !home.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(fault!(
                    DOMAIN_SENDS_NONSENSE,
                    "{} has no directory below the run's: {:?}",
                    instance.name,
                    instance.home
                ));
            }
        }
        for (number, channel) in self.channels.iter().enumerate() {
            for end in [channel.from, channel.to] {
                let instance = ranks.try_instance(end.rank).map(|instance| &self.instances[instance.index()]);
                let ports = instance.and_then(|instance| self.ports.get(instance.ports as usize));
                if ports.is_none_or(|ports| end.port as usize >= ports.len()) {
                    return Err(fault!(DOMAIN_SENDS_NONSENSE, "channel {number} of the plan ends at no port"));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn short(text: &str) -> Result<(), Fault> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    Err(fault!(DOMAIN_SENDS_NONSENSE, "it sends a text of {} bytes", text.len()))
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use crate::number::EndpointId;
    use crate::peek::{Sight, MAX_ANSWER_BYTES, MAX_DIRECTORY_ENTRIES};
    use crate::status::WaitRecord;
    use crate::steering::ModelTime;

    const ONE: DomainId = DomainId::new(1);

    fn extent() -> Extent {
        Extent { placement: DomainId::first(3).collect(), ranks: Ranks::new([1, 1, 2]), channels: 4, inputs: 2 }
    }

    fn row(rank: u32, what: AwaitedEvent) -> FromAgent {
        let waits = Some(WaitRecord { what, since: 0, timed: false, holding: false });
        let status = Status { waits, ..Status::default() };
        let view =
            InstanceView { phase: InstancePhase::Running, pid: None, speaker: None, status: Some(status) };
        let row = RankRow { rank: RankId::new(rank), view, inspection: ProcessInspection::default() };
        FromAgent::Snapshot(Box::new(Snapshot { rows: vec![row], ..Snapshot::default() }))
    }

    #[test]
    fn a_domain_speaks_of_its_own_instances_only() {
        let said = |rank| {
            let rank = RankId::new(rank);
            FromAgent::Reports(vec![AgentReport::Said { rank, level: 1, text: "x".into() }])
        };
        assert_eq!(extent().check(ONE, &said(1)), Ok(()));
        assert!(extent().check(ONE, &said(2)).unwrap_err().contains("domain 2's"));
        assert!(extent().check(ONE, &said(3)).unwrap_err().contains("domain 2's"));
        assert!(extent().check(ONE, &said(4)).unwrap_err().contains("there are 4"));
        assert!(extent().check(ONE, &row(0, AwaitedEvent::Memory)).is_err());
    }

    #[test]
    fn what_passes_passes_channels_that_there_are() {
        let passed = |channel| {
            let passages = Some(vec![Passage { channel, ..Passage::default() }]);
            FromAgent::Snapshot(Box::new(Snapshot { passages, ..Snapshot::default() }))
        };
        assert_eq!(extent().check(ONE, &passed(3)), Ok(()));
        assert!(extent().check(ONE, &passed(4)).unwrap_err().contains("there are 4"));
    }

    #[test]
    fn a_wait_is_for_channels_that_there_are() {
        assert_eq!(extent().check(ONE, &row(1, AwaitedEvent::Message { channels: vec![0, 3] })), Ok(()));
        assert!(extent().check(ONE, &row(1, AwaitedEvent::Message { channels: vec![0, 4] })).is_err());
        assert!(extent().check(ONE, &row(1, AwaitedEvent::Credit { channel: 4, needs: 1 })).is_err());
        assert!(extent().check(ONE, &row(1, AwaitedEvent::Slots { endpoint: EndpointId::new(4) })).is_err());
    }

    #[test]
    fn no_file_leads_out_of_its_instances_directory() {
        let piece = |path: &str, offset, len| {
            let part = FilePart { offset, bytes: vec![0; len], size: 1 << 40, whole: None };
            FromAgent::Files(vec![OutputPart { instance: InstanceId::new(2), path: path.into(), part }])
        };
        assert_eq!(extent().check(DomainId::new(2), &piece("workdir/a/b.csv", 0, MAX_PIECE)), Ok(()));
        for path in ["", "/etc/passwd", "../other/output.log", "workdir/../../../x", "./x", "a\0b"] {
            assert!(extent().check(DomainId::new(2), &piece(path, 0, 1)).is_err(), "{path:?}");
        }
        assert!(extent().check(DomainId::new(2), &piece("a", 0, MAX_PIECE + 1)).is_err());
        assert!(extent().check(DomainId::new(2), &piece("a", u64::MAX, 1)).is_err());
    }

    #[test]
    fn no_file_of_a_checkpoint_leads_out_of_the_directory_of_its_rank() {
        let piece = |rank, path: Option<&str>| {
            let part = FilePart { offset: 0, bytes: vec![0], size: 1, whole: None };
            let (rank, moment, path) = (RankId::new(rank), ModelTime(1.0), path.map(str::to_owned));
            extent().check(ONE, &FromAgent::Checkpoint(CheckpointPart { rank, moment, path, part }))
        };
        assert_eq!(piece(1, None), Ok(()));
        assert_eq!(piece(1, Some("deep/state")), Ok(()));
        assert!(piece(0, None).unwrap_err().contains("domain 0's"));
        for path in ["", "/etc/passwd", "../micro.checkpoint", "a/../../b"] {
            assert!(piece(1, Some(path)).is_err(), "{path:?}");
        }
    }

    #[test]
    fn inputs_are_wanted_once_and_only_those_that_there_are() {
        let wants = |inputs: &[u32]| extent().check(ONE, &FromAgent::Wants(inputs.to_vec()));
        assert_eq!(wants(&[1, 0]), Ok(()));
        assert!(wants(&[2]).unwrap_err().contains("there are 2"));
        assert!(wants(&[1, 0, 1]).unwrap_err().contains("twice"));
    }

    #[test]
    fn no_more_is_shown_at_once_than_was_agreed() {
        let shows = |len: usize| {
            let sight = Sight::File { offset: 0, bytes: vec![0; len], size: 1 << 30, identity: 1 };
            extent().check(ONE, &FromAgent::Seen(PeekReply { ticket: 7, sight }))
        };
        assert_eq!(shows(MAX_ANSWER_BYTES as usize), Ok(()));
        assert!(shows(MAX_ANSWER_BYTES as usize + 1).is_err());
        let entries = vec![crate::peek::Entry::default(); MAX_DIRECTORY_ENTRIES + 1];
        let seen = PeekReply { ticket: 7, sight: Sight::Directory(entries) };
        assert!(extent().check(ONE, &FromAgent::Seen(seen)).is_err());
    }

    #[test]
    fn a_port_shows_no_more_at_once_than_was_agreed_and_nothing_that_means_nothing() {
        let shows = |len: usize, outcome| {
            let at = ModelTime(0.5);
            let (parts, slot) = (1, None);
            let note = TapNote {
                outcome,
                parts,
                bytes: 1,
                timestamp: at,
                next_timestamp: None,
                slot,
                number: 1,
                cost: 0,
            };
            let shows = Shows::Piece { offset: 0, bytes: vec![0; len], note: Some(note) };
            extent().check(ONE, &FromAgent::Tapped(TapReply { ticket: 7, shows }))
        };
        assert_eq!(shows(MAX_PIECE, 1), Ok(()));
        assert!(shows(MAX_PIECE + 1, 1).is_err());
        assert!(shows(1, 99).unwrap_err().contains("means nothing"));
        let shows = Shows::Over("x".repeat(MAX_TEXT + 1));
        assert!(extent().check(ONE, &FromAgent::Tapped(TapReply { ticket: 7, shows })).is_err());
        let sends = |rank| {
            let rank = RankId::new(rank);
            extent().check(
                ONE,
                &FromAgent::Reports(vec![AgentReport::Sends { rank, ports: ["out".into()].into() }]),
            )
        };
        assert!(sends(1).is_ok() && sends(0).is_err());
        let declares = |rank, name: String| {
            let (rank, ports) = (RankId::new(rank), vec![(name, "s".to_owned())]);
            extent().check(ONE, &FromAgent::Reports(vec![AgentReport::Declares { rank, ports }]))
        };
        assert!(declares(1, "in".into()).is_ok() && declares(0, "in".into()).is_err());
        assert!(declares(1, "x".repeat(MAX_TEXT + 1)).is_err());
    }

    #[test]
    fn no_input_leads_out_of_where_it_belongs() {
        let instance = Instance { name: "a".into(), ..Instance::default() };
        let begin = |stored: &str, input, process, name: &str| Begin {
            version: VERSION,
            plan: RunPlan { instances: vec![instance.clone()], ports: vec![vec![]], ..RunPlan::default() },
            domains: vec![Domain::default(), Domain::default()],
            inputs: vec![Input { name: stored.into(), ..Input::default() }],
            given: vec![InputOfProcess { instance: InstanceId::new(process), input, name: name.into() }],
            ..Begin::default()
        };
        assert_eq!(begin("data/mesh", 0, 0, "x/mesh").check(ONE), Ok(()));
        for (stored, input, process, name) in [
            ("../mesh", 0, 0, "a"),
            ("mesh", 1, 0, "a"),
            ("mesh", 0, 1, "a"),
            ("mesh", 0, 0, "/a"),
            ("mesh", 0, 0, "../a"),
        ] {
            assert!(begin(stored, input, process, name).check(ONE).is_err(), "{stored} {name}");
        }
    }

    #[test]
    fn no_file_to_resume_from_leads_out_of_where_it_belongs() {
        let instance = Instance { name: "a".into(), ..Instance::default() };
        let begin = |rank, path: Option<&str>| Begin {
            version: VERSION,
            plan: RunPlan { instances: vec![instance.clone()], ports: vec![vec![]], ..RunPlan::default() },
            domains: vec![Domain::default(), Domain::default()],
            resume_files: vec![ResumeFile { rank: RankId::new(rank), path: path.map(str::to_owned), bytes: 1 }],
            ..Begin::default()
        };
        assert_eq!(begin(0, None).check(ONE), Ok(()));
        assert_eq!(begin(0, Some("x/mesh")).check(ONE), Ok(()));
        for (rank, path) in [(1, None), (0, Some("/a")), (0, Some("../a")), (0, Some(""))] {
            assert!(begin(rank, path).check(ONE).is_err(), "{rank} {path:?}");
        }
    }

    #[test]
    fn a_plan_that_refers_to_nothing_is_refused() {
        let instance =
            |domain| Instance { name: "a".into(), domain: DomainId::new(domain), ..Instance::default() };
        let plan =
            RunPlan { instances: vec![instance(0), instance(1)], ports: vec![vec![]], ..RunPlan::default() };
        let begin = Begin {
            version: VERSION,
            plan,
            domains: vec![Domain::default(), Domain::default()],
            ..Begin::default()
        };
        assert_eq!(begin.check(ONE), Ok(()));
        assert!(begin.check(DomainId::new(2)).is_err());
        let wrong: [fn(&mut Begin); 9] = [
            |begin| begin.version += 1,
            |begin| begin.plan.instances[0].domain = DomainId::new(2),
            |begin| begin.plan.instances[0].ports = 1,
            |begin| begin.plan.instances[1].shares = Some(InstanceId::new(0)),
            |begin| begin.plan.instances[1].home = "../elsewhere".into(),
            |begin| begin.plan.channels.push(PlannedChannel::default()),
            |begin| begin.plan.instances[0].ranks = Some(0),
            |begin| begin.plan.instances[1].ranks = Some(u32::MAX),
            |begin| {
                (begin.plan.instances[0].ranks, begin.plan.instances[0].shares) =
                    (Some(2), Some(InstanceId::new(0)))
            },
        ];
        for (number, spoil) in wrong.iter().enumerate() {
            let mut begin = begin.clone();
            spoil(&mut begin);
            assert!(begin.check(ONE).is_err(), "mistake {number}");
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_nothing_else() {
        let message = row(1, AwaitedEvent::Credit { channel: 3, needs: 77 });
        let bytes = crate::control::to_bytes(&message);
        assert_eq!(from_bytes::<FromAgent>(&bytes), Ok(message));
        for cut in 0..bytes.len() {
            assert!(from_bytes::<FromAgent>(&bytes[..cut]).is_err());
        }
    }
}
