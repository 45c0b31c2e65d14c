//! The list of the domains that are expected to take part in a run. The list shows which domains have
//! joined, and which are missing when the time to join is over.

use crate::summary::format_seconds;
use ligament_agent::domains::ExpectedDomain;
use ligament_catalogue::{fault, Fault};
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{from_bytes, Extent, FromAgent, FromHead, Join, VERSION};
use ligament_wire::DomainId;

/// A domain that has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedDomain {
    pub domain: DomainId,
    pub name: String,
    /// Name of the domain's machine, in the form that the launcher of ranks uses.
    pub machine: String,
    pub join: Join,
}

/// The domains of a run, until all have joined.
///
/// The host passes each message of a domain to [`DomainRoster::heard`] and each loss of a domain to
/// [`DomainRoster::forget`], until [`DomainRoster::complete`] returns all domains.
#[derive(Debug)]
pub struct DomainRoster {
    expected: Vec<ExpectedDomain>,
    joined: Vec<Option<Join>>,
}

impl DomainRoster {
    /// Makes a roster for these domains, each of which has a different number.
    pub fn new(expected: Vec<ExpectedDomain>) -> DomainRoster {
        DomainRoster { joined: vec![None; expected.len()], expected }
    }

    /// Takes a message of a domain. If the domain cannot take part, the error contains the answer to the
    /// domain.
    ///
    /// # Errors
    /// The domain cannot take part. The error has the reason for the log, and the answer to the domain.
    pub fn heard(&mut self, domain: DomainId, bytes: &[u8]) -> Result<(), (Fault, Vec<u8>)> {
        self.take(domain, bytes).map_err(|why| {
            let told = to_bytes(&FromHead::Refused(why.with_code()));
            (fault!(CANNOT_JOIN, "the agent of domain {domain} cannot take part: {why}").caused_by(&why), told)
        })
    }

    fn take(&mut self, domain: DomainId, bytes: &[u8]) -> Result<(), Fault> {
        let message: FromAgent = from_bytes(bytes)?;
        Extent::default().check(domain, &message)?;
        let FromAgent::Join(mut join) = message else {
            return Err(fault!(DOMAIN_SENDS_NONSENSE, "its first word is not that it joins"));
        };
        if join.version != VERSION {
            return Err(fault!(
                OTHER_VERSION_ELSEWHERE,
                "its Ligament ({}) speaks version {} of the protocol between domains, and this run's ({}) \
                version {VERSION}; install the same version everywhere",
                join.ligament,
                join.version,
                env!("CARGO_PKG_VERSION")
            ));
        }
        let found = self.expected.iter().position(|one| one.domain == domain);
        let place = found.ok_or_else(|| {
            let last = self.expected.len();
            fault!(
                CANNOT_JOIN,
                "the run has no domain {domain}; say with --domain which one this is, from 1 to {last}"
            )
        })?;
        join.cores = self.expected[place].cores.unwrap_or(join.cores).max(1);
        self.joined[place].get_or_insert(join);
        Ok(())
    }

    /// Returns the numbers of the domains that have joined.
    pub fn have_joined(&self) -> impl Iterator<Item = DomainId> + '_ {
        let there = self.expected.iter().zip(&self.joined).filter(|(_, joined)| joined.is_some());
        there.map(|(expected, _)| expected.domain)
    }

    /// Returns the name of a domain, for people.
    pub fn name(&self, domain: DomainId) -> String {
        let found = self.expected.iter().find(|one| one.domain == domain);
        found.map_or_else(|| format!("domain {domain}"), |one| name_of(one, ""))
    }

    /// Removes a domain whose agent is lost. The domain may join again.
    pub fn forget(&mut self, domain: DomainId) {
        for (_, joined) in self.expected.iter().zip(&mut self.joined).filter(|(one, _)| one.domain == domain) {
            *joined = None;
        }
    }

    /// Returns a domain if the domain has joined.
    pub fn joined(&self, domain: DomainId) -> Option<JoinedDomain> {
        let place = self.expected.iter().position(|one| one.domain == domain)?;
        let join = self.joined[place].clone()?;
        let expected = &self.expected[place];
        let (name, machine) = (name_of(expected, machine(&join)), machine_of(expected, &join));
        Some(JoinedDomain { domain, name, machine, join })
    }

    /// Returns the names of the domains that have not joined.
    pub fn missing(&self) -> Vec<String> {
        let missing = self.expected.iter().zip(&self.joined).filter(|(_, joined)| joined.is_none());
        missing.map(|(expected, _)| name_of(expected, "")).collect()
    }

    /// Returns the number of domains that have joined, and the number of expected domains.
    pub fn count(&self) -> (usize, usize) {
        (self.joined.iter().flatten().count(), self.expected.len())
    }

    /// Makes the error for a run that cannot begin because domains are missing after this time in s.
    pub fn too_late(&self, seconds: f64) -> Fault {
        let missing = self.missing();
        let (come, all) = self.count();
        let time = format_seconds(seconds);
        match missing.as_slice() {
            [one] => fault!(
                AGENTS_MISSING,
                "the agent of {one} has not joined the run within {time} ({come} of {all} came); start it, or \
                give it more time with --join-timeout"
            ),
            _ => fault!(
                AGENTS_MISSING,
                "the agents of {} have not joined the run within {time} ({come} of {all} came); start them, \
                or give them more time with --join-timeout",
                crate::list_some(&missing, 8)
            ),
        }
    }

    /// Returns all domains in the order of their numbers, or `None` if a domain has not joined.
    pub fn complete(&self) -> Option<Vec<JoinedDomain>> {
        let one = |(expected, join): (&ExpectedDomain, &Option<Join>)| {
            let join = join.clone()?;
            let (name, machine) = (name_of(expected, machine(&join)), machine_of(expected, &join));
            Some(JoinedDomain { domain: expected.domain, name, machine, join })
        };
        let mut all: Vec<JoinedDomain> =
            self.expected.iter().zip(&self.joined).map(one).collect::<Option<_>>()?;
        all.sort_by_key(|joined| joined.domain);
        Some(all)
    }
}

/// Returns the machine's name in its batch system, or the host name if there is no batch system.
fn machine(join: &Join) -> &str {
    join.node.as_deref().unwrap_or(&join.host)
}

/// Returns the name of a domain's machine, in the form that the launcher of ranks uses.
fn machine_of(expected: &ExpectedDomain, join: &Join) -> String {
    let name = if expected.name.is_empty() { machine(join) } else { &expected.name };
    name.to_owned()
}

/// Returns the name of a domain, for people. The name includes the site if the domain has one, because
/// machines of different sites may have the same name.
fn name_of(expected: &ExpectedDomain, host: &str) -> String {
    let site = expected.site.as_deref();
    match (expected.name.as_str(), host, site) {
        ("", "", None) => format!("domain {}", expected.domain),
        ("", "", Some(site)) => format!("domain {} at {site}", expected.domain),
        ("", name, Some(site)) | (name, _, Some(site)) => format!("{site}/{name}"),
        ("", host, None) => host.to_owned(),
        (name, _, None) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(version: u32) -> Vec<u8> {
        to_bytes(&FromAgent::Join(Join { version, host: "box".into(), cores: 3, ..Join::default() }))
    }

    fn two() -> DomainRoster {
        let one = |domain, name: &str, cores| ExpectedDomain {
            domain: DomainId::new(domain),
            name: name.into(),
            cores,
            ..ExpectedDomain::default()
        };
        DomainRoster::new(vec![one(2, "node3", Some(8)), one(1, "", None)])
    }

    #[test]
    fn a_node_has_the_name_that_its_batch_system_knows_and_people_see_its_site_as_well() {
        let expected =
            ExpectedDomain { domain: DomainId::new(1), site: Some("big".into()), ..ExpectedDomain::default() };
        let node = |node: Option<&str>| {
            let mut gathering = DomainRoster::new(vec![expected.clone()]);
            let (host, node) = ("box".to_owned(), node.map(str::to_owned));
            let join = Join { version: VERSION, host, node, ..Join::default() };
            gathering.heard(DomainId::new(1), &to_bytes(&FromAgent::Join(join))).unwrap();
            let one = gathering.complete().unwrap().remove(0);
            (one.name, one.machine)
        };
        assert_eq!(node(Some("n7")), ("big/n7".into(), "n7".into()), "what starts ranks there knows no sites");
        assert_eq!(node(None), ("big/box".into(), "box".into()));
    }

    #[test]
    fn all_are_there_when_each_has_joined_in_any_order() {
        let mut gathering = two();
        assert_eq!(gathering.missing(), ["node3", "domain 1"]);
        gathering.heard(DomainId::new(2), &join(VERSION)).unwrap();
        gathering.heard(DomainId::new(2), &join(VERSION)).unwrap();
        assert_eq!((gathering.count(), gathering.complete()), ((1, 2), None));
        gathering.heard(DomainId::new(1), &join(VERSION)).unwrap();
        let all = gathering.complete().unwrap();
        let told: Vec<_> =
            all.iter().map(|one| (one.domain.number(), one.name.as_str(), one.join.cores)).collect();
        assert_eq!(told, [(1, "box", 3), (2, "node3", 8)]);
    }

    #[test]
    fn who_does_not_come_is_named() {
        let mut gathering = two();
        assert!(gathering.too_late(60.0).contains("the agents of node3, domain 1 have not joined"));
        gathering.heard(DomainId::new(1), &join(VERSION)).unwrap();
        let why = gathering.too_late(1.0);
        assert!(why.contains("the agent of node3 has not joined the run within 1.00 s (1 of 2 came)"), "{why}");
    }

    #[test]
    fn another_version_and_strangers_are_refused_with_the_reason() {
        let mut gathering = two();
        let (why, told) = gathering.heard(DomainId::new(1), &join(VERSION + 1)).unwrap_err();
        assert!(why.contains("install the same version everywhere"), "{why}");
        assert!(matches!(from_bytes(&told), Ok(FromHead::Refused(_))));
        assert!(gathering.heard(DomainId::new(3), &join(VERSION)).unwrap_err().0.contains("no domain 3"));
        assert!(gathering.heard(DomainId::new(1), b"garbage").is_err());
        assert!(gathering.heard(DomainId::new(1), &to_bytes(&FromAgent::Over(None))).is_err());
        assert_eq!(gathering.count(), (0, 2));
    }
}
