//! Relays: where domains meet that cannot reach each other. A relay joins two connections and copies bytes
//! from one to the other, which it cannot read. `greeting` is what is said to it, `station` its address and
//! key, `route` several relays in a row as a domain passes them, `server` the relay itself, `direction` its
//! copying, `trunk` the path between two relays in a row. The bytes are in `docs/reference/relay.md`.

mod direction;
pub(crate) mod greeting;
pub(crate) mod route;
mod server;
pub(crate) mod station;
pub(crate) mod trunk;

pub use route::{DialAddress, Route};
pub use server::{Load, Relay, RelayNotice};
pub use station::Station;
