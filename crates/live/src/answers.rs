//! The HTTP addresses of the page's server, and their answers. An address that returns data of the run needs a
//! session. The page's own files need no session, because they hold no data of a run.

use crate::demand::Demand;
use crate::door::{self, same, Door, Visitor};
use crate::feed::Feed;
use crate::history::{plain_file, History};
use crate::listen::TrustFlag;
use crate::picture::SharedPicture;
use crate::study::studies_of;
use crate::surfaces::{levels_of, Surface, SurfaceAnswer, SurfaceTable};
use crate::taps::TapTable;
use crate::{metrics, plan, steer};
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Query, Request, State};
use axum::http::{header, HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{from_fn_with_state, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use ligament_catalogue::{Code, Fault};
use ligament_manager::timeline::RunTimeline;
use ligament_manager::{RunDirectory, RunLog};
use ligament_runtime::client::{record_of, InstanceFiles};
use ligament_runtime::timeline::{rows, write_trace, KINDS};
use ligament_wire::tap::TapSelection;
use serde::Deserialize;
use serde_json::{json, Value};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum time for which a request waits for news of the run.
pub(crate) const NEWS_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time for which a request waits for the values of a port. It is short, because a browser has six
/// connections for all its requests, and steering needs one of them.
const GLIMPSE: Duration = Duration::from_secs(2);
/// Maximum length of the piece of a file in one answer, in bytes.
const MAX_FILE_PIECE_BYTES: u64 = 256 << 10;
/// Time after which the unfinished last line of a file is shown, if the file does not grow meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Maximum age of the picture. A request that finds an older picture first waits for news of the run, for at
/// most `HEARING_TIMEOUT`. The picture becomes old while no browser asks for it.
const PICTURE_AGE_MAX: Duration = Duration::from_secs(1);
const HEARING_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum length of a request's body, in bytes. Requests to steer have a larger limit of their own.
const MAX_QUESTION_BYTES: usize = 4096;
/// Maximum number of columns of the timeline, and maximum number of rows.
const MAX_COLUMNS: usize = 1000;
const MAX_ROWS: usize = 200;
/// Minimum time between two readings of the timeline's file. A file that takes long to read is read more
/// rarely: reading takes at most one part in `TIME_SHARE` of the time of a core.
const READ_AGAIN: Duration = Duration::from_secs(1);
const TIME_SHARE: u32 = 20;

/// The page's files, as Vite has built them.
const FILES: [(&str, &str, &[u8]); 3] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../../dashboard/built/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_bytes!("../../../dashboard/built/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_bytes!("../../../dashboard/built/page.css")),
];

/// A value that was read from a file. Before the value: the time at which it was read, the time that reading
/// took, and the file's length and time of change (seconds and nanoseconds).
type ReadOnce<T> = Mutex<Option<(Instant, Duration, (u64, i64, i64), T)>>;

/// A timeline, and a value that was made from it.
type MadeOnce<T> = Mutex<Option<(Arc<Result<RunTimeline, Fault>>, T)>>;

/// The data that all requests share.
pub struct Server {
    pub run: RunDirectory,
    door: Arc<Door>,
    picture: Arc<SharedPicture>,
    demand: Arc<Demand>,
    metrics: Option<String>,
    taps: Arc<TapTable>,
    surfaces: Arc<SurfaceTable>,
    history: Mutex<History>,
    plan: Mutex<Option<Arc<Value>>>,
    timeline: ReadOnce<Arc<Result<RunTimeline, Fault>>>,
    /// The trace of the last timeline for which a trace was requested. All requests for the same timeline share
    /// this trace.
    trace: MadeOnce<Bytes>,
}

impl Server {
    pub fn new(
        run: RunDirectory,
        door: Arc<Door>,
        picture: Arc<SharedPicture>,
        demand: Arc<Demand>,
        metrics: Option<String>,
    ) -> Server {
        let taps = Arc::new(TapTable::new(run.clone()));
        let surfaces = Arc::new(SurfaceTable::new(run.clone()));
        Server {
            run,
            door,
            picture,
            demand,
            metrics,
            taps,
            surfaces,
            history: Mutex::default(),
            plan: Mutex::default(),
            timeline: Mutex::default(),
            trace: Mutex::default(),
        }
    }

    /// Waits until the run has sent news after `moment`, but not longer than `patience`. Returns at once if the
    /// run is over, because it sends no more news.
    async fn hears_since(&self, moment: Instant, patience: Duration) {
        if !self.picture.is_over() {
            self.picture.is_heard_since(moment, patience).await;
        }
    }

    /// Returns the run's timeline, and true if the file has changed since it was read. A changed file is read
    /// again, unless the previous reading was too short a time ago.
    fn timeline(&self) -> (Arc<Result<RunTimeline, Fault>>, bool) {
        let mut kept = self.timeline.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mark = std::fs::metadata(self.run.timeline()).map(|one| (one.len(), one.mtime(), one.mtime_nsec()));
        let mark = mark.unwrap_or_default();
        if let Some((read, took, known, timeline)) = &*kept {
            if *known == mark || read.elapsed() < READ_AGAIN.max(*took * TIME_SHARE) {
                return (timeline.clone(), *known != mark);
            }
        }
        let began = Instant::now();
        let timeline = Arc::new(RunTimeline::of(&self.run));
        *kept = Some((Instant::now(), began.elapsed(), mark, timeline.clone()));
        (timeline, false)
    }
}

/// Makes the router with all addresses.
pub fn router(server: Arc<Server>) -> Router {
    let inside = Router::new()
        .route("/api/news", get(news))
        .route("/api/plan", get(drawn))
        .route("/api/timeline", get(timeline))
        .route("/api/trace", get(trace))
        .route("/api/tap", get(tap))
        .route("/api/surface", get(surface))
        .route("/api/log", get(log))
        .route("/api/output", get(output))
        .route("/api/steering", get(steering))
        .route("/api/studies", get(studies))
        .route("/api/steer", post(steer::steered).layer(DefaultBodyLimit::max(steer::MAX_REQUEST_BYTES)))
        .layer(from_fn_with_state(server.clone(), needs_session));
    let mut router =
        Router::new().route("/api/session", post(session)).route("/metrics", get(metrics_of)).merge(inside);
    // Browsers request this file, and report an error if it is missing.
    router = router.route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }));
    for (address, kind, bytes) in FILES {
        router = router.route(address, get(move || async move { ([(header::CONTENT_TYPE, kind)], bytes) }));
    }
    let router = router
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(DefaultBodyLimit::max(MAX_QUESTION_BYTES))
        .layer(from_fn_with_state(server.clone(), at_the_door))
        .with_state(server.clone());
    // `behind_the_proxy` changes the address of a request, so it runs before the router compares addresses.
    Router::new().fallback_service(router).layer(from_fn_with_state(server, behind_the_proxy))
}

/// Removes the public path from requests that a proxy passes on unchanged, so that the page has the same
/// addresses behind a proxy.
async fn behind_the_proxy(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    let Some(public) = server.door.public() else { return next.run(request).await };
    let path = request.uri().path();
    if public.lacks_slash(path) {
        // The page's relative addresses lead to the right place only if the path ends with a slash.
        return (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, public.path().to_owned())])
            .into_response();
    }
    if let Some(rest) = public.behind(path) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(uri) = format!("{rest}{query}").parse() {
            *request.uri_mut() = uri;
        }
    }
    next.run(request).await
}

pub(crate) fn refusal(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "ok": false, "why": why }))).into_response()
}

/// Checks the origin of a request, and adds to every answer the headers that restrict what a browser may do
/// with it.
async fn at_the_door(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let mut answer = match door::check(request.headers(), changes, server.door.public()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => refusal(status, &why),
    };
    for (name, value) in door::HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

async fn needs_session(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    match server.door.guest(request.headers()) {
        Some(guest) => {
            // Connections over ssh's pipes have no `TrustFlag`.
            if let Some(ConnectInfo(connection)) = request.extensions().get::<ConnectInfo<TrustFlag>>() {
                connection.trust();
            }
            request.extensions_mut().insert(guest);
            next.run(request).await
        }
        None => refusal(
            StatusCode::UNAUTHORIZED,
            "open the page by its link: it was opened without, or too long ago",
        ),
    }
}

#[derive(Deserialize)]
struct Secret {
    secret: String,
}

/// Exchanges the secret of a link for a session.
async fn session(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    given: Result<Json<Secret>, JsonRejection>,
) -> Response {
    let secret = match given {
        Ok(Json(Secret { secret })) => secret,
        Err(why) => return steer::unread(&why),
    };
    match server.door.open(&secret, &headers) {
        Ok(Some((cookie, word, guest))) => {
            let told = json!({ "ok": true, "word": word, "role": guest.purpose.role });
            ([(header::SET_COOKIE, cookie)], Json(told)).into_response()
        }
        Ok(None) => refusal(
            StatusCode::UNAUTHORIZED,
            "this link was used already, or is too old; \"ligament view\" makes another",
        ),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random bytes"),
    }
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    since: u64,
}

/// Returns the changes since the browser's picture, as soon as there are any.
async fn news(
    State(server): State<Arc<Server>>,
    Extension(guest): Extension<Visitor>,
    Query(Since { since }): Query<Since>,
) -> Response {
    let _look = server.demand.look();
    server.hears_since(Instant::now() - PICTURE_AGE_MAX, HEARING_TIMEOUT).await;
    let mut pictures = server.picture.watch();
    let until = tokio::time::Instant::now() + NEWS_TIMEOUT;
    loop {
        pictures.mark_unchanged();
        if let Some(mut news) = server.picture.since(since) {
            news["role"] = json!(guest.purpose.role);
            return Json(news).into_response();
        }
        if tokio::time::timeout_at(until, pictures.changed()).await.is_err() {
            return Json(json!({ "picture": since, "role": guest.purpose.role })).into_response();
        }
    }
}

#[derive(Deserialize)]
struct TapQuery {
    port: String,
    #[serde(default)]
    slice: String,
    #[serde(default)]
    thin: u64,
    #[serde(default)]
    bars: u32,
    /// Keys of nested maps that lead to the value, with dots between them.
    #[serde(default)]
    key: String,
    /// Number of the last frame that the browser has.
    #[serde(default)]
    has: u64,
    /// Time between two frames, in ms.
    #[serde(default)]
    every: u64,
}

/// Returns the next frame with the values of a port, as soon as there is one.
async fn tap(State(server): State<Arc<Server>>, Query(asked): Query<TapQuery>) -> Response {
    let TapQuery { port, slice, thin, bars, key, has, every } = asked;
    let feed = TapSelection::cuts_of(&slice).and_then(|cuts| {
        let keys = key.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
        server.taps.feed(&port, TapSelection { keys, cuts, thin, bars, levels: Vec::new() })
    });
    match feed {
        Ok(feed) => next_frame(&feed.feed, has, every)
            .await
            .unwrap_or_else(|has| Json(json!({ "kind": "same", "frame": has })).into_response()),
        Err(why) => refusal(StatusCode::BAD_REQUEST, &why.to_string()),
    }
}

#[derive(Deserialize)]
struct SurfaceQuery {
    grid: String,
    field: String,
    /// One level or several, with commas between them.
    level: String,
    /// Number of the last picture that the browser has.
    #[serde(default)]
    has: u64,
}

/// Returns the next picture of the surfaces of a field, as soon as there is one.
async fn surface(State(server): State<Arc<Server>>, Query(asked): Query<SurfaceQuery>) -> Response {
    let SurfaceQuery { grid, field, level, has } = asked;
    let levels = levels_of(&level);
    match levels.and_then(|levels| server.surfaces.feed(Surface { grid, field, levels })) {
        Ok(feed) => next_frame(&feed.feed, has, 0)
            .await
            .unwrap_or_else(|frame| Json(SurfaceAnswer { frame, ..SurfaceAnswer::default() }).into_response()),
        // The page asks again later.
        Err(why) if why.code() == Code::CANNOT_SERVE => {
            refusal(StatusCode::SERVICE_UNAVAILABLE, &why.to_string())
        }
        Err(why) => refusal(StatusCode::BAD_REQUEST, &why.to_string()),
    }
}

/// Returns the frame after `has`, as soon as there is one, but not earlier than `every` ms after it. Returns
/// the number of the last frame if none comes for a while.
async fn next_frame(feed: &Feed, has: u64, every: u64) -> Result<Response, u64> {
    let mut frames = feed.frames();
    // The browser's number may come from an earlier feed, whose frames had higher numbers.
    let has = has.min(frames.borrow().number);
    feed.ask(has, every);
    let until = tokio::time::Instant::now() + GLIMPSE;
    loop {
        let frame = frames.borrow_and_update().clone();
        if frame.number > has {
            let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
            return Ok((kind, Body::from(frame.bytes.to_vec())).into_response());
        }
        if !matches!(tokio::time::timeout_at(until, frames.changed()).await, Ok(Ok(()))) {
            return Err(has);
        }
    }
}

/// Runs slow work on another thread, so that this thread can answer other requests.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Response> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server met a fault of its own"))
}

/// Returns the drawing of the model, with the positions of boxes and arrows.
async fn drawn(State(server): State<Arc<Server>>) -> Result<Response, Response> {
    beside(move || {
        let mut kept = server.plan.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A browser may ask before the run has begun. There is no model yet, so this answer is not stored.
        let has_begun = server.run.record().exists();
        let plan = kept.clone().unwrap_or_else(|| Arc::new(plan::plan(&server.run)));
        if has_begun {
            *kept = Some(plan.clone());
        }
        Json(&*plan).into_response()
    })
    .await
}

/// Returns the history of steering: changes of settings, and other orders, such as `resume`.
async fn steering(State(server): State<Arc<Server>>) -> Result<Response, Response> {
    beside(move || {
        let mut history = server.history.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Json(json!({ "history": history.of(&server.run) })).into_response()
    })
    .await
}

/// Returns the studies of the run.
async fn studies(State(server): State<Arc<Server>>) -> Result<Response, Response> {
    beside(move || Json(json!({ "studies": studies_of(&server.run) })).into_response()).await
}

#[derive(Deserialize)]
struct TimelineQuery {
    columns: Option<usize>,
    rows: Option<usize>,
}

/// Returns the activities of each instance over time.
async fn timeline(
    State(server): State<Arc<Server>>,
    Query(asked): Query<TimelineQuery>,
) -> Result<Response, Response> {
    beside(move || {
        let (timeline, old) = server.timeline();
        let timeline = match &*timeline {
            Ok(timeline) => timeline,
            Err(why) => return Json(json!({ "rows": [], "why": why.text(), "old": old })).into_response(),
        };
        let columns = asked.columns.unwrap_or(400).clamp(1, MAX_COLUMNS);
        let most = asked.rows.unwrap_or(60).clamp(1, MAX_ROWS);
        let shorter = |part: f64| (part * 1e3).round() / 1e3;
        let rows: Vec<Value> = (rows(timeline, columns, most).into_iter())
            .map(|row| {
                let columns: Vec<_> = row.columns.iter().map(|column| column.map(shorter)).collect();
                json!({ "name": row.name, "columns": columns, "seconds": row.seconds })
            })
            .collect();
        let seconds = timeline.end() as f64 / 1e9;
        let started = &timeline.header.started;
        let told = json!({ "kinds": KINDS, "seconds": seconds, "started": started, "rows": rows, "old": old });
        Json(told).into_response()
    })
    .await
}

/// Returns the timeline in the format of Perfetto.
async fn trace(State(server): State<Arc<Server>>) -> Result<Response, Response> {
    beside(move || {
        let (timeline, _) = server.timeline();
        let told = match &*timeline {
            Ok(told) => told,
            Err(why) => return refusal(StatusCode::NOT_FOUND, why.text()),
        };
        let mut kept = server.trace.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bytes = match &*kept {
            Some((known, bytes)) if Arc::ptr_eq(known, &timeline) => bytes.clone(),
            _ => {
                let mut bytes = Vec::new();
                let written = record_of(&server.run).map_err(|why| why.text().to_owned()).and_then(|record| {
                    write_trace(told, &record, &mut bytes).map_err(|error| error.to_string())
                });
                if let Err(why) = written {
                    return refusal(StatusCode::NOT_FOUND, &why);
                }
                let bytes = Bytes::from(bytes);
                *kept = Some((timeline.clone(), bytes.clone()));
                bytes
            }
        };
        ([(header::CONTENT_TYPE, "application/json")], Body::from(bytes)).into_response()
    })
    .await
}

#[derive(Deserialize)]
struct From {
    /// Offset from which to read. Without it, the last piece of the file is returned.
    from: Option<u64>,
    /// Number of the file from an earlier answer. Answers have it as a text, because a browser's numbers
    /// have only 53 bits.
    file: Option<u64>,
    instance: Option<String>,
}

/// Returns a piece of a growing file, which ends with a whole line. There are two exceptions. A line that is
/// longer than a piece is cut. The unfinished last line is included if the file has not grown for a while,
/// because it may be the last words of a program, or a question to the user.
fn piece(path: &Path, asked: &From) -> std::io::Result<Value> {
    let mut file = plain_file(path)?;
    let found = file.metadata()?;
    let (size, inode) = (found.len(), found.ino());
    let is_same = asked.file.is_none_or(|known| known == inode);
    let from = match asked.from {
        Some(from) if is_same && from <= size => from,
        Some(_) => 0,
        None => size.saturating_sub(MAX_FILE_PIECE_BYTES),
    };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_PIECE_BYTES).read_to_end(&mut bytes)?;
    let mut begin = 0;
    if asked.from.is_none() && from > 0 {
        begin = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    }
    let stays = found.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|since| since > LAST_WORDS);
    let end = match bytes.iter().rposition(|&byte| byte == b'\n') {
        _ if stays && from + bytes.len() as u64 >= size => bytes.len(),
        Some(last) if last + 1 > begin => last + 1,
        _ if bytes.len() as u64 == MAX_FILE_PIECE_BYTES => bytes.len(),
        _ => begin,
    };
    let text = String::from_utf8_lossy(&bytes[begin..end]);
    let next = from + end as u64;
    Ok(json!({
        "text": text,
        "next": next,
        "file": inode.to_string(),
        "more": size > next + MAX_FILE_PIECE_BYTES / 2,
        // True if an unfinished line follows the piece. It may be the last line of the file.
        "open": end < bytes.len(),
        "cut": from + begin as u64 > 0,
    }))
}

/// Returns a piece of the run's log.
async fn log(State(server): State<Arc<Server>>, Query(asked): Query<From>) -> Result<Response, Response> {
    beside(move || {
        let path = server.run.log();
        // The log may have been renamed since the previous piece. If so, the rest of the renamed file is
        // returned first.
        let aside = RunLog::earlier(&path);
        let is_aside =
            asked.file.is_some_and(|known| std::fs::metadata(&aside).is_ok_and(|one| one.ino() == known));
        let told = if is_aside { piece(&aside, &asked) } else { piece(&path, &asked) };
        match told {
            Ok(told) if is_aside && told["text"] == "" => {
                let anew = From { from: Some(0), file: None, instance: None };
                piece(&path, &anew).map_or_else(|error| unreadable(&error), |told| Json(told).into_response())
            }
            Ok(told) => Json(told).into_response(),
            Err(error) => unreadable(&error),
        }
    })
    .await
}

fn unreadable(error: &std::io::Error) -> Response {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            Json(json!({ "text": "", "next": 0, "why": "nothing yet" })).into_response()
        }
        _ => refusal(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

/// Returns a piece of an instance's output.
async fn output(State(server): State<Arc<Server>>, Query(asked): Query<From>) -> Result<Response, Response> {
    beside(move || {
        let name = asked.instance.clone().unwrap_or_default();
        // Only names of instances are accepted, so that a request can open no other path.
        if let Err(why) = InstanceFiles::of(&server.run, &name) {
            return refusal(StatusCode::NOT_FOUND, &why.to_string());
        }
        match piece(&server.run.output(&name), &asked) {
            Ok(told) => Json(told).into_response(),
            Err(error) => unreadable(&error),
        }
    })
    .await
}

/// Returns the metrics for Prometheus.
async fn metrics_of(
    State(server): State<Arc<Server>>,
    connection: Option<Extension<ConnectInfo<TrustFlag>>>,
    headers: HeaderMap,
) -> Response {
    let Some(token) = &server.metrics else {
        return refusal(StatusCode::NOT_FOUND, "start \"ligament view\" with --metrics-token FILE for this");
    };
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if !same(given, token) {
        let mut answer = refusal(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return answer;
    }
    // A connection that has sent the token is kept open, like one with a session.
    if let Some(Extension(ConnectInfo(connection))) = connection {
        connection.trust();
    }
    let _look = server.demand.look();
    // The answer shows the present state, if the run answers in time.
    server.hears_since(Instant::now(), HEARING_TIMEOUT).await;
    let text = metrics::text(&server.picture.since(0).unwrap_or_default());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], Body::from(text)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_shown_though_their_line_does_not_end() {
        let path = std::env::temp_dir().join(format!("ligament-last-words-{}", std::process::id()));
        std::fs::write(&path, "a line\nlast wor").unwrap();
        let from = |from| From { from, file: None, instance: None };
        let fresh = piece(&path, &from(None)).unwrap();
        assert_eq!(
            (&fresh["text"], &fresh["next"], &fresh["open"]),
            (&json!("a line\n"), &json!(7), &json!(true))
        );
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
        let rest = piece(&path, &from(Some(7))).unwrap();
        assert_eq!(
            (&rest["text"], &rest["next"], &rest["open"]),
            (&json!("last wor"), &json!(15), &json!(false))
        );
        assert_eq!(piece(&path, &from(Some(15))).unwrap()["text"], "");
        std::fs::remove_file(&path).unwrap();
    }
}
