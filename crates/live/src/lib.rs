//! The live page of a run: its server. A process of its own, which looks through the run's directory and socket
//! like any client, so that the process that holds a run's memory never listens for browsers. `follow` learns
//! how the run stands, and `picture` keeps it for all browsers; `door` says who is let in, `links` makes more
//! links, `listen` says where, `public` where that is behind a proxy, `elsewhere` serves the page of a run at a
//! site over ssh's pipes, with `pipes` for the connections; `answers` has the addresses, `plan` the drawing
//! of the model, `taps` what ports send, `steer` what browsers want of the run, `history` what was wanted,
//! `study` the studies, `metrics` the numbers for Prometheus, `usage` what instances take of the machine. The
//! page itself is in `dashboard/`, and is built in here.

mod answers;
mod demand;
mod door;
mod elsewhere;
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
mod taps;
mod usage;

pub use door::{Purpose, Role};
pub use elsewhere::{serve_over_pipes, serve_site};
pub use links::{another_link, Another};
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

/// How the page of a run is to be served.
pub struct Options {
    pub run: RunDirectory,
    pub place: ListenAddress,
    /// The role of the first link, and its person.
    pub purpose: Purpose,
    /// The address for browsers behind a proxy.
    pub public: Option<PublicUrl>,
    /// The file with the token for `/metrics`; made if it is not there. Without it there are no metrics.
    pub metrics_token: Option<PathBuf>,
    /// The process that begins the run, which may not have its record yet. The page ends by itself when the run
    /// is over, or has not begun, and nobody has looked for a while.
    pub begun_by: Option<u32>,
}

/// A link to the page.
#[derive(Debug, Clone)]
pub struct PageLink {
    /// The address of the page: an address, or the path of a socket.
    pub at: String,
    /// The part of the link after the address: opens the page once.
    pub fragment: String,
    pub role: Role,
    /// By which the journal calls whoever steers with it.
    pub number: u32,
}

impl PageLink {
    fn by(door: &Door, purpose: Purpose, at: String) -> std::io::Result<PageLink> {
        let role = purpose.role;
        let (secret, number) = door.secret(purpose)?;
        Ok(PageLink { at, fragment: format!("#{}={secret}", role.word()), role, number })
    }
}

/// How long nobody must have looked before a page ends by itself, and how often is looked whether it can.
const UNSEEN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Serves the page until SIGINT or SIGTERM; `opened` is told when it can be reached.
///
/// # Errors
/// It cannot be served there.
pub fn serve(options: Options, opened: impl FnOnce(&PageLink)) -> Result<(), Fault> {
    let metrics = options.metrics_token.as_deref().map(token_in).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_system)?;
    let served = runtime.block_on(served(options, metrics, opened));
    // Somebody may wait for what becomes of a change: that ends with the process.
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
        // Browsers keep connections open: they are not waited for.
        _ = end.recv() => Ok(()),
        () = unseen(run, begun_by, demand) => Ok(()),
    }
}

/// The address at which a page can be reached.
fn at(place: &ListenAddress, doorstep: &Doorstep) -> String {
    match place {
        ListenAddress::Port(wanted) => format!("http://127.0.0.1:{}/", doorstep.port().unwrap_or(*wanted)),
        ListenAddress::Socket(path) => path.display().to_string(),
    }
}

/// The address of a page, and its readers beside browsers.
struct ServedPage {
    /// The address on this machine.
    at: String,
    public: Option<PublicUrl>,
    metrics: Option<String>,
    begun_by: Option<u32>,
}

/// The page of a run: what answers, and the first link.
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

/// Returns when a page that is to end by itself can end.
async fn unseen(run: RunDirectory, begun_by: Option<u32>, demand: Arc<Demand>) {
    let Some(begun_by) = begun_by else { return std::future::pending().await };
    // From when on it could have ended.
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

/// Something comes when the process is to end.
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

/// The token in a file, which is made if it is not there.
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

/// The token in a text, if it is one.
fn checked(text: &str) -> Option<String> {
    let token = text.trim();
    (token.len() >= 16 && token.bytes().all(|byte| byte.is_ascii_graphic())).then(|| token.to_owned())
}
