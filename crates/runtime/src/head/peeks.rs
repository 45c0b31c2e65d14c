//! Requests for files of running instances. The files come from the run directory, or from the agent of the
//! domain that has them.

use super::Runtime;
use crate::files::see;
use ligament_agent::{ConnectionId, PeekRequest};
use ligament_catalogue::said;
use ligament_wire::control::to_bytes;
use ligament_wire::domains::{FromHead, Look, PeekReply};
use ligament_wire::peek::Sight;
use ligament_wire::DomainId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time for which the head waits for an agent's answer.
const AGENT_TIMEOUT: Duration = Duration::from_secs(20);

/// Requests that wait for an answer.
#[derive(Default)]
pub(super) struct Peeks {
    last: u64,
    open: HashMap<u64, OpenPeek>,
    answered: Vec<(ConnectionId, Sight)>,
}

struct OpenPeek {
    link: ConnectionId,
    domain: DomainId,
    until: Instant,
}

impl Peeks {
    fn open(&mut self, link: ConnectionId, domain: DomainId) -> u64 {
        self.last += 1;
        self.open.insert(self.last, OpenPeek { link, domain, until: Instant::now() + AGENT_TIMEOUT });
        self.last
    }

    /// Takes the answer of a domain. An answer without a request is ignored.
    pub fn seen(&mut self, domain: DomainId, seen: PeekReply) {
        if self.open.get(&seen.ticket).is_some_and(|open| open.domain == domain) {
            self.answered.extend(self.open.remove(&seen.ticket).map(|open| (open.link, seen.sight)));
        }
    }

    /// Returns the answers that are ready. If `why_not` returns a reason for a domain, its agent will not
    /// answer, and the reason is the answer to the client.
    fn take(
        &mut self,
        now: Instant,
        why_not: impl Fn(DomainId, bool) -> Option<String>,
    ) -> Vec<(ConnectionId, Sight)> {
        let mut answered = std::mem::take(&mut self.answered);
        self.open.retain(|_, open| match why_not(open.domain, open.until <= now) {
            None => true,
            Some(why) => {
                answered.push((open.link, Sight::Nothing(why)));
                false
            }
        });
        answered
    }
}

impl Runtime<'_> {
    /// Reads a file for a client. Returns `None` if the file is in another domain, whose agent is asked for it.
    pub(super) fn look_at(&mut self, link: ConnectionId, what: &PeekRequest) -> Option<Sight> {
        let PeekRequest { instance, path, offset, most } = what;
        let domain = self.abroad.as_ref().map_or(DomainId::HEAD, |abroad| abroad.head.domain_of_all(*instance));
        let asked = self.record.domains.get(domain.index()).is_some_and(|domain| domain.scratch.is_some());
        let Some(abroad) = self.abroad.as_ref().filter(|_| asked) else {
            return Some(see(&self.directory.home(&self.name(*instance)), path, *offset, *most));
        };
        let ticket = self.peeks.open(link, domain);
        let look = Look { ticket, instance: *instance, path: path.clone(), offset: *offset, most: *most };
        abroad.part.carrier.control(domain, to_bytes(&FromHead::Look(look)));
        None
    }

    /// Returns the answers for clients.
    pub(super) fn sights_for_clients(&mut self) -> Vec<(ConnectionId, Sight)> {
        let (abroad, domains) = (&self.abroad, &self.record.domains);
        self.peeks.take(Instant::now(), |domain, late| {
            let name = domains.get(domain.index()).map_or("another machine", |domain| domain.name.as_str());
            if !abroad.as_ref().is_some_and(|abroad| abroad.head.is_there(domain)) {
                Some(said!(
                    NOTHING_TO_SEE,
                    "the agent on {name} (domain {domain}) vanished, and with it what is to be shown"
                ))
            } else if late {
                Some(said!(
                    NOTHING_TO_SEE,
                    "the agent on {name} (domain {domain}) has not shown it within {} s; try again",
                    AGENT_TIMEOUT.as_secs()
                ))
            } else {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: DomainId = DomainId::new(1);
    const TWO: DomainId = DomainId::new(2);

    fn nothing(ticket: u64) -> PeekReply {
        PeekReply { ticket, sight: Sight::Nothing("x".into()) }
    }

    #[test]
    fn only_the_domain_that_was_asked_can_answer_and_only_once() {
        let mut peeks = Peeks::default();
        let ticket = peeks.open(5, TWO);
        peeks.seen(ONE, nothing(ticket));
        peeks.seen(TWO, nothing(ticket + 1));
        let now = Instant::now();
        assert!(peeks.take(now, |_, _| None).is_empty());
        peeks.seen(TWO, nothing(ticket));
        peeks.seen(TWO, nothing(ticket));
        assert_eq!(peeks.take(now, |_, _| None), [(5, Sight::Nothing("x".into()))]);
    }

    #[test]
    fn who_waits_for_an_agent_that_is_gone_or_silent_is_told() {
        let mut peeks = Peeks::default();
        peeks.open(5, ONE);
        peeks.open(6, TWO);
        let gone = |domain, late| (domain == ONE || late).then(|| format!("{domain} {late}"));
        let now = Instant::now();
        assert_eq!(peeks.take(now, gone), [(5, Sight::Nothing("1 false".into()))]);
        assert_eq!(peeks.take(now + AGENT_TIMEOUT * 2, gone), [(6, Sight::Nothing("2 true".into()))]);
        assert!(peeks.open.is_empty());
    }
}
