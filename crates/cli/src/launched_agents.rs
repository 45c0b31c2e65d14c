//! A run over machines whose agents a launcher such as mpirun starts: the run's domains, and the processes of
//! the launcher.

use crate::spread_options::SpreadOptions;
use ligament_catalogue::Fault;
use ligament_launch::agents::{self, launcher, AgentCommand};
use ligament_launch::own_command;
use ligament_launch::site::{LauncherKind, Site};
use ligament_launch::{PlacementOptions, RunMachines};
use ligament_model::{LigamentOptions, ResolvedModel};
use ligament_runtime::{Agents, DomainSpread, ExpectedDomain};
use ligament_wire::DomainId;
use std::path::Path;

/// The agents of a run that a launcher starts.
pub(crate) struct LaunchedAgents {
    kind: LauncherKind,
    site: Site,
    /// Arguments of the agents, except for those with which they join the run.
    arguments: Vec<String>,
    running: Option<agents::AgentProcesses>,
}

impl LaunchedAgents {
    /// Makes the description of agents from the site and the command line. Starts no agent.
    pub fn new(machines: &RunMachines, site: &Site, spreading: &SpreadOptions) -> LaunchedAgents {
        let mut arguments = vec!["--quiet".to_owned()];
        if machines.launcher != LauncherKind::None {
            arguments.push("--launched".to_owned());
        }
        let mut tell = |option: &str, value: Option<String>| {
            arguments.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
        };
        tell("--scratch", site.scratch.clone());
        tell("--listen", spreading.listening.listen.clone().or_else(|| site.interface.clone()));
        let ports = spreading.listening.ports.clone().or_else(|| site.ports.clone());
        tell("--ports", ports.map(|ports| format!("{}-{}", ports.start(), ports.end())));
        if let Some(jump) = spreading.relaying.jump.as_ref().or(site.jump.as_ref()) {
            tell("--jump", Some(jump.clone()));
            let by_hand = spreading.relaying.jump.is_some();
            let options = if by_hand { &spreading.relaying.jump_option } else { &site.ssh_options };
            options.iter().for_each(|option| tell("--jump-option", Some(option.clone())));
        }
        let linking = spreading.linking.or(site);
        tell("--streams", linking.streams.map(|streams| streams.to_string()));
        tell("--pace", linking.pace.map(|pace| pace.to_string()));
        tell("--patience", Some(format!("{}s", spreading.patience.as_secs_f64())));
        LaunchedAgents { kind: machines.launcher, site: site.clone(), arguments, running: None }
    }

    /// Returns the run over these machines.
    pub fn spread<'a>(
        &'a mut self,
        machines: &RunMachines,
        spreading: &SpreadOptions,
        model: &ResolvedModel,
    ) -> Result<DomainSpread<'a>, Fault> {
        let site = &self.site;
        let mut listening = spreading.listening.clone();
        listening.listen = listening.listen.or_else(|| site.interface.clone());
        listening.ports = listening.ports.or_else(|| site.ports.clone());
        // An unlisted machine of the user runs only the head, and instances that must run there.
        let own = machines.here.as_ref().map_or(Some(0), |here| here.cores);
        let options: &LigamentOptions = &model.ligament;
        let linking = spreading.linking.or(site);
        let encrypt = !spreading.no_encryption && !site.trusted_network;
        Ok(DomainSpread {
            expected: machines.others.clone(),
            listen: listening.listen(),
            way: spreading.relaying.way(site, encrypt)?,
            encrypt,
            join_timeout: spreading.join_timeout.unwrap_or(site.start_within),
            patience: spreading.patience,
            name: machines.here.as_ref().map(|here| here.name.clone()),
            cores: spreading.cores.or(own),
            agent_cores: site.agent_cores,
            streams: linking.streams,
            pace: linking.pace,
            place: PlacementOptions::of(options),
            agents: self,
        })
    }
}

impl Agents for LaunchedAgents {
    fn start(&mut self, invitation: &Path, expected: &[ExpectedDomain]) -> Result<(), Fault> {
        let command = AgentCommand {
            invitation: invitation.to_path_buf(),
            ligament: self.site.ligament_here().unwrap_or_else(own_command),
            arguments: self.arguments.clone(),
            directory: invitation.parent().unwrap_or(Path::new(".")).to_path_buf(),
        };
        match launcher(self.kind, &self.site) {
            Some(launcher) => {
                self.running = Some(agents::AgentProcesses::start(launcher.as_ref(), expected, &command)?);
            }
            None => {
                let lines: Vec<String> =
                    agents::by_hand(expected, &command).iter().map(|line| format!("    {line}\n")).collect();
                crate::say_lines(&format!("start the agents of the other domains:\n{}", lines.concat()));
            }
        }
        Ok(())
    }

    fn lost(&mut self) -> Vec<(DomainId, Fault)> {
        let ended = self.running.as_mut().map(agents::AgentProcesses::ended).unwrap_or_default();
        let each =
            |lost: agents::LostAgents| lost.domains.into_iter().map(move |domain| (domain, lost.why.clone()));
        ended.into_iter().flat_map(each).collect()
    }
}
