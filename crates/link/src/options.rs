//! How a path is to be, and what an address of one is.

use crate::error::{Misuse, PathError};
use ligament_catalogue::Fault;
use ligament_net::{Compression, Congestion, Gate, Listen, NetOptions, Route, Station, MAX_STREAMS};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a path is to be. Both ends must agree on `encrypt`; all else is each end's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Connections, 1 to 256: the opening end says how many; 0: as many as the link needs. Small messages have
    /// one for themselves.
    pub streams: u16,
    /// True if messages are encrypted. Both ends prove that they hold the key in either case.
    pub encrypt: bool,
    /// The number of bytes that may be sent and not yet be received there; one message always may.
    pub window: u64,
    /// For how long the path may be without a connection before it is lost.
    pub patience: Duration,
    /// True if large messages are compressed where that makes them arrive sooner.
    pub compress: bool,
    /// The longest message that is accepted (bytes).
    pub longest: u64,
    /// True if the kernel's usual congestion control stays even over a way that is long or loses segments,
    /// where another one carries more.
    pub usual_congestion: bool,
    /// Bytes in a second that this end sends over a long way, at most; none: as fast as it goes.
    pub pace: Option<u64>,
    /// Files of relays, the nearest first; both ends name the same one last.
    pub relays: Vec<PathBuf>,
    /// Relays whose files were read already; they come after those of `relays`.
    pub stations: Vec<Station>,
    /// A machine that ssh leads to, from which the other end is reached where it is not from here.
    pub gate: Option<Arc<Gate>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            streams: 0,
            encrypt: true,
            window: 64 << 20,
            patience: Duration::from_secs(60),
            compress: true,
            longest: 1 << 40,
            usual_congestion: false,
            pace: None,
            relays: Vec::new(),
            stations: Vec::new(),
            gate: None,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), PathError> {
        if self.streams > MAX_STREAMS {
            return Err(Misuse::Streams { streams: self.streams }.into());
        }
        let relayed = !self.relays.is_empty() || !self.stations.is_empty() || self.gate.is_some();
        if relayed && !self.encrypt {
            return Err(Misuse::Readable.into());
        }
        Ok(())
    }

    pub(crate) fn tuning(&self) -> NetOptions {
        let mut tuning = NetOptions::default();
        tuning.path.patience =
            u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        tuning.path.longest = self.longest;
        tuning.path.conduits = crate::end::CONDUITS;
        tuning.compression = if self.compress { Compression::WhereItPays } else { Compression::Never };
        tuning.congestion = if self.usual_congestion { Congestion::System } else { Congestion::Best };
        tuning.pace = self.pace;
        tuning
    }

    pub(crate) fn way(&self) -> Result<Option<Arc<Route>>, PathError> {
        let read: Result<Vec<Station>, Fault> = self.relays.iter().map(|file| Station::read(file)).collect();
        let stations = [read.map_err(PathError::system)?, self.stations.clone()].concat();
        let way = match (&self.gate, stations.is_empty()) {
            (None, true) => return Ok(None),
            (None, false) => Route::over(&stations),
            (Some(gate), _) => Route::through(Arc::clone(gate), &stations),
        };
        way.map(Some).map_err(PathError::system)
    }
}

/// Reads an address to listen at: `HOST:PORT`, or `:PORT` for all interfaces; port 0 is any that is free.
pub(crate) fn listening(text: &str) -> Result<Listen, PathError> {
    let wrong = |why: &str| PathError::from(Misuse::Address { text: text.to_owned(), why: why.to_owned() });
    let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?;
    let port: u16 = port.parse().map_err(|_| wrong("its port is no number from 0 to 65535"))?;
    let ports = (port != 0).then_some(port..=port);
    let address = match host {
        "" | "*" => None,
        _ => Some(found(text)?.first().ok_or_else(|| wrong("nobody knows it"))?.ip()),
    };
    Ok(Listen { address, ports, ..Listen::default() })
}

/// The addresses behind a name.
pub(crate) fn found(text: &str) -> Result<Vec<SocketAddr>, PathError> {
    let found = text.to_socket_addrs();
    found
        .map(Iterator::collect)
        .map_err(|error| Misuse::Address { text: text.to_owned(), why: error.to_string() }.into())
}
