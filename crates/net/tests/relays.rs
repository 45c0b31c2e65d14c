//! Tests of domains that meet at a relay. Their messages arrive, even if the relay is stopped or restarted,
//! and strangers learn nothing from it.

mod common;

use common::{listener, play, End, Proxy, SECOND_NS};
use ligament_net::{
    now, DialAddress, Event, Listen, Listener, Load, NetOptions, Relay, RelayNotice, Route, RunKeys, Station,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A relay on a thread of its own, until it is dropped.
struct Post {
    station: Station,
    onward: Vec<Station>,
    address: SocketAddr,
    /// The reasons of refused connections.
    refusals: Arc<Mutex<Vec<String>>>,
    ends: Arc<AtomicBool>,
    load: Arc<Mutex<Load>>,
    thread: Option<JoinHandle<()>>,
}

impl Post {
    fn new(onward: &[&Post]) -> Post {
        let (listener, address) = listener();
        let onward = onward.iter().map(|post| post.station.clone()).collect();
        Post::at(Station::new(vec![address.to_string()]), listener, onward)
    }

    fn at(station: Station, listener: Listener, onward: Vec<Station>) -> Post {
        let address = station.addresses().unwrap()[0];
        let mut relay = Relay::new(&station, listener, &onward).unwrap();
        let (ends, load) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::default()));
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let (until, seen, refused) = (ends.clone(), load.clone(), refusals.clone());
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                relay.turn(Duration::from_millis(20));
                *seen.lock().unwrap() = relay.load();
                while let Some(told) = relay.told() {
                    if let RelayNotice::Refused { why, .. } = told {
                        refused.lock().unwrap().push(why);
                    }
                }
            }
        });
        Post { station, onward, address, refusals, ends, load, thread: Some(thread) }
    }

    /// Ends the relay, and starts it again with the same key at the same address.
    fn again(&mut self) {
        self.end();
        let (ip, port) = (self.address.ip(), self.address.port());
        let listen = Listen { address: Some(ip), ports: Some(port..=port), ..Listen::default() };
        let listener = Listener::bind(&listen).unwrap();
        *self = Post::at(self.station.clone(), listener, self.onward.clone());
    }

    fn end(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    fn load(&self) -> Load {
        *self.load.lock().unwrap()
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.end();
    }
}

fn over(posts: &[&Post]) -> Arc<Route> {
    let stations: Vec<Station> = posts.iter().map(|post| post.station.clone()).collect();
    Route::over(&stations).unwrap()
}

/// Makes domain 0, which waits at the end of its route, and domain 1, which dials it over its own route.
fn pair(keys: &RunKeys, ways: [&Arc<Route>; 2], tuning: NetOptions) -> [End; 2] {
    let mut ends = [0, 1].map(|me| End::new(keys, me, true, tuning));
    ends[0].net.wait_at(ways[0]);
    ends[0].net.expect(1);
    ends[1].net.wait_at(ways[1]);
    ends[1].net.dial(0, DialAddress::read(&[ways[0].word().unwrap()], Some(ways[1])).unwrap(), 3);
    ends
}

/// Exchanges messages of several sizes in both directions.
fn exchange(ends: &mut [End; 2]) {
    let before = [ends[0].desk.count, ends[1].desk.count];
    for (conduit, size) in [0, 1, 64, 20_000, 300_000, 20 << 20].into_iter().enumerate() {
        ends[0].send(1, 2 * conduit as u32, size);
        ends[1].send(0, 2 * conduit as u32 + 1, size);
    }
    let [zero, one] = ends;
    play(&mut [zero, one], &mut None, |ends, _| {
        ends.iter().zip(before).all(|(end, before)| end.desk.count == before + 6)
    });
}

fn end(ends: &mut [End; 2]) {
    ends[0].net.end(1);
    ends[1].net.end(0);
    let [zero, one] = ends;
    let is_end = |event: &Event| matches!(event, Event::Ended { .. });
    play(&mut [zero, one], &mut None, |ends, _| ends.iter().all(|end| end.has(is_end)));
    for end in ends {
        assert!(end.desk.leaving.is_empty() && end.desk.arriving.is_empty());
    }
}

#[test]
fn two_domains_that_only_dial_out_meet_at_a_relay() {
    let post = Post::new(&[]);
    let way = over(&[&post]);
    let mut ends = pair(&RunKeys::make(), [&way, &way], NetOptions::default());
    exchange(&mut ends);
    assert!(post.load().pairs >= 2 && post.load().through > 40 << 20, "{:?}", post.load());
    end(&mut ends);
}

#[test]
fn either_of_two_domains_may_be_several_relays_away() {
    let last = Post::new(&[]);
    let first = Post::new(&[&last]);
    let (near, far) = (over(&[&last]), over(&[&first, &last]));
    for ways in [[&near, &far], [&far, &near], [&far, &far]] {
        let mut ends = pair(&RunKeys::make(), ways, NetOptions::default());
        exchange(&mut ends);
        end(&mut ends);
    }
}

#[test]
fn a_relay_that_is_killed_and_started_again_loses_and_repeats_nothing() {
    let mut post = Post::new(&[]);
    let way = over(&[&post]);
    let mut ends = pair(&RunKeys::make(), [&way, &way], NetOptions::default());
    exchange(&mut ends);
    for _ in 0..5 {
        let before = [ends[0].desk.count, ends[1].desk.count];
        for conduit in 100..104 {
            ends[0].send(1, conduit, 6 << 20);
            ends[1].send(0, conduit, 70_000);
        }
        let through = post.load().through;
        let [zero, one] = &mut ends;
        play(&mut [zero, one], &mut None, |_, _| post.load().through > through + (2 << 20));
        post.again();
        play(&mut [zero, one], &mut None, |ends, _| {
            ends.iter().zip(before).all(|(end, before)| end.desk.count == before + 4)
        });
    }
    end(&mut ends);
}

#[test]
fn several_runs_use_one_relay_and_do_not_meet() {
    let post = Post::new(&[]);
    let way = over(&[&post]);
    let mut runs = [(); 3].map(|()| pair(&RunKeys::make(), [&way, &way], NetOptions::default()));
    for _ in 0..2 {
        runs.iter_mut().for_each(exchange);
    }
    runs.iter_mut().for_each(end);
    for end in runs.iter().flatten() {
        assert!(end.refusals().is_empty(), "{:?}", end.refusals());
    }
}

#[test]
fn where_nobody_answers_directly_the_relay_is_soon_tried() {
    let post = Post::new(&[]);
    let way = over(&[&post]);
    let keys = RunKeys::make();
    let mut ends = [0, 1].map(|me| End::new(&keys, me, true, NetOptions::default()));
    ends[0].net.wait_at(&way);
    ends[0].net.expect(1);
    // One address without a listener, and one whose listener sends nothing.
    let (silent, mute) = listener();
    let words = [mute.to_string(), "127.0.0.1:1".to_owned(), way.word().unwrap()];
    ends[1].net.dial(0, DialAddress::read(&words, Some(&way)).unwrap(), 4);
    exchange(&mut ends);
    end(&mut ends);
    drop(silent);
}

#[test]
fn a_way_has_each_relay_once_and_a_relay_does_not_lead_to_itself() {
    let last = Post::new(&[]);
    let first = Post::new(&[&last]);
    let stations = [&first, &last, &first].map(|post| post.station.clone());
    let why = Route::over(&stations).unwrap_err();
    assert!(why.text().contains("comes twice on one way"), "{why}");
    assert!(Route::over(&[]).is_err());
    let (listener, _) = listener();
    let why = Relay::new(&last.station, listener, std::slice::from_ref(&last.station)).err().unwrap();
    assert!(why.text().contains("leads on to itself"), "{why}");
}

/// Sends bytes to a relay, and returns its answer. The relay must close the connection: usually after five
/// seconds, on a busy machine within a minute.
fn heard(address: SocketAddr, said: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).unwrap();
    let _ = socket.write_all(said);
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut heard = Vec::new();
    match socket.read_to_end(&mut heard) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("they stay"),
        _ => heard,
    }
}

#[test]
fn strangers_hear_nothing_and_disturb_nobody() {
    let post = Post::new(&[]);
    let address = post.address;
    let way = over(&[&post]);
    let mut ends = pair(&RunKeys::make(), [&way, &way], NetOptions::default());
    exchange(&mut ends);
    let all = [&b"GET / HTTP/1.1\r\n\r\n"[..], &[b'x'; 120], &[0; 300_000], b"LIGRELAY", b""];
    std::thread::scope(|scope| {
        for said in all {
            scope.spawn(move || assert!(heard(address, said).is_empty()));
        }
    });
    // This stranger has the key of another relay.
    let other = Route::over(&[Station::new(vec![post.address.to_string()])]).unwrap();
    let keys = RunKeys::make();
    let mut stranger = End::new(&keys, 1, true, NetOptions::default());
    stranger.net.dial(0, DialAddress::read(&[other.word().unwrap()], Some(&other)).unwrap(), 1);
    let began = now();
    play(&mut [&mut stranger], &mut None, |_, _| now() - began > 300_000_000);
    assert!(stranger.events.is_empty(), "{:?}", stranger.events);
    // Many connections that send nothing.
    let flood: Vec<TcpStream> = (0..600).map(|_| TcpStream::connect(post.address).unwrap()).collect();
    exchange(&mut ends);
    let mut more = pair(&RunKeys::make(), [&way, &way], NetOptions::default());
    exchange(&mut more);
    assert!(post.load().connections < 300, "{:?}", post.load());
    drop(flood);
    end(&mut more);
    end(&mut ends);
}

#[test]
fn what_was_overheard_opens_nothing_and_has_no_plain_text() {
    let post = Post::new(&[]);
    let mut proxy = Proxy::to(post.address);
    proxy.record = Some(Vec::new());
    let mut station = post.station.clone();
    station.at = vec![proxy.address.to_string()];
    let way = Route::over(&[station]).unwrap();
    let keys = RunKeys::make();
    let mut zero = End::new(&keys, 0, true, NetOptions::default());
    let mut one = End::new(&keys, 1, true, NetOptions::default());
    let near = over(&[&post]);
    zero.net.wait_at(&near);
    zero.net.expect(1);
    one.net.dial(0, DialAddress::read(&[way.word().unwrap()], Some(&way)).unwrap(), 1);
    let plain = b"the concentration of ligands in the third compartment".repeat(40);
    zero.desk.checks = false;
    one.send_bytes(0, 7, plain.clone());
    let mut proxy = Some(proxy);
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[0].desk.count == 1);
    assert!(zero.desk.delivered[&7][0] == plain);
    let record = proxy.unwrap().record.unwrap();
    assert!(record.len() > plain.len());
    assert!(!record.windows(30).any(|some| some == &plain[..30]), "a relay reads nothing");
    assert_eq!(&record[..8], b"LIGRELAY");
    for len in [120, 120 + 32, record.len()] {
        assert!(heard(post.address, &record[..len]).is_empty(), "a request that was heard before");
    }
    let mut changed = record[..120].to_vec();
    for at in 0..120 {
        changed[at] ^= 1;
        assert!(heard(post.address, &changed).is_empty(), "byte {at} was changed");
        changed[at] ^= 1;
    }
}

#[test]
fn a_relay_is_read_from_a_file_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(format!("ligament-relays-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("a.relay");
    let station = Station::new(vec!["login.site.org:7000".into(), "[::1]:7000".into()]);
    station.write(&file).unwrap();
    assert_eq!(Station::read(&file), Ok(station.clone()));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Station::read(&file).unwrap_err().text().contains("mode 0640"));
    assert!(Station::read(&folder).unwrap_err().text().contains("is not a file"));
    for wrong in ["", "{}", "{\"ligament relay\": 2, \"at\": [], \"secret\": \"\"}", "[1, 2"] {
        assert!(Station::from_text(wrong).is_err(), "{wrong}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn of_two_paths_with_one_key_the_second_one_waits_in_vain_and_is_told_why() {
    let post = Post::new(&[]);
    let (way, keys) = (over(&[&post]), RunKeys::make());
    let mut tuning = NetOptions::default();
    tuning.path.patience = 3 * SECOND_NS;
    let mut first = End::new(&keys, 0, true, NetOptions::default());
    first.net.wait_at(&way);
    first.net.expect(1);
    play(&mut [&mut first], &mut None, |_, _| post.load().wait == 6);
    let mut second = End::new(&keys, 0, true, tuning);
    second.net.wait_at(&way);
    second.net.expect(1);
    let given_up =
        |event: &Event| matches!(event, Event::GivenUp { why, .. } if why.text().contains("same key"));
    play(&mut [&mut first, &mut second], &mut None, |ends, _| ends[1].has(given_up));
    let mut opens = End::new(&keys, 1, true, NetOptions::default());
    opens.net.dial(0, DialAddress::read(&[way.word().unwrap()], Some(&way)).unwrap(), 4);
    let mut ends = [first, opens];
    exchange(&mut ends);
    end(&mut ends);
}

/// Makes two relays in a row, and two routes: of a domain at the last relay, and of a domain at the first.
fn row() -> ([Post; 2], [Arc<Route>; 2]) {
    let last = Post::new(&[]);
    let first = Post::new(&[&last]);
    let ways = [over(&[&last]), over(&[&first, &last])];
    ([first, last], ways)
}

/// Makes two domains at the two ends of a row of relays. `from_the_far_end` sets which domain dials.
fn pair_by_trunk(ways: &[Arc<Route>; 2], from_the_far_end: bool, tuning: NetOptions) -> [End; 2] {
    let keys = RunKeys::make();
    let mut ends = [0, 1].map(|me| End::new(&keys, me, true, tuning));
    let (dials, waits) = if from_the_far_end { (1, 0) } else { (0, 1) };
    let places = |of: usize| DialAddress::read(&[ways[of].word().unwrap()], Some(&ways[1 - of])).unwrap();
    ends[waits].net.wait_at(&ways[waits]);
    ends[waits].net.expect_at(dials as u32, places(dials));
    ends[dials].net.dial(waits as u32, places(waits), 0);
    ends
}

#[test]
fn however_many_pairs_of_domains_there_are_the_streams_between_two_relays_are_as_many_as_for_one() {
    let ([first, last], ways) = row();
    let mut pairs = vec![pair_by_trunk(&ways, true, NetOptions::default())];
    exchange(&mut pairs[0]);
    let (streams, circuits) = (last.load().streams, last.load().circuits);
    assert!(streams >= 2 && circuits == 2, "{:?}", last.load());
    for from_the_far_end in [true, false, true, false] {
        pairs.push(pair_by_trunk(&ways, from_the_far_end, NetOptions::default()));
    }
    for _ in 0..2 {
        pairs.iter_mut().for_each(exchange);
    }
    for post in [&first, &last] {
        assert_eq!(post.load().streams, streams, "{:?}", post.load());
    }
    // Each of the five pairs has two circuits. Two domains wait over the trunk, with six connections each.
    assert!(first.load().circuits >= 5 * 2 + 2 * 6, "{:?}", first.load());
    pairs.iter_mut().for_each(end);
}

#[test]
fn a_circuit_that_nobody_reads_holds_up_no_other_and_next_to_nothing_is_kept_of_it() {
    let ([first, last], ways) = row();
    let mut tuning = NetOptions::default();
    tuning.path.silence = 600 * SECOND_NS;
    let mut still = pair_by_trunk(&ways, true, tuning);
    let mut goes_on = pair_by_trunk(&ways, true, tuning);
    exchange(&mut still);
    exchange(&mut goes_on);
    // From here on, one domain of the pair `still` reads nothing, while the other one sends.
    for conduit in 200..204 {
        still[1].send(0, conduit, 30 << 20);
    }
    let through = first.load().through;
    let [_, sends] = &mut still;
    play(&mut [sends], &mut None, |_, _| first.load().through > through + (1 << 20));
    for _ in 0..3 {
        let before = [goes_on[0].desk.count, goes_on[1].desk.count];
        goes_on[0].send(1, 300, 9 << 20);
        goes_on[1].send(0, 301, 9 << 20);
        let ([zero, one], [_, sends]) = (&mut goes_on, &mut still);
        play(&mut [zero, one, sends], &mut None, |ends, _| {
            ends.iter().zip(before).all(|(end, before)| end.desk.count > before)
        });
    }
    for post in [&first, &last] {
        assert!(post.load().kept < 40 << 20, "{:?}", post.load());
    }
    let before = still[0].desk.count;
    let [zero, one] = &mut still;
    play(&mut [zero, one], &mut None, |ends, _| ends[0].desk.count == before + 4);
    end(&mut still);
    end(&mut goes_on);
}

#[test]
fn either_of_two_relays_in_a_row_may_be_killed_and_started_again_and_nothing_is_lost_or_comes_twice() {
    let ([mut first, mut last], ways) = row();
    let mut ends = pair_by_trunk(&ways, true, NetOptions::default());
    exchange(&mut ends);
    for round in 0..6 {
        let before = [ends[0].desk.count, ends[1].desk.count];
        for conduit in 100..104 {
            ends[0].send(1, conduit, 6 << 20);
            ends[1].send(0, conduit, 70_000);
        }
        let through = first.load().through;
        let [zero, one] = &mut ends;
        play(&mut [zero, one], &mut None, |_, _| first.load().through > through + (2 << 20));
        match round % 2 {
            0 => first.again(),
            _ => last.again(),
        }
        play(&mut [zero, one], &mut None, |ends, _| {
            ends.iter().zip(before).all(|(end, before)| end.desk.count == before + 4)
        });
    }
    end(&mut ends);
}

/// Returns the keys of a relay, as a user of its file has them.
fn keys_of(station: &Station, test: &str) -> RunKeys {
    let text = station.to_text();
    let secret = text.split('"').find(|word| word.len() == 64).expect("the file has the secret");
    let file = std::env::temp_dir().join(format!("ligament-{test}-{}", std::process::id()));
    std::fs::write(&file, secret).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let keys = RunKeys::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    keys
}

#[test]
fn whoever_breaks_the_rules_of_a_trunk_is_parted_with_and_disturbs_nobody() {
    let ([_first, last], ways) = row();
    let mut ends = pair_by_trunk(&ways, true, NetOptions::default());
    exchange(&mut ends);
    let keys = keys_of(&last.station, "trunk");
    let said: [&[(u32, &[u8])]; 7] = [
        // Messages that are too long or empty, for an impossible or unopened circuit, that open a circuit
        // twice or have an unknown kind, and one circuit more than is allowed.
        &[(1, &[2; 70_000])],
        &[(1, &[])],
        &[(5000, &[1])],
        &[(1, &[2, 0])],
        &[(1, &[1]), (1, &[1])],
        &[(1, &[1]), (1, &[7, 7, 7])],
        &[(1, &[1]), (4096, &[1])],
    ];
    for (number, all) in said.into_iter().enumerate() {
        last.refusals.lock().unwrap().clear();
        let mut stranger = End::new(&keys, 10 + number as u32, true, NetOptions::default());
        stranger.net.dial(0, DialAddress::read(&[ways[0].word().unwrap()], Some(&ways[0])).unwrap(), 1);
        stranger.desk.checks = false;
        for (circuit, bytes) in all {
            stranger.send_bytes(0, *circuit, bytes.to_vec());
        }
        let parted = |refusals: &[String]| refusals.iter().any(|why| why.contains("trunk"));
        play(&mut [&mut stranger], &mut None, |_, _| parted(&last.refusals.lock().unwrap()));
        exchange(&mut ends);
    }
    end(&mut ends);
}
