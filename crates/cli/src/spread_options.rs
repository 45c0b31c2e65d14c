//! Options of a run over several domains, and agents that people start by hand.

use ligament_catalogue::{fault, Fault};
use ligament_launch::site::Site;
use ligament_launch::PlacementOptions;
use ligament_model::ResolvedModel;
use ligament_net::{Family, Listen};
use ligament_runtime::{Agents, DomainSpread, ExpectedDomain};
use ligament_wire::DomainId;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Default time for starting all agents by hand.
const BY_HAND_WITHIN: Duration = Duration::from_secs(600);

/// Addresses at which this end listens.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ListenOptions {
    /// The address at which other domains reach this one: an address, an interface such as ib0, or 4 or 6 for
    /// all addresses of IPv4 or IPv6 [default: all interfaces].
    #[arg(long, value_name = "ADDRESS|INTERFACE")]
    pub listen: Option<String>,
    /// The ports of which one is taken [default: any].
    #[arg(long, value_name = "A-B", value_parser = ports)]
    pub ports: Option<RangeInclusive<u16>>,
}

impl ListenOptions {
    /// Returns the options in the form that the library of paths takes.
    pub fn listen(&self) -> Listen {
        let mut listen = Listen { ports: self.ports.clone(), ..Listen::default() };
        match self.listen.as_deref() {
            None => {}
            Some("4") => listen.family = Some(Family::V4),
            Some("6") => listen.family = Some(Family::V6),
            Some(text) => match text.parse::<IpAddr>() {
                Ok(address) => listen.address = Some(address),
                Err(_) => listen.interface = Some(text.to_owned()),
            },
        }
        listen
    }
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, Fault> {
    let port = |text: &str| {
        text.trim()
            .parse::<u16>()
            .map_err(|_| fault!(WORD_OF_THE_COMMAND_LINE, "\"{text}\" is no port (1 to 65535)"))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (port(first)?, port(last)?);
    if first > last || first == 0 {
        return Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "from {first} to {last} there is no port; write 9000-9100, or one port"
        ));
    }
    Ok(first..=last)
}

/// Reads a duration: a number of seconds, or a number with a unit. Examples: `90`, `90s`, `5min`, `2h`.
pub(crate) fn seconds(text: &str) -> Result<Duration, Fault> {
    let (number, unit) = match text.trim() {
        text if text.ends_with("min") => (&text[..text.len() - 3], 60.0),
        text if text.ends_with('h') => (&text[..text.len() - 1], 3600.0),
        text if text.ends_with('s') => (&text[..text.len() - 1], 1.0),
        text => (text, 1.0),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| fault!(WORD_OF_THE_COMMAND_LINE, "\"{text}\" is no time; write 90, 90s, 5min or 2h"))?;
    match number * unit {
        s if s > 0.0 && s <= 1e9 => Ok(Duration::from_secs_f64(s)),
        _ => Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "\"{text}\" is no time that can be waited; write 90, 90s, 5min or 2h"
        )),
    }
}

/// How links to other domains are used.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LinkOptions {
    /// The number of connections that a link to another domain has, 1 to 256; of two domains the larger number
    /// counts [default: as many as the link needs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub streams: Option<u16>,
    /// Send no more than this in a second to each domain that is far away (bytes; 10M are ten million).
    #[arg(long, value_name = "BYTES", value_parser = crate::copying::rate)]
    pub pace: Option<u64>,
}

impl LinkOptions {
    /// Returns these options. Options that are not given are taken from the site file.
    pub fn or(&self, site: &Site) -> LinkOptions {
        LinkOptions { streams: self.streams.or(site.streams), pace: self.pace.or(site.pace) }
    }
}

/// How a run spreads over several domains.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SpreadOptions {
    /// Run over so many other domains besides this machine. Each is joined by hand, with the command that is
    /// shown.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub domains: Option<u32>,
    #[command(flatten)]
    pub listening: ListenOptions,
    #[command(flatten)]
    pub relaying: crate::relay::RelayOptions,
    #[command(flatten)]
    pub linking: LinkOptions,
    /// For how long to wait until all domains have joined [default: as the site says, else 5min; 10min if they
    /// are joined by hand].
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub join_timeout: Option<Duration>,
    /// For how long a domain may be cut off, or silent, before the run is given up.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "60s")]
    pub patience: Duration,
    /// Do not encrypt what passes between domains, on a network that you trust. Who takes part is proved all
    /// the same.
    #[arg(long)]
    pub no_encryption: bool,
    /// Cores of this machine for instances [default: all that this process may use].
    #[arg(long, value_name = "N")]
    pub cores: Option<u32>,
}

impl SpreadOptions {
    /// Returns the run over domains whose agents are started by hand, if `--domains` is given.
    pub fn by_hand<'a>(
        &self,
        site: &Site,
        model: &ResolvedModel,
        agents: &'a mut ByHand,
    ) -> Result<Option<DomainSpread<'a>>, Fault> {
        let Some(domains) = self.domains else { return Ok(None) };
        let linking = self.linking.or(site);
        let expected = (1..=domains).map(DomainId::new);
        let expected = expected.map(|domain| ExpectedDomain { domain, ..ExpectedDomain::default() });
        Ok(Some(DomainSpread {
            expected: expected.collect(),
            listen: self.listening.listen(),
            encrypt: !self.no_encryption,
            join_timeout: self.join_timeout.unwrap_or(BY_HAND_WITHIN),
            patience: self.patience,
            name: None,
            cores: self.cores,
            agent_cores: Some(0),
            streams: linking.streams,
            pace: linking.pace,
            place: PlacementOptions::of(&model.ligament),
            way: self.relaying.way(site, !self.no_encryption)?,
            agents,
        }))
    }
}

/// Agents that people start by hand. The head prints the command to start them.
pub(crate) struct ByHand;

impl Agents for ByHand {
    fn start(&mut self, invitation: &Path, expected: &[ExpectedDomain]) -> Result<(), Fault> {
        let file = invitation.display().to_string();
        let file = if file.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)) {
            file
        } else {
            format!("'{}'", file.replace('\'', r"'\''"))
        };
        let numbers = match expected.len() {
            1 => "1".to_owned(),
            n => format!("N (N is 1 to {n}, another one for each)"),
        };
        crate::say(&format!(
            "start the agents of the other domains, where they are to run:\n    ligament agent --join {file} \
             --domain {numbers}\nWhere that file is not to be seen, take a copy there (chmod 600), or give it \
             on standard input (--join -). Whoever has it can join the run."
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_times_are_read_as_people_write_them() {
        assert_eq!(ports("9000-9100"), Ok(9000..=9100));
        assert_eq!(ports("9000"), Ok(9000..=9000));
        for wrong in ["", "9100-9000", "0", "70000", "a-b"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(seconds("5min"), Ok(Duration::from_secs(300)));
        assert_eq!(seconds("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "-1", "0", "soon", "1e99"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_told_from_an_interface() {
        let listen = |text: &str| ListenOptions { listen: Some(text.into()), ports: None }.listen();
        assert_eq!(listen("::1").address, Some("::1".parse().unwrap()));
        assert_eq!(listen("ib0").interface.as_deref(), Some("ib0"));
        assert_eq!(listen("6").family, Some(Family::V6));
    }
}
