//! One domain of the tests in `tests/domains.rs`: an agent with a carrier, whose paths go over loopback. With
//! the argument `part`, this program is an instance instead.

mod parts;

use ligament_agent::{
    AgentOrder, AgentReport, Carrier, CarrierReport, DrainReason, Guard, Host, OtherDomains, RunOutcome,
    RunPlan, RunView, StartedProcess, TimelineDelta,
};
use ligament_carrier::Event;
use ligament_catalogue::{fault, Fault};
use ligament_launch::{Command, Environment};
use ligament_net::{Invitation, Listen, Listener, Net, NetOptions};
use ligament_wire::{DomainId, EndpointId, InstanceId, RankId};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["part"] => parts::play(),
        ["domain", directory, me] => {
            let outcome = domain(Path::new(directory), me.parse().expect("a number"));
            println!("{outcome:?}");
            std::process::exit(i32::from(outcome != RunOutcome::Done));
        }
        _ => panic!("domain DIRECTORY NUMBER, or part"),
    }
}

/// Waits for a file that another process writes.
fn await_file(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn write_whole(path: &Path, text: &str) {
    let partial = path.with_extension("partial");
    std::fs::write(&partial, text).unwrap();
    std::fs::rename(partial, path).unwrap();
}

/// Runs domain `me`. `directory` has the model, the placement (the domain of each instance), and the
/// invitation. Each domain writes the addresses at which it listens into `address-N`. The addresses at which
/// other domains reach domain N are in `reach-N`; a test may put a proxy between the two.
fn domain(directory: &Path, me: DomainId) -> RunOutcome {
    let mut guard = Guard::start(|loss| eprintln!("{}", loss.describe())).unwrap();
    let domain_of: Vec<DomainId> = std::fs::read_to_string(directory.join("placement"))
        .unwrap()
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let model = ligament_model::read_file(&directory.join("model.ymmsl"));
    let model = model.configuration.expand().unwrap_or_else(|problems| panic!("{problems:?}"));
    let plan = RunPlan::of(&model, "spread").unwrap();
    assert_eq!(plan.instances.len(), domain_of.len());
    let domains = DomainId::first(domain_of.iter().max().unwrap().index() + 1);

    let invitation = Invitation::read(&directory.join("invitation")).unwrap();
    let mut net = Net::new(invitation.keys.clone(), me.number(), invitation.encrypt, NetOptions::default())
        .expect("descriptors");
    let address = Some("127.0.0.1".parse().unwrap());
    let listener = Listener::bind(&Listen { address, ..Listen::default() }).unwrap();
    let addresses: Vec<String> = listener.addresses().iter().map(SocketAddr::to_string).collect();
    write_whole(&directory.join(format!("address-{me}")), &addresses.join("\n"));
    net.listen(listener);
    let (carrier, mut heard) = Carrier::start(net).unwrap();
    // The domain with the lower number listens, and the one with the higher number dials.
    domains.clone().skip(me.index() + 1).for_each(|other| carrier.expect(other, Vec::new()));
    for other in DomainId::first(me.index()) {
        let reach = await_file(&directory.join(format!("reach-{other}")));
        let places = reach.lines().map(|line| line.parse::<SocketAddr>().unwrap().into()).collect();
        carrier.dial(other, places, 2);
    }

    let others: BTreeSet<DomainId> = domains.filter(|&other| other != me).collect();
    let names = plan.instances.iter().map(|instance| instance.name.clone()).collect();
    let mut stage = TestHost { directory: directory.to_owned(), names, waiting_for: others.clone() };
    let elsewhere = OtherDomains { carrier: &carrier, heard: &mut heard, domain_of: &domain_of, me };
    let outcome = ligament_agent::run(plan, &mut guard, &mut stage, Some(elsewhere)).unwrap().outcome;

    let word = if outcome == RunOutcome::Done { "done".to_owned() } else { format!("failed {outcome:?}") };
    others.iter().for_each(|&other| carrier.control(other, word.clone().into_bytes()));
    // Instances of other domains may still send messages to the instances of this domain, which have ended.
    while outcome == RunOutcome::Done && !stage.waiting_for.is_empty() {
        let heard = heard.blocking_recv().unwrap();
        assert!(!matches!(heard, CarrierReport::Failed(_)), "{heard:?}");
        stage.heard(&heard);
    }
    others.iter().for_each(|&other| carrier.end(other));
    let mut left = others;
    while !left.is_empty() {
        let heard = heard.blocking_recv().unwrap();
        if let CarrierReport::Path(Event::Ended { domain } | Event::GivenUp { domain, .. }) = heard {
            left.remove(&DomainId::new(domain));
        }
    }
    outcome
}

/// The host of the agent: it starts instances, and takes messages of other domains.
struct TestHost {
    directory: PathBuf,
    names: Vec<String>,
    /// Domains that have not reported their end.
    waiting_for: BTreeSet<DomainId>,
}

impl Host for TestHost {
    fn begins(&mut self, _: &str, _: &str) {}

    fn start(
        &mut self,
        guard: &mut Guard,
        endpoint: EndpointId,
        instance: InstanceId,
        environment: &[(&'static str, String)],
    ) -> Result<Option<StartedProcess>, Fault> {
        let mut all = Environment::inherited();
        environment.iter().for_each(|(name, value)| all.set(name, value));
        let command = Command {
            program: std::env::current_exe().unwrap(),
            arguments: vec!["part".into()],
            environment: all,
            directory: self.directory.clone(),
            output: self.directory.join(format!("{}.log", self.names[instance.index()])),
            cores: Vec::new(),
        };
        guard.launch(endpoint.number(), command).map(|()| None)
    }

    fn report(&mut self, report: AgentReport) {
        println!("{report:?}");
    }

    fn status(&mut self, _: &RunView<'_>) -> String {
        String::new()
    }

    fn directory(&self, _: InstanceId) -> String {
        self.directory.display().to_string()
    }

    fn tick_every(&self) -> Option<Duration> {
        None
    }

    fn tick(&mut self, _: &RunView<'_>) -> Vec<AgentOrder> {
        Vec::new()
    }

    fn timeline(&mut self, _: RankId, _: &TimelineDelta, _: u64, _: DrainReason) {}

    fn timelines_seen(&mut self) {}

    fn show(&mut self, _: &RunView<'_>) {}

    fn heard(&mut self, heard: &CarrierReport) -> Vec<AgentOrder> {
        println!("{heard:?}");
        let CarrierReport::Control { from, bytes } = heard else { return Vec::new() };
        self.waiting_for.remove(from);
        match &bytes[..] {
            b"done" => Vec::new(),
            why => {
                let why = String::from_utf8_lossy(why);
                vec![AgentOrder::Fail(fault!(FAULT_IN_LIGAMENT, "domain {from}: {why}"))]
            }
        }
    }
}
