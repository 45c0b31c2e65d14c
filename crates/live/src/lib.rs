//! The server of a run's live page. It is a process of its own, which uses the run's directory and socket
//! like any client, so that the process that holds the run's memory never listens for browsers. `follow`
//! collects the state of the run, and `picture` stores it for all browsers. `door` admits browsers, `links`
//! makes further links, `listen` opens the port or socket, and `public` describes the address behind a proxy.
//! `elsewhere` serves the page of a run at a site over ssh's pipes; `pipes` carries the connections.
//! `answers` has the addresses, `plan` the drawing of the model, `taps` the values of ports, `surfaces` those
//! of fields of grids, `feed` what viewers have and want of both, `steer` the requests for changes, `history`
//! the changes made, `study` the studies, `metrics` the metrics for Prometheus, and `usage` the use of the
//! machine by instances. The page itself is in `dashboard/`, and its built files are included here.

mod answers;
mod demand;
mod door;
mod elsewhere;
mod feed;
mod follow;
mod history;
mod links;
mod listen;
mod metrics;
mod picture;
mod pipes;
mod plan;
mod public;
mod steer;
mod study;
mod surfaces;
mod taps;
mod usage;

pub use door::{Purpose, Role};
pub use elsewhere::{serve_over_pipes, serve_site};
pub use links::{another_link, FurtherLink};
pub use listen::ListenAddress;
pub use public::PublicUrl;

use answers::Server;
use demand::Demand;
use door::Door;
use ligament_catalogue::{fault, Fault};
use ligament_manager::{RunDirectory, RunState};
use ligament_runtime::client::{is_alive, is_here, record_of};
use listen::{Doorstep, TrustFlag};
use picture::SharedPicture;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of the server of a page.
pub struct Options {
    pub run: RunDirectory,
    pub place: ListenAddress,
    /// The role of the first link, and the name of the person for whom it is.
    pub purpose: Purpose,
    /// The address that browsers show, if the page is behind a proxy.
    pub public: Option<PublicUrl>,
    /// The file with the token for `/metrics`, which is made if it does not exist. Without a token there
    /// are no metrics.
    pub metrics_token: Option<PathBuf>,
    /// The process that begins the run, whose record may not exist yet. If this is given, the server ends
    /// by itself when the run is over or has not begun, and no viewer has been present for a while.
    pub begun_by: Option<u32>,
}

/// A link to the page.
#[derive(Debug, Clone)]
pub struct PageLink {
    /// The address of the page, or the path of its socket.
    pub at: String,
    /// The part of the link after the address. It opens the page once.
    pub fragment: String,
    pub role: Role,
    /// The number by which the journal names the user of this link.
    pub number: u32,
}

impl PageLink {
    fn by(door: &Door, purpose: Purpose, at: String) -> std::io::Result<PageLink> {
        let role = purpose.role;
        let (secret, number) = door.secret(purpose)?;
        Ok(PageLink { at, fragment: format!("#{}={secret}", role.word()), role, number })
    }
}

/// Time without a viewer after which a server ends by itself, and the time between two checks.
const UNSEEN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Serves the page until SIGINT or SIGTERM. Calls `opened` when the page can be reached.
///
/// # Errors
/// Fails if the page cannot be served at this place.
pub fn serve(options: Options, opened: impl FnOnce(&PageLink)) -> Result<(), Fault> {
    let metrics = options.metrics_token.as_deref().map(token_in).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_system)?;
    let served = runtime.block_on(served(options, metrics, opened));
    // A thread may still wait for the result of a change. The end of the process ends this thread.
    runtime.shutdown_background();
    served
}

fn no_system(error: std::io::Error) -> Fault {
    fault!(CANNOT_SERVE, "the page cannot be served: {error}")
}

async fn served(
    options: Options,
    metrics: Option<String>,
    opened: impl FnOnce(&PageLink),
) -> Result<(), Fault> {
    let doorstep = Doorstep::open(&options.place)?;
    let at = at(&options.place, &doorstep);
    let (run, begun_by) = (options.run.clone(), options.begun_by);
    let served = ServedPage { at, public: options.public, metrics, begun_by };
    let (router, first, demand) = page(options.run, options.purpose, served)?;
    let mut end = signals().map_err(no_system)?;
    opened(&first);
    tokio::select! {
        served = axum::serve(doorstep, router.into_make_service_with_connect_info::<TrustFlag>()) => {
            served.map_err(no_system)
        }
        // Browsers keep connections open, so the server does not wait for their end.
        _ = end.recv() => Ok(()),
        () = unseen(run, begun_by, demand) => Ok(()),
    }
}

/// Returns the address at which a page can be reached.
fn at(place: &ListenAddress, doorstep: &Doorstep) -> String {
    match place {
        ListenAddress::Port(wanted) => format!("http://127.0.0.1:{}/", doorstep.port().unwrap_or(*wanted)),
        ListenAddress::Socket(path) => path.display().to_string(),
    }
}

/// The address of a page, and its options.
struct ServedPage {
    /// The address on this machine.
    at: String,
    public: Option<PublicUrl>,
    metrics: Option<String>,
    begun_by: Option<u32>,
}

/// Makes the page of a run: its router and its first link.
fn page(
    run: RunDirectory,
    purpose: Purpose,
    served: ServedPage,
) -> Result<(axum::Router, PageLink, Arc<Demand>), Fault> {
    let ServedPage { at, public, metrics, begun_by } = served;
    let at = public.as_ref().map_or(at, PublicUrl::address);
    let door = Arc::new(Door::new(public).map_err(no_system)?);
    let first = PageLink::by(&door, purpose, at.clone()).map_err(no_system)?;
    let (picture, demand) = (Arc::new(SharedPicture::default()), Arc::new(Demand::default()));
    let follower = (run.clone(), picture.clone(), demand.clone());
    std::thread::Builder::new()
        .name("ligament-follow".into())
        .spawn(move || follow::follow(&follower.0, begun_by, &follower.1, &follower.2))
        .map_err(no_system)?;
    if let Some(listener) = links::listen(&run) {
        tokio::spawn(links::give(listener, door.clone(), at));
    }
    let router = answers::router(Arc::new(Server::new(run, door, picture, demand.clone(), metrics)));
    Ok((router, first, demand))
}

/// Returns when a server that ends by itself can end.
async fn unseen(run: RunDirectory, begun_by: Option<u32>, demand: Arc<Demand>) {
    let Some(begun_by) = begun_by else { return std::future::pending().await };
    // Time at which a check first found that the run is over.
    let mut over: Option<Instant> = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let is_over = match record_of(&run) {
            Ok(record) => record.state != RunState::Running || (is_here(&record) && !is_alive(record.pid)),
            Err(_) if !is_alive(begun_by) => return,
            Err(_) => false,
        };
        over = if is_over { over.or_else(|| Some(Instant::now())) } else { None };
        if over.is_some_and(|over| demand.is_idle(UNSEEN, over)) {
            return;
        }
    }
}

/// Returns a receiver that gets an item when the process is to end.
fn signals() -> std::io::Result<tokio::sync::mpsc::Receiver<()>> {
    use tokio::signal::unix::{signal, SignalKind};
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let (mut signal, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(async move {
            signal.recv().await;
            let _ = sender.send(()).await;
        });
    }
    Ok(receiver)
}

/// Reads the token from a file, which is made if it does not exist.
fn token_in(path: &Path) -> Result<String, Fault> {
    let wrong = |what: &dyn std::fmt::Display| fault!(METRICS_TOKEN, "{}: {what}", path.display());
    let made = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path);
    if let Ok(mut file) = made {
        let token = door::random_hex(24).map_err(|error| wrong(&error))?;
        std::io::Write::write_all(&mut file, format!("{token}\n").as_bytes()).map_err(|error| wrong(&error))?;
        return Ok(token);
    }
    let mut file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
    let mode = file.metadata().map_err(|error| wrong(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(
            &"others may read this token; \"chmod 600\" it, or take another file, which is then made",
        ));
    }
    let mut token = String::new();
    file.by_ref().take(4096).read_to_string(&mut token).map_err(|error| wrong(&error))?;
    checked(&token).ok_or_else(|| wrong(&NO_TOKEN))
}

const NO_TOKEN: &str = "a token has at least 16 letters or digits, and nothing else is in its file";

/// Returns the token in a text, if the text is a valid token.
fn checked(text: &str) -> Option<String> {
    let token = text.trim();
    (token.len() >= 16 && token.bytes().all(|byte| byte.is_ascii_graphic())).then(|| token.to_owned())
}
