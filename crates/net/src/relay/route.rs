//! The route of a domain over relays. A connection greets each relay in turn, through the relays before it.
//! At the last relay the connection waits for another domain, or asks for a domain that waits there.

use super::greeting::{is_challenge, proof, Ask, MeetingPoint, Want, ASK_BYTES, CHALLENGE_BYTES};
use super::Station;
use crate::connection::Connection;
use crate::fixed_read::{failed, FixedRead};
use crate::gate::Gate;
use crate::greeting::Boot;
use crate::keys::{random, Prover};
use ligament_catalogue::{fault, Fault};
use ligament_path::RelayDistance;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Maximum number of relays in a row.
const MAX_RELAYS_IN_A_ROW: usize = 8;
/// Number of bytes at the beginning of a circuit number that a waiting domain takes from its `Boot`.
pub(crate) const LIFE_PREFIX_BYTES: usize = 8;

/// The route by which a domain reaches others: over relays in a row, the nearest first. Domains meet at the
/// last relay. A domain that cannot dial anything by itself begins at a gate.
pub struct Route {
    gate: Option<Arc<Gate>>,
    stations: Vec<Station>,
    hops: Vec<Hop>,
    /// Addresses of the first relay.
    addresses: Vec<SocketAddr>,
}

struct Hop {
    name: [u8; 16],
    prover: Prover,
}

impl Route {
    /// Makes the route over these relays. Names of the first relay are looked up, which may take a while.
    ///
    /// # Errors
    /// There are no relays or too many, one relay is named twice, or the first relay's address is not known.
    pub fn over(stations: &[Station]) -> Result<Arc<Route>, Fault> {
        let Some(first) = stations.first() else { return Err(fault!(RELAY_UNUSABLE, "a way has a relay")) };
        if stations.len() > MAX_RELAYS_IN_A_ROW {
            return Err(fault!(
                RELAY_UNUSABLE,
                "a way over {} relays is too long; {MAX_RELAYS_IN_A_ROW} are allowed",
                stations.len()
            ));
        }
        let mut hops: Vec<Hop> = Vec::new();
        for station in stations {
            let name = station.keys.relay();
            if hops.iter().any(|hop| hop.name == name) {
                return Err(fault!(
                    RELAY_UNUSABLE,
                    "the relay at {} comes twice on one way; name each relay once",
                    station.at.join(" or ")
                ));
            }
            hops.push(Hop { name, prover: station.keys.prover() });
        }
        Ok(Arc::new(Route { gate: None, stations: stations.to_vec(), hops, addresses: first.addresses()? }))
    }

    /// Makes the route through a gate, and then over these relays if there are any.
    ///
    /// # Errors
    /// As for `over`.
    pub fn through(gate: Arc<Gate>, stations: &[Station]) -> Result<Arc<Route>, Fault> {
        let way = if stations.is_empty() {
            Route { gate: None, stations: Vec::new(), hops: Vec::new(), addresses: Vec::new() }
        } else {
            Arc::into_inner(Route::over(stations)?).expect("nobody else has it")
        };
        Ok(Arc::new(Route { gate: Some(gate), ..way }))
    }

    /// Returns the relays.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Returns the entry for a domain's list of addresses which says that the domain waits at the common
    /// relay. The entry names the first relay of the domain's route. Returns `None` for a route without
    /// relays.
    pub fn word(&self) -> Option<String> {
        self.stations.first().map(|first| format!("{RELAY}{}", first.name()))
    }

    /// Returns true if the route leads through a gate.
    pub fn has_gate(&self) -> bool {
        self.gate.is_some()
    }

    /// Returns true if `station` is the first relay of the route, or if the route has no relay.
    pub(crate) fn begins_at(&self, station: Option<&Station>) -> bool {
        self.hops.first().is_none_or(|hop| station.is_some_and(|station| hop.name == station.keys.relay()))
    }

    /// Returns the number of relays.
    pub fn length(&self) -> usize {
        self.hops.len()
    }

    /// Returns the places of the first relay: the direct ones, then those through the gate. Two relays in a
    /// row are linked by a trunk.
    pub(crate) fn places(self: &Arc<Route>) -> Vec<DialAddress> {
        self.places_with(if self.hops.len() > 1 { RelayDistance::Trunk } else { RelayDistance::Relays })
    }

    /// Returns the same places for a domain whose first relay is another one. A trunk leads to that relay.
    pub(crate) fn places_elsewhere(self: &Arc<Route>) -> Vec<DialAddress> {
        self.places_with(RelayDistance::Trunk)
    }

    /// Returns the places of the first relay if that relay is itself the other end.
    pub(crate) fn places_of_relay(self: &Arc<Route>) -> Vec<DialAddress> {
        self.places_with(RelayDistance::Nothing)
    }

    fn places_with(self: &Arc<Route>, behind: RelayDistance) -> Vec<DialAddress> {
        let over = |&address: &SocketAddr| DialAddress::Over(Arc::clone(self), address, behind);
        self.also(self.addresses.iter().map(over).collect())
    }

    /// Returns these places, followed by the same places through the gate, if the route has one.
    pub(crate) fn also(&self, mut places: Vec<DialAddress>) -> Vec<DialAddress> {
        if let Some(gate) = &self.gate {
            let through = |place: &DialAddress| DialAddress::Through(Arc::clone(gate), Box::new(place.clone()));
            places.extend(places.iter().map(through).collect::<Vec<_>>());
        }
        places
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Way({:?}, {:?}, {} relays)", self.gate, self.addresses, self.hops.len())
    }
}

/// Prefix of a relay's name in the address of a domain.
const RELAY: &str = "relay:";

/// An address of a domain.
#[derive(Debug, Clone)]
pub enum DialAddress {
    At(SocketAddr),
    /// An address over relays: the route, the address of the first relay, and the kind of link behind that
    /// relay.
    Over(Arc<Route>, SocketAddr, RelayDistance),
    /// An address of another kind that is reached through a gate.
    Through(Arc<Gate>, Box<DialAddress>),
}

impl DialAddress {
    /// Reads the list of addresses of another domain. `way` is the route of this domain to a relay. Direct
    /// addresses are first, unless the first relays of the two domains differ.
    ///
    /// # Errors
    /// An entry is not an address.
    pub fn read(words: &[String], way: Option<&Arc<Route>>) -> Result<Vec<DialAddress>, Fault> {
        let mut direct = Vec::new();
        let mut over = Vec::new();
        let mut is_near = true;
        for word in words {
            match (word.strip_prefix(RELAY), way) {
                (Some(_), Some(way)) if way.length() > 0 => {
                    is_near = Some(word) == way.word().as_ref();
                    over = if is_near { way.places() } else { way.places_elsewhere() };
                }
                // The other domain waits at a relay, and this domain has no route to a relay.
                (Some(_), _) => {}
                (None, _) => {
                    let address = word
                        .parse()
                        .map_err(|error| fault!(DOMAIN_SENDS_NONSENSE, "\"{word}\" is no address: {error}"))?;
                    direct.push(DialAddress::At(address));
                }
            }
        }
        if let Some(way) = way {
            direct = way.also(direct);
        }
        let (mut first, second) = if is_near { (direct, over) } else { (over, direct) };
        first.extend(second);
        Ok(first)
    }

    /// Returns the first address of a connection to this place, from here or from the gate.
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            DialAddress::At(address) | DialAddress::Over(_, address, _) => *address,
            DialAddress::Through(_, place) => place.address(),
        }
    }

    /// Returns the route over the relays in between.
    pub(crate) fn way(&self) -> Option<&Arc<Route>> {
        match self {
            DialAddress::At(_) => None,
            DialAddress::Over(way, ..) => Some(way),
            DialAddress::Through(_, place) => place.way(),
        }
    }

    /// Returns the number of relays in between.
    pub(crate) fn relays(&self) -> usize {
        self.way().map_or(0, |way| way.length())
    }

    /// Returns the kind of link behind the nearest relay.
    pub(crate) fn behind(&self) -> RelayDistance {
        match self {
            DialAddress::At(_) => RelayDistance::Nothing,
            DialAddress::Over(_, _, behind) => *behind,
            DialAddress::Through(_, place) => place.behind(),
        }
    }

    /// Returns the gate: the machine through which ssh leads to this place.
    pub(crate) fn gate(&self) -> Option<&Gate> {
        match self {
            DialAddress::Through(gate, _) => Some(gate),
            DialAddress::At(_) | DialAddress::Over(..) => None,
        }
    }

    /// Returns true if the place is reached without a gate or a relay.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self, DialAddress::At(_))
    }
}

impl From<SocketAddr> for DialAddress {
    fn from(address: SocketAddr) -> DialAddress {
        DialAddress::At(address)
    }
}

impl fmt::Display for DialAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DialAddress::At(address) => address.fmt(f),
            DialAddress::Over(_, address, _) => write!(f, "the relay {address}"),
            DialAddress::Through(gate, place) => write!(f, "{place} through {}", gate.target()),
        }
    }
}

/// A connection on its way over relays.
pub(crate) struct Passage {
    way: Arc<Route>,
    aim: Want,
    circuit: [u8; 16],
    hop: usize,
    ask: [u8; ASK_BYTES],
    coming: FixedRead<CHALLENGE_BYTES>,
}

impl Passage {
    /// Begins a passage to another domain that waits at the last relay.
    pub fn to(way: &Arc<Route>, run: [u8; 16], domain: u32) -> Passage {
        Passage::begin(way, Want::Meet(MeetingPoint { run, domain }))
    }

    /// Begins a passage to the last relay. The connection waits there as `domain`, whose process is `boot`.
    pub fn wait(way: &Arc<Route>, run: [u8; 16], domain: u32, boot: &Boot) -> Passage {
        let mut passage = Passage::begin(way, Want::Wait(MeetingPoint { run, domain }));
        passage.circuit[..LIFE_PREFIX_BYTES].copy_from_slice(&boot[..LIFE_PREFIX_BYTES]);
        passage
    }

    fn begin(way: &Arc<Route>, aim: Want) -> Passage {
        let (way, circuit) = (Arc::clone(way), random());
        Passage { way, aim, circuit, hop: 0, ask: [0; ASK_BYTES], coming: FixedRead::NONE }
    }

    /// Sends the request to the next relay, to which the connection leads.
    pub fn ask(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let next = self.way.hops.get(self.hop + 1);
        let want = next.map_or(self.aim, |next| Want::Onward(next.name));
        let ask = Ask { want, circuit: self.circuit, nonce: random() };
        self.ask = ask.encode(&self.way.hops[self.hop].prover);
        self.coming = FixedRead::NONE;
        connection.say(&self.ask).map_err(failed)
    }

    /// Continues as far as is possible now. Returns true if the last relay has been passed.
    pub fn advance(&mut self, connection: &mut Connection) -> Result<bool, Fault> {
        while let Some(answer) = self.coming.read(connection)? {
            let prover = &self.way.hops[self.hop].prover;
            if !is_challenge(prover, &self.ask, &answer) {
                return Err(fault!(PATH_GIVEN_UP, "whoever listens there does not hold the relay's key"));
            }
            connection.say(&proof(prover, &self.ask, &answer)).map_err(failed)?;
            self.hop += 1;
            if self.hop == self.way.hops.len() {
                return Ok(true);
            }
            self.ask(connection)?;
        }
        Ok(false)
    }
}
