//! `ligament site check A B`: measures the link between two sites. The command starts an end at each site
//! (`measurement`), lets each end dial the other, and measures the first route that works. A run would use the
//! same route.

use super::here_or;
use super::orders::{EndOrder, EndReply, PathKey, MARK, VERSION};
use crate::arguments::print;
use crate::copying::progress;
use crate::other_end::{command, SshProcess};
use ligament_catalogue::{fault, Fault};
use ligament_launch::site::Site;
use ligament_launch::terminal_text::clean;
use ligament_link::{Invitation, Key, Station};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{sync_channel, Receiver};
use std::time::Duration;

/// Maximum time until ssh has reached a site and the end there has answered.
const SSH_TIMEOUT: Duration = Duration::from_secs(60);
/// Time in which an end must answer, in addition to the time that the order itself takes.
const ANSWER_MARGIN: Duration = Duration::from_secs(30);
/// Maximum time until a path between the two ends is connected, in seconds.
const DIAL_TIMEOUT_S: f64 = 5.0;
/// Number of round trips that are measured.
const PING_COUNT: u32 = 20;
/// Maximum time for all round trips together, in seconds.
const MAX_PINGS_S: f64 = 5.0;
/// Maximum time that an end may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of buffered answers. Each order has one answer, so more answers come only from a faulty end,
/// whose output then waits.
const MAX_WAITING_ANSWERS: usize = 4;
/// Maximum length of one line of an answer, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Limits of each measurement of a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Maximum time for each rate, in seconds.
    pub seconds: f64,
    /// Maximum number of bytes for each rate.
    pub bytes: u64,
}

/// The end of the link at one site, with the ssh process that reaches the site.
struct LinkEnd {
    site: Site,
    host: String,
    running: SshProcess,
    input: ChildStdin,
    answers: Receiver<EndReply>,
}

impl LinkEnd {
    fn start(site: Site) -> Result<LinkEnd, Fault> {
        let (running, input, output) = SshProcess::start(command(&site, "serve-link"))?;
        let mut end = LinkEnd { site, host: String::new(), running, input, answers: read(output) };
        match end.answer(SSH_TIMEOUT)? {
            EndReply::Ready { version: VERSION, host } => end.host = one_line(&host),
            EndReply::Ready { version, .. } => {
                return Err(fault!(
                    OTHER_VERSION_ELSEWHERE,
                    "{} measures links by version {version}, where this Ligament knows {VERSION}; use the same \
                     version at both ends (\"ligament site install\")",
                    end.site.name
                ))
            }
            _ => return Err(end.nonsense()),
        }
        Ok(end)
    }

    fn nonsense(&self) -> Fault {
        fault!(LINK_NOT_MEASURED, "the end at {} answers something else than was asked", self.site.name)
    }

    fn answer(&mut self, within: Duration) -> Result<EndReply, Fault> {
        match self.answers.recv_timeout(within) {
            Ok(EndReply::Failed { why }) => {
                Err(fault!(LINK_NOT_MEASURED, "{}: {}", self.site.name, one_line(&why)))
            }
            Ok(said) => Ok(said),
            Err(_) => {
                self.running.end(Duration::from_millis(200));
                let said = self.running.complaint();
                let said =
                    if said.is_empty() { String::new() } else { format!("; what was said there: {said}") };
                Err(fault!(SITE_UNREACHABLE, "the other end at {} does not answer{said}", self.site.name))
            }
        }
    }

    /// Sends an order to the end and returns its answer. The order itself takes at most `takes` seconds.
    fn ask(&mut self, order: &EndOrder, takes: f64) -> Result<EndReply, Fault> {
        let text = serde_json::to_string(order).expect("plain fields are written");
        // A write error is ignored, because an end that is gone explains its end in its answer.
        let _ = self.input.write_all(format!("{text}\n").as_bytes());
        self.answer(Duration::from_secs_f64(takes) + ANSWER_MARGIN)
    }

    fn end(self) {
        let LinkEnd { mut running, input, .. } = self;
        drop(input);
        running.end(EXIT_TIMEOUT);
    }
}

/// Returns a text that a site has sent, as one line of at most 1000 characters that is safe to show.
fn one_line(text: &str) -> String {
    let text: String = text.chars().take(1000).collect();
    clean(&text).replace('\n', " ")
}

/// Starts a thread that reads an end's answers from its output. Lines that a shell prints do not begin with
/// [`MARK`] and are skipped.
fn read(output: ChildStdout) -> Receiver<EndReply> {
    let (told, answers) = sync_channel(MAX_WAITING_ANSWERS);
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match (&mut output).take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
            let Some(text) = line.strip_prefix(MARK.as_bytes()) else { continue };
            let said = serde_json::from_slice(text);
            let said =
                said.unwrap_or_else(|error| EndReply::Failed { why: format!("it answers nonsense: {error}") });
            if told.send(said).is_err() {
                return;
            }
        }
    });
    answers
}

/// The route from one site to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Reach {
    /// One site dials a port of the other site directly.
    Direct,
    /// Both sites meet at the relays that their site files name.
    Relays,
    /// One site dials the other by ssh, through the machine that its site file names (`jump:`).
    Jump,
}

/// An attempt of one site to reach the other.
struct ReachAttempt {
    /// Index of the dialling end among the two ends.
    from: usize,
    /// Index of the dialled end among the two ends.
    to: usize,
    over: Reach,
    /// True if the dialling end reached the dialled end.
    reached: bool,
}

/// A measured rate from one end to the other.
struct Rate {
    from: usize,
    to: usize,
    /// Number of connections. 0 means as many as the link needs.
    streams: u16,
    bytes: u64,
    seconds: f64,
}

impl Rate {
    /// Returns the rate in bytes per second, or none if too few bytes arrived to compute it.
    fn rate(&self) -> Option<f64> {
        (self.bytes > 0 && self.seconds > 0.0).then(|| self.bytes as f64 / self.seconds)
    }
}

/// All results of the measurement.
#[derive(Default)]
struct LinkFindings {
    tried: Vec<ReachAttempt>,
    /// Index in `tried` of the measured route. `None` if no route works.
    way: Option<usize>,
    round_trips: Vec<f64>,
    rates: Vec<Rate>,
}

/// Measures the link between two sites.
pub(super) fn check(names: [&str; 2], bounds: Bounds, json: bool) -> i32 {
    let sites = match names.map(here_or) {
        [Ok(a), Ok(b)] if a.ssh == b.ssh && a.ssh_options == b.ssh_options => {
            let why = fault!(WORD_OF_THE_COMMAND_LINE, "{} and {} are the same place", a.name, b.name);
            return crate::fail(json, &why, crate::BAD_USE);
        }
        [Ok(a), Ok(b)] => [a, b],
        [Err(why), _] | [_, Err(why)] => return crate::fail(json, &why, crate::BAD_USE),
    };
    let [a, b] = sites;
    // Both ends start at the same time, because a login can take long.
    let ends = std::thread::scope(|scope| {
        let other = scope.spawn(move || LinkEnd::start(b));
        let one = LinkEnd::start(a);
        (one, other.join().unwrap_or_else(|_| Err(fault!(LINK_NOT_MEASURED, "a thread has crashed"))))
    });
    let mut ends = match ends {
        (Ok(a), Ok(b)) => [a, b],
        (Err(why), _) | (_, Err(why)) => return crate::fail(json, &why, crate::FAILED),
    };
    let found = measure(&mut ends, bounds);
    let status = match &found {
        Err(why) => crate::fail(json, why, crate::FAILED),
        Ok(found) if json => {
            print(&format!("{}\n", in_json(&ends, found)));
            if found.way.is_some() {
                crate::DONE
            } else {
                crate::FAILED
            }
        }
        Ok(found) => {
            print(&in_words(&ends, found));
            match found.way {
                Some(_) => crate::DONE,
                None => crate::fail(json, &apart(&ends), crate::FAILED),
            }
        }
    };
    ends.into_iter().for_each(LinkEnd::end);
    status
}

fn apart(ends: &[LinkEnd; 2]) -> Fault {
    let [a, b] = ends.each_ref().map(|end| &end.site.name);
    fault!(
        SITES_APART,
        "neither of {a} and {b} reaches the other; open a port at one of them (ports:), or use a relay that \
         both reach (relays:), or a machine through which ssh leads (jump:)"
    )
}

/// Returns the relays of each site. The last relay is common to both sites, which meet there.
fn stations(ends: &[LinkEnd; 2]) -> Result<[Vec<Station>; 2], Fault> {
    let own =
        |end: &LinkEnd| end.site.relays.iter().map(|file| Station::read(file)).collect::<Result<Vec<_>, _>>();
    let mut both = [own(&ends[0])?, own(&ends[1])?];
    let meeting = both.iter().find_map(|stations| stations.last().cloned());
    for stations in &mut both {
        if let Some(meeting) = meeting.iter().find(|one| stations.last().map(Station::name) != Some(one.name()))
        {
            stations.push(meeting.clone());
        }
    }
    Ok(both)
}

/// Two ends, each with the relays over which it reaches the other.
struct SiteLink<'e> {
    ends: &'e mut [LinkEnd; 2],
    stations: [Vec<Station>; 2],
}

impl SiteLink<'_> {
    /// Connects a path from the end `from` to the other end. Returns true if the path was connected.
    fn connect(&mut self, from: usize, over: Reach, streams: u16) -> Result<bool, Fault> {
        let to = 1 - from;
        let keys = Key::make();
        let meeting = |end: usize, site: &Site| {
            let mut invitation = Invitation::new("link", Vec::new(), true, keys.clone());
            if over == Reach::Relays {
                invitation.relays.clone_from(&self.stations[end]);
            }
            PathKey { invitation: invitation.to_text().to_string(), pace: site.pace }
        };
        let [theirs, ours] = [to, from].map(|end| meeting(end, &self.ends[end].site));
        let site = self.ends[to].site.clone();
        let listen =
            EndOrder::Listen { meeting: theirs, interface: site.interface.clone(), ports: site.ports.clone() };
        let EndReply::Listens { at } = self.ends[to].ask(&listen, DIAL_TIMEOUT_S)? else {
            return Err(self.ends[to].nonsense());
        };
        let own = &self.ends[from].site;
        let jump = match over {
            Reach::Jump => own.jump.clone().map(|jump| (jump, own.ssh_options.clone())),
            _ => None,
        };
        let at = if over == Reach::Relays { Vec::new() } else { at };
        let open = EndOrder::Open { meeting: ours, to: at, streams, jump, within: DIAL_TIMEOUT_S };
        match self.ends[from].ask(&open, DIAL_TIMEOUT_S)? {
            EndReply::Opened { reached } => Ok(reached),
            _ => Err(self.ends[from].nonsense()),
        }
    }

    fn tries(&mut self, over: Reach, found: &mut LinkFindings) -> Result<(), Fault> {
        for from in [0, 1] {
            let there = match over {
                Reach::Direct => true,
                Reach::Relays => from == 0 && !self.stations[0].is_empty(),
                Reach::Jump => self.ends[from].site.jump.is_some(),
            };
            if there {
                let reached = self.connect(from, over, 0)?;
                found.tried.push(ReachAttempt { from, to: 1 - from, over, reached });
            }
        }
        if found.way.is_none() {
            found.way = found.tried.iter().position(|one| one.reached);
        }
        Ok(())
    }

    /// Measures the rate in both directions.
    fn rates(&mut self, streams: u16, bounds: Bounds, found: &mut LinkFindings) -> Result<(), Fault> {
        for from in [0, 1] {
            let to = 1 - from;
            self.ends[to].ask(&EndOrder::Came, 0.0)?;
            let send = EndOrder::Send { seconds: bounds.seconds, bytes: bounds.bytes };
            self.ends[from].ask(&send, bounds.seconds)?;
            match self.ends[to].ask(&EndOrder::Came, 0.0)? {
                EndReply::Came { bytes, seconds } => {
                    found.rates.push(Rate { from, to, streams, bytes, seconds })
                }
                _ => return Err(self.ends[to].nonsense()),
            }
        }
        Ok(())
    }
}

fn measure(ends: &mut [LinkEnd; 2], bounds: Bounds) -> Result<LinkFindings, Fault> {
    let stations = stations(ends)?;
    let mut link = SiteLink { ends, stations };
    let mut found = LinkFindings::default();
    for over in [Reach::Direct, Reach::Relays, Reach::Jump] {
        link.tries(over, &mut found)?;
    }
    let Some(way) = found.way else { return Ok(found) };
    let (from, over) = (found.tried[way].from, found.tried[way].over);
    let set = link.ends.iter().filter_map(|end| end.site.streams).max();
    for streams in [1, set.unwrap_or(0)] {
        if !link.connect(from, over, streams)? {
            let [a, b] = [from, 1 - from].map(|end| link.ends[end].site.name.clone());
            return Err(fault!(LINK_NOT_MEASURED, "{a} has reached {b} once, and does not any more"));
        }
        if streams == 1 {
            let ping = EndOrder::Ping { count: PING_COUNT, within: MAX_PINGS_S };
            match link.ends[from].ask(&ping, MAX_PINGS_S)? {
                EndReply::Pinged { round_trips } => found.round_trips = round_trips,
                _ => return Err(link.ends[from].nonsense()),
            }
        }
        link.rates(streams, bounds, &mut found)?;
    }
    found.round_trips.sort_by(f64::total_cmp);
    Ok(found)
}

fn in_json(ends: &[LinkEnd; 2], found: &LinkFindings) -> serde_json::Value {
    let name = |end: usize| ends[end].site.name.as_str();
    let site = |end: &LinkEnd| serde_json::json!({ "site": end.site.name, "host": end.host });
    let tried = |one: &ReachAttempt| {
        serde_json::json!({ "from": name(one.from), "to": name(one.to), "over": one.over,
            "reached": one.reached })
    };
    let rate = |one: &Rate| {
        serde_json::json!({
            "from": name(one.from),
            "to": name(one.to),
            "streams": (one.streams > 0).then_some(one.streams),
            "rate": one.rate(),
            "bytes": one.bytes,
            "seconds": one.seconds,
        })
    };
    let trips = &found.round_trips;
    let mut json = serde_json::json!({
        "ok": found.way.is_some(),
        "ends": ends.iter().map(site).collect::<Vec<_>>(),
        "dialled": found.tried.iter().map(tried).collect::<Vec<_>>(),
        "measured": found.way.map(|way| tried(&found.tried[way])),
        "round_trip": trips.first().map(|least| {
            serde_json::json!({ "least": least, "median": trips[trips.len() / 2], "count": trips.len() })
        }),
        "rates": found.rates.iter().map(rate).collect::<Vec<_>>(),
    });
    if found.way.is_none() {
        let why = apart(ends);
        (json["error"], json["code"]) = (why.text().into(), why.code().name().into());
    }
    json
}

fn in_words(ends: &[LinkEnd; 2], found: &LinkFindings) -> String {
    let name = |end: usize| ends[end].site.name.as_str();
    let [a, b] = ends.each_ref().map(|end| format!("{} ({})", end.site.name, end.host));
    let mut text = format!("{a} and {b}:\n");
    for one in &found.tried {
        let how = match one.over {
            Reach::Direct => "",
            Reach::Relays => " over the relays",
            Reach::Jump => " by ssh (jump)",
        };
        let (from, to) = (name(one.from), name(one.to));
        text.push_str(&match (one.over, one.reached) {
            (Reach::Relays, true) => format!("  {from} and {to} meet{how}\n"),
            (Reach::Relays, false) => format!("  {from} and {to} do not meet{how}\n"),
            (_, true) => format!("  {from} can dial {to}{how}\n"),
            (_, false) => format!("  {from} cannot dial {to}{how}\n"),
        });
    }
    let trips = &found.round_trips;
    if let Some(least) = trips.first() {
        text.push_str(&format!(
            "  round trip {:.3} ms at least, {:.3} ms in the middle of {}\n",
            1e3 * least,
            1e3 * trips[trips.len() / 2],
            trips.len()
        ));
    }
    for from in [0, 1] {
        let of: Vec<String> = found.rates.iter().filter(|one| one.from == from).map(rate_in_words).collect();
        if !of.is_empty() {
            text.push_str(&format!("  {} to {}: {}\n", name(from), name(1 - from), of.join(", ")));
        }
    }
    text
}

fn rate_in_words(one: &Rate) -> String {
    let rate = match one.rate() {
        Some(rate) => format!("{}/s", progress::bytes(rate as u64)),
        None => "too little to tell".to_owned(),
    };
    match one.streams {
        1 => format!("{rate} over one stream"),
        0 => format!("{rate} over as many as a run takes"),
        streams => format!("{rate} over {streams} (streams:)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_site_says_does_nothing_to_a_terminal() {
        assert_eq!(one_line("a\u{1b}[2J\u{1b}]0;b\u{7}\nc"), "a c");
        assert_eq!(one_line(&"x".repeat(5000)).len(), 1000);
    }

    #[test]
    fn a_rate_needs_more_than_one_message() {
        let rate = |bytes, seconds| Rate { from: 0, to: 1, streams: 1, bytes, seconds };
        assert_eq!(rate(2000, 2.0).rate(), Some(1000.0));
        assert_eq!(rate(0, 0.0).rate(), None);
        assert_eq!(rate_in_words(&rate(0, 0.0)), "too little to tell over one stream");
        assert_eq!(
            rate_in_words(&Rate { streams: 0, ..rate(5_000_000, 1.0) }),
            "5.00 MB/s over as many as a run takes"
        );
    }
}
