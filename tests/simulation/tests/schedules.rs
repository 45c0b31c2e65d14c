//! Random schedules keep the rules. `LIGAMENT_SCHEDULES=n` plays n schedules (1000 by default), and
//! `LIGAMENT_SEED=s` plays the schedule of this seed and prints its story.

use ligament_simulation::{run, Account};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, and not \"{text}\"")))
}

fn play(count: u64) -> Vec<Account> {
    let next = AtomicU64::new(0);
    let accounts = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= count {
                    break;
                }
                let account = run(seed, false);
                accounts.lock().unwrap().push(account);
            });
        }
    });
    accounts.into_inner().unwrap()
}

fn summary(accounts: &[Account]) -> String {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    accounts.iter().for_each(|account| *ends.entry(account.end).or_default() += 1);
    let ends: Vec<String> = ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
    format!(
        "{} schedules ({}): {} letters received in {} moves; {} budgets grown; {} with ranks; {} \
         time-outs of sleep",
        accounts.len(),
        ends.join(", "),
        sum(|a| a.received),
        sum(|a| a.moves),
        sum(|a| a.grown as u64),
        accounts.iter().filter(|account| account.ranks > 0).count(),
        sum(|a| a.slept_out)
    )
}

#[test]
fn every_schedule_holds_to_the_rules() {
    if let Some(seed) = number("LIGAMENT_SEED") {
        let account = run(seed, true);
        println!("{}", account.story.join("\n"));
        assert!(account.wrong.is_empty(), "seed {seed}: {}", account.wrong.join("; "));
        return;
    }
    let accounts = play(number("LIGAMENT_SCHEDULES").unwrap_or(1000));
    println!("{}", summary(&accounts));
    if accounts.len() >= 1000 {
        assert!(
            accounts.iter().any(|account| account.grown > 0 && account.end == "done"),
            "no budget had to grow"
        );
        for end in ["done", "failed", "deadlocked", "stopped", "agent gone"] {
            let ended = || accounts.iter().filter(|account| account.end == end);
            assert!(ended().count() > 0, "no schedule ended as \"{end}\"");
            assert!(ended().any(|account| account.ranks > 0), "none with ranks ended as \"{end}\"");
        }
    }
    let mut failed: Vec<&Account> = accounts.iter().filter(|account| !account.wrong.is_empty()).collect();
    failed.sort_by_key(|account| account.seed);
    for account in failed.iter().take(10) {
        println!("seed {}: {}", account.seed, account.wrong.join("; "));
    }
    let first = failed.first().map(|account| account.seed);
    assert!(
        failed.is_empty(),
        "{} of {} schedules went against the rules; replay the first with LIGAMENT_SEED={} cargo test -p \
         ligament-simulation --test schedules -- --nocapture",
        failed.len(),
        accounts.len(),
        first.unwrap_or_default()
    );
}

#[test]
fn a_seed_always_plays_the_same() {
    for seed in 0..20 {
        let (first, second) = (run(seed, false), run(seed, true));
        assert_eq!((first.digest, first.moves), (second.digest, second.moves), "seed {seed}");
        assert!(!second.story.is_empty());
    }
}
