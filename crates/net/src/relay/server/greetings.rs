//! The greetings of connections at a relay, and the joining of connections in pairs.

use super::super::direction::Direction;
use super::super::greeting::{challenge, is_proof, Ask, MeetingPoint, Want, ASK_BYTES};
use super::super::route::LIFE_PREFIX_BYTES;
use super::{
    Relay, RelayConnectionState, RelayNotice, MAX_REQUESTS_FOR_A_DOMAIN, MAX_WAITING_OF_A_DOMAIN,
    MEETING_TIMEOUT_NS, REMEMBERED,
};
use crate::fixed_read::FixedRead;
use ligament_catalogue::{fault, Fault};

impl Relay {
    /// Continues with a connection as far as is possible now.
    pub(super) fn go_on(&mut self, token: u64) {
        let Some(end) = self.ends.get_mut(&token) else { return };
        let outcome = match &mut end.state {
            RelayConnectionState::Asks(coming) => match coming.read(&mut end.connection) {
                Ok(None) => Ok(()),
                Ok(Some(bytes)) => self.asked(token, bytes),
                Err(why) => Err(why),
            },
            RelayConnectionState::Proves { ask, bytes, challenge, coming } => {
                let proof = end
                    .connection
                    .flush()
                    .map_err(crate::fixed_read::failed)
                    .and_then(|()| coming.read(&mut end.connection));
                match proof {
                    Ok(None) => Ok(()),
                    Ok(Some(proof)) if !is_proof(&self.prover, bytes, challenge, &proof) => {
                        Err(fault!(NOT_LET_IN, "it repeats a greeting of somebody else"))
                    }
                    Ok(Some(_)) => {
                        let ask = *ask;
                        self.let_in(token, &ask)
                    }
                    Err(why) => Err(why),
                }
            }
            RelayConnectionState::Waits(_) | RelayConnectionState::Wants(_) => {
                // The connection has already named the domain that it meets or waits as. If it is closed,
                // it is forgotten.
                if end.connection.is_closed() {
                    self.part_with(token, None);
                }
                Ok(())
            }
            RelayConnectionState::Joined { other, .. } => {
                let other = *other;
                self.copy(token, other);
                self.copy(other, token);
                Ok(())
            }
        };
        if let Err(why) = outcome {
            self.part_with(token, Some(why));
        }
    }

    fn asked(&mut self, token: u64, bytes: [u8; ASK_BYTES]) -> Result<(), Fault> {
        let ask = Ask::decode(&bytes, &self.prover)?;
        let [young, old] = &mut self.heard;
        if young.contains(&ask.nonce) || old.contains(&ask.nonce) {
            return Err(fault!(NOT_LET_IN, "a request that was heard before"));
        }
        young.insert(ask.nonce);
        if young.len() >= REMEMBERED {
            *old = std::mem::take(young);
        }
        if self.ends.values().any(|end| end.circuit == Some(ask.circuit)) {
            return Err(fault!(NOT_LET_IN, "it has come here before: a loop of relays"));
        }
        let challenge = challenge(&self.prover, &bytes);
        let Some(end) = self.ends.get_mut(&token) else { return Ok(()) };
        end.circuit = Some(ask.circuit);
        end.connection.say(&challenge).map_err(crate::fixed_read::failed)?;
        let (bytes, challenge) = (Box::new(bytes), Box::new(challenge));
        end.state = RelayConnectionState::Proves { ask, bytes, challenge, coming: FixedRead::NONE };
        self.again.insert(token);
        Ok(())
    }

    /// Lets a connection in that has proved that it holds the key.
    fn let_in(&mut self, token: u64, ask: &Ask) -> Result<(), Fault> {
        match ask.want {
            Want::Wait(meeting) => {
                let life = ask.circuit[..LIFE_PREFIX_BYTES].try_into().expect("a number is longer");
                let there = self.meetings.get(&meeting).filter(|meet| !meet.wait.is_empty());
                if there.is_some_and(|meet| meet.life != life) {
                    // Otherwise a connection that wants the domain would be joined with either process by
                    // chance.
                    return Err(fault!(
                        NOT_LET_IN,
                        "another process waits as domain {} already; two paths need two keys",
                        meeting.domain
                    ));
                }
                self.set_deadline(token, None);
                self.set_state(token, RelayConnectionState::Waits(meeting));
                let meet = self.meetings.entry(meeting).or_default();
                meet.life = life;
                meet.wait.push_back(token);
                let oldest = (meet.wait.len() > MAX_WAITING_OF_A_DOMAIN).then(|| meet.wait[0]);
                if let Some(oldest) = oldest {
                    self.part_with(oldest, None);
                }
                self.meet(&meeting);
            }
            Want::Meet(meeting) if self.is_me(&meeting) => self.take_stream(token)?,
            Want::Meet(meeting) => {
                let meet = self.meetings.entry(meeting).or_default();
                if meet.want.len() >= MAX_REQUESTS_FOR_A_DOMAIN {
                    return Err(fault!(NOT_LET_IN, "too many want domain {}", meeting.domain));
                }
                meet.want.push_back(token);
                self.set_deadline(token, Some(MEETING_TIMEOUT_NS));
                self.set_state(token, RelayConnectionState::Wants(meeting));
                self.meet(&meeting);
            }
            Want::Onward(name) => self.lead_on(token, name)?,
        }
        Ok(())
    }

    fn set_state(&mut self, token: u64, state: RelayConnectionState) {
        if let Some(end) = self.ends.get_mut(&token) {
            end.state = state;
        }
    }

    /// Joins connections that want a domain with connections that wait as it. The connection that came last
    /// is taken, because it is the most likely to be alive.
    fn meet(&mut self, meeting: &MeetingPoint) {
        while let Some(meet) = self.meetings.get_mut(meeting) {
            let (Some(&waits), Some(&wants)) = (meet.wait.back(), meet.want.front()) else { return };
            self.forget(waits, meeting);
            self.forget(wants, meeting);
            self.join(wants, waits);
        }
    }

    pub(super) fn join(&mut self, one: u64, other: u64) {
        let mut from = [None; 2];
        for (from, (near, far)) in from.iter_mut().zip([(one, other), (other, one)]) {
            self.set_deadline(near, None);
            let Some(end) = self.ends.get_mut(&near) else { continue };
            *from = Some(end.from);
            end.state = RelayConnectionState::Joined { other: far, coming: Direction::default() };
            self.again.insert(near);
        }
        if let [Some(one), Some(other)] = from {
            self.pairs += 1;
            self.tell(RelayNotice::Joined { one, other });
        }
    }
}
