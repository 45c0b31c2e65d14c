//! Relays: the meeting place of domains that cannot reach each other. A relay joins two connections and
//! copies bytes, which it cannot read, from one to the other. `greeting` has the messages between caller and
//! relay, `station` a relay's address and key, `route` the route of a domain over several relays in a row,
//! `server` the relay itself, `direction` its copying, `trunk` the path between two relays in a row. The
//! bytes are in `docs/reference/relay.md`.

mod direction;
pub(crate) mod greeting;
pub(crate) mod route;
mod server;
pub(crate) mod station;
pub(crate) mod trunk;

pub use route::{DialAddress, Route};
pub use server::{Load, Relay, RelayNotice};
pub use station::Station;
