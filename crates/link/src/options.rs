//! The options of a path, and the parsing of its addresses.

use crate::error::{Misuse, PathError};
use ligament_catalogue::Fault;
use ligament_net::{Compression, Congestion, Gate, Listen, NetOptions, Route, Station, MAX_STREAMS};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The options of a path. Both ends must use the same `encrypt`; each end chooses all other options for
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Number of connections, 1 to 256; 0 stands for as many as the link needs. The opening end decides.
    /// Small messages have a connection for themselves.
    pub streams: u16,
    /// True if messages are encrypted. In either case, both ends prove that they hold the key.
    pub encrypt: bool,
    /// Maximum number of bytes that are sent but not yet received at the other end. One message may always
    /// be sent.
    pub window: u64,
    /// Maximum time that the path may be without a connection. After it, the path is lost.
    pub patience: Duration,
    /// True if large messages are compressed whenever they then arrive sooner.
    pub compress: bool,
    /// Maximum length of a message that this end accepts, bytes.
    pub longest: u64,
    /// True if the kernel's usual congestion control is used on every link. Otherwise a faster one is used on
    /// links that are long or lose segments.
    pub usual_congestion: bool,
    /// Maximum number of bytes per second that this end sends over a long link; None for no limit.
    pub pace: Option<u64>,
    /// Files of relays, the nearest first. Both ends must name the same relay last.
    pub relays: Vec<PathBuf>,
    /// Relays whose files were read already. They follow the relays of `relays`.
    pub stations: Vec<Station>,
    /// A machine that ssh leads to. If this end cannot reach the other end directly, it connects from this
    /// machine.
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

/// Parses an address to listen at: `HOST:PORT`, or `:PORT` for all interfaces. Port 0 stands for any free
/// port.
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

/// Returns the addresses of the host and port in `text`.
pub(crate) fn found(text: &str) -> Result<Vec<SocketAddr>, PathError> {
    let found = text.to_socket_addrs();
    found
        .map(Iterator::collect)
        .map_err(|error| Misuse::Address { text: text.to_owned(), why: error.to_string() }.into())
}
