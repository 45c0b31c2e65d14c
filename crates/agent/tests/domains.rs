//! Tests of runs over two and three domains on this machine. Each domain is a process with an agent of its own
//! and with real instances. The domains are connected over loopback. `examples/domain` is the program of all
//! these processes.

use ligament_net::{Invitation, RunKeys};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit of a run. It is much longer than any of these tests takes, so only a run that hangs reaches it.
const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(180);

/// Returns the path of the program. `cargo test` builds it, but `cargo test --test domains` does not: run
/// `cargo build --examples` first.
fn program() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples/domain")
}

/// A run: its directory, and the processes of its domains.
struct DomainRun {
    directory: PathBuf,
    domains: u32,
    children: Vec<(u32, Child)>,
}

impl DomainRun {
    /// Prepares the directory of a run. `components` and `conduits` are yMMSL; `placement` has the domain of
    /// each instance.
    fn new(
        test: &str,
        components: &str,
        conduits: &str,
        more: &str,
        placement: &[u32],
        encrypt: bool,
    ) -> DomainRun {
        let directory = std::env::temp_dir().join(format!("ligament-domains-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let model = format!(
            "ymmsl_version: v0.1\nmodel:\n  name: spread\n  components:\n{components}\n  conduits:\n\
            {conduits}\nimplementations:\n  p: {{executable: /bin/true}}\n{more}\n"
        );
        std::fs::write(directory.join("model.ymmsl"), model).unwrap();
        let numbers: Vec<String> = placement.iter().map(u32::to_string).collect();
        std::fs::write(directory.join("placement"), numbers.join(" ")).unwrap();
        let invitation = Invitation::new("spread", Vec::new(), encrypt, RunKeys::make());
        invitation.write(&directory.join("invitation")).unwrap();
        DomainRun { directory, domains: placement.iter().max().unwrap() + 1, children: Vec::new() }
    }

    fn start(&mut self, domain: u32) {
        let log = std::fs::File::create(self.directory.join(format!("domain-{domain}.log"))).unwrap();
        let child = Command::new(program())
            .args(["domain", self.directory.to_str().unwrap(), &domain.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push((domain, child));
    }

    /// Starts all domains. Other domains reach each domain at the address at which it listens.
    fn start_all(&mut self) {
        for domain in 0..self.domains {
            self.start(domain);
            self.reach(domain, |address| address);
        }
    }

    /// Waits until a domain listens, and then tells the other domains the address at which they reach it. `by`
    /// makes this address of the domain's own; for example, it puts a proxy before the domain.
    fn reach(&mut self, domain: u32, by: impl FnOnce(String) -> String) {
        let address = self.await_file(&format!("address-{domain}"), |_| true);
        let partial = self.directory.join("reach");
        std::fs::write(&partial, by(address)).unwrap();
        std::fs::rename(partial, self.directory.join(format!("reach-{domain}"))).unwrap();
    }

    fn await_file(&mut self, name: &str, wanted: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(self.directory.join(name)) {
                if wanted(&text) {
                    return text;
                }
            }
            assert!(began.elapsed() < WATCHDOG_TIMEOUT, "{name} never came: {}", self.story());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until all domains have ended, and checks that they ended without an error.
    fn ends_well(&mut self) {
        let began = Instant::now();
        while !self.children.is_empty() {
            let ended = self.children.iter_mut().position(|(_, child)| child.try_wait().unwrap().is_some());
            match ended {
                Some(at) => {
                    let (domain, mut child) = self.children.remove(at);
                    let status = child.wait().unwrap();
                    assert!(status.success(), "domain {domain} ended with {status}: {}", self.story());
                }
                None => {
                    assert!(began.elapsed() < WATCHDOG_TIMEOUT, "it never ends: {}", self.story());
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }

    /// Returns the output of all processes.
    fn story(&self) -> String {
        let files = std::fs::read_dir(&self.directory).unwrap().map(|one| one.unwrap().path());
        let mut logs: Vec<PathBuf> =
            files.filter(|name| name.extension().is_some_and(|ext| ext == "log")).collect();
        logs.sort();
        let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let said: String =
            logs.iter().map(|path| format!("\n--- {}\n{}", path.display(), text(path))).collect();
        said + &self.standing()
    }

    /// Returns the state of each thread of each remaining process. It helps to explain a run that hangs very
    /// rarely.
    fn standing(&self) -> String {
        let mut processes: Vec<u32> = self.children.iter().map(|(_, child)| child.id()).collect();
        let mut said = String::from("\n--- what is left");
        while let Some(pid) = processes.pop() {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for task in tasks {
                let text = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
                let below = text("children");
                processes.extend(below.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
                let state =
                    text("stat").rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?');
                let command = text("cmdline").replace('\0', " ");
                let (comm, waits, call) = (text("comm"), text("wchan"), text("syscall"));
                said += &format!("\n{pid} {command}({}) {state} {waits} {}", comm.trim(), call.trim());
            }
        }
        said
    }
}

impl Drop for DomainRun {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// Starts a proxy that forwards connections. As soon as one direction of a connection has passed `cut_after`
/// bytes, the connection is cut; after `cuts` cuts, connections are not cut any more. Returns the proxy's
/// address, and a counter that has at least the number of cuts.
fn proxy(to: String, cut_after: usize, cuts: u32) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for guest in listener.incoming().map_while(Result::ok) {
            let Ok(host) = TcpStream::connect(to.lines().next().unwrap()) else { continue };
            let ways = [(guest.try_clone().unwrap(), host.try_clone().unwrap()), (host, guest)];
            for (mut from, mut into) in ways {
                let count = counted.clone();
                std::thread::spawn(move || {
                    let (mut passed, mut buffer) = (0, vec![0; 64 << 10]);
                    while let Ok(read @ 1..) = from.read(&mut buffer) {
                        passed += read;
                        let cut = passed >= cut_after && count.fetch_add(1, Ordering::SeqCst) < cuts;
                        // The bytes that were read from one end are lost, like bytes under way on a network.
                        if cut || into.write_all(&buffer[..read]).is_err() {
                            break;
                        }
                    }
                    let _ = (from.shutdown(Shutdown::Both), into.shutdown(Shutdown::Both));
                });
            }
        }
    });
    (here, count)
}

#[test]
fn values_of_all_types_pass_between_domains_and_so_do_slots() {
    let components = "    values: {implementation: p, ports: {o_i: out}}
    checker: {implementation: p, ports: {s: in}}
    fan: {implementation: p, ports: {o_i: out, s: in}}
    leaf: {implementation: p, multiplicity: 5, ports: {f_init: init, o_f: final}}";
    let conduits = "    values.out: checker.in\n    fan.out: leaf.init\n    leaf.final: fan.in";
    let mut run = DomainRun::new(
        "values",
        components,
        conduits,
        "settings: {steps: 30}",
        &[1, 0, 0, 0, 1, 1, 2, 2],
        true,
    );
    run.start_all();
    run.ends_well();
}

#[test]
fn many_small_messages_pass_both_ways_at_once() {
    let components = "    flood: {implementation: p, multiplicity: 2, ports: {o_i: out}}
    drain: {implementation: p, multiplicity: 2, ports: {s: in}}";
    let more = "settings: {messages: 100000}";
    let mut run = DomainRun::new("flood", components, "    flood.out: drain.in", more, &[0, 1, 1, 0], false);
    run.start_all();
    run.ends_well();
}

const WHALE_COMPONENTS: &str = "    whale: {implementation: p, ports: {o_i: out}}
    harbour: {implementation: p, ports: {s: in}}";

#[test]
fn large_messages_pass_however_often_they_are_cut() {
    let more = "settings: {messages: 3, elements: 33554432}";
    let mut run = DomainRun::new("whale", WHALE_COMPONENTS, "    whale.out: harbour.in", more, &[1, 0], true);
    run.start(0);
    let mut count = None;
    run.reach(0, |address| {
        let (here, cuts) = proxy(address, 8 << 20, 20);
        count = Some(cuts);
        here
    });
    run.start(1);
    run.ends_well();
    assert!(count.unwrap().load(Ordering::SeqCst) >= 5, "it was cut");
}

#[test]
fn messages_pass_that_are_larger_than_the_memory_for_them() {
    let more = "settings: {messages: 3, elements: 6000000}\nligament: {memory: 24 MiB}";
    let mut run = DomainRun::new("window", WHALE_COMPONENTS, "    whale.out: harbour.in", more, &[0, 1], false);
    run.start_all();
    run.ends_well();
}

#[test]
fn a_receiver_that_reads_nothing_holds_up_its_sender_and_nobody_else() {
    let components = "    talker: {implementation: p, ports: {o_i: out}}
    stubborn: {implementation: p, ports: {s: [in, go]}}
    ping: {implementation: p, ports: {o_i: out, s: in}}
    pong: {implementation: p, ports: {s: in, o_i: [out, go]}}";
    let conduits = "    talker.out: stubborn.in
    ping.out: pong.in
    pong.out: ping.in
    pong.go: stubborn.go";
    let more = "settings: {messages: 60, steps: 500}\nligament: {budget: 1 MiB}";
    let mut run = DomainRun::new("stubborn", components, conduits, more, &[0, 1, 1, 0], false);
    run.start_all();
    run.ends_well();
}

#[test]
fn a_receiver_that_ends_early_does_not_hold_up_its_sender() {
    let components = "    talker: {implementation: p, ports: {o_i: out}}
    quitter: {implementation: p, ports: {s: in}}";
    let more = "settings: {messages: 100}\nligament: {budget: 1 MiB}";
    let mut run = DomainRun::new("quitter", components, "    talker.out: quitter.in", more, &[1, 0], false);
    run.start_all();
    run.ends_well();
}

#[test]
fn settings_overlays_go_with_messages() {
    let components = "    teacher: {implementation: p, ports: {o_i: [settings, lesson]}}
    pupil: {implementation: p, ports: {f_init: lesson, o_f: homework}}
    collector: {implementation: p, ports: {s: in}}";
    let conduits = "    teacher.settings: pupil.muscle_settings_in
    teacher.lesson: pupil.lesson
    pupil.homework: collector.in";
    let mut run = DomainRun::new("overlays", components, conduits, "", &[0, 1, 2], false);
    run.start_all();
    run.ends_well();
}

#[test]
fn resizable_ports_resize_between_domains() {
    let components = "    lister: {implementation: p, ports: {o_i: out}}
    reader: {implementation: p, ports: {s: in}}";
    let mut run = DomainRun::new("lister", components, "    lister.out: reader.in", "", &[0, 1], false);
    run.start_all();
    run.ends_well();
}

#[test]
fn a_sender_may_be_gone_before_the_domain_of_its_receiver_has_begun() {
    let more = "settings: {messages: 4, elements: 100000}";
    let mut run = DomainRun::new("early", WHALE_COMPONENTS, "    whale.out: harbour.in", more, &[0, 1], false);
    run.start(0);
    run.await_file("domain-0.log", |text| text.contains("Exited { rank: 0, exit: Status(0) }"));
    run.reach(0, |address| address);
    run.start(1);
    run.ends_well();
}

#[test]
fn steady_exchange_goes_on_after_cuts() {
    let components = "    ping: {implementation: p, ports: {o_i: out, s: in}}
    pong: {implementation: p, ports: {s: in, o_i: [out, go]}}
    stubborn: {implementation: p, ports: {s: [in, go]}}
    talker: {implementation: p, ports: {o_i: out}}";
    let conduits = "    ping.out: pong.in
    pong.out: ping.in
    pong.go: stubborn.go
    talker.out: stubborn.in";
    let more = "settings: {messages: 2, steps: 3000}";
    let mut run = DomainRun::new("cuts", components, conduits, more, &[0, 1, 0, 1], true);
    run.start(0);
    let mut count = None;
    run.reach(0, |address| {
        let (here, cuts) = proxy(address, 20_000, 12);
        count = Some(cuts);
        here
    });
    run.start(1);
    run.ends_well();
    assert!(count.unwrap().load(Ordering::SeqCst) >= 12, "it was cut");
}
