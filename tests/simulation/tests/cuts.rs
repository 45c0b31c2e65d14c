//! Random schedules of checkpoints keep the rules. `LIGAMENT_SCHEDULES=n` plays n schedules (400 by default),
//! each of up to three runs, and `LIGAMENT_SEED=s` plays the schedule of this seed and prints its story.

use ligament_simulation::cuts::{cut, CutAccount};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, and not \"{text}\"")))
}

fn play(count: u64) -> Vec<(u64, CutAccount)> {
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
                let account = cut(seed, false);
                accounts.lock().unwrap().push((seed, account));
            });
        }
    });
    accounts.into_inner().unwrap()
}

#[test]
fn each_message_is_received_once_over_all_runs_or_there_is_no_checkpoint() {
    if let Some(seed) = number("LIGAMENT_SEED") {
        let account = cut(seed, true);
        println!("{}", account.story.join("\n"));
        assert!(account.wrong.is_empty(), "seed {seed}: {}", account.wrong.join("; "));
        return;
    }
    let mut accounts = play(number("LIGAMENT_SCHEDULES").unwrap_or(400));
    accounts.sort_by_key(|(seed, _)| *seed);
    let sum = |of: fn(&CutAccount) -> usize| accounts.iter().map(|(_, account)| of(account)).sum::<usize>();
    let (whole, void, resumed) = (sum(|one| one.whole), sum(|one| one.void), sum(|one| one.resumed));
    let (under_way, dropped) = (sum(|one| one.under_way), sum(|one| one.dropped as usize));
    let (over, ended) = (sum(|one| one.over), sum(|one| one.ended));
    let wishes = [
        sum(|one| one.requests.settings),
        sum(|one| one.requests.halts),
        sum(|one| one.requests.saves),
        sum(|one| one.requests.given_up),
    ];
    println!("{wishes:?} settings, halts and checkpoints that people wished, and times given up for these");
    println!(
        "{} schedules, {} runs, {ended} ended by a fault; {whole} checkpoints, {void} given up; {resumed} runs \
         resumed, with {under_way} messages under way, {dropped} sent again, {over} instances over",
        accounts.len(),
        sum(|one| one.runs)
    );
    let failed: Vec<_> = accounts.iter().filter(|(_, account)| !account.wrong.is_empty()).collect();
    for (seed, account) in failed.iter().take(10) {
        println!("seed {seed}: {}", account.wrong.join("; "));
    }
    assert!(failed.is_empty(), "{} of {} schedules went against the rules", failed.len(), accounts.len());
    // The schedules are useful only if all of these events occur.
    for count in [whole, void, resumed, under_way, dropped, over, ended] {
        assert!(count > 20, "{whole}, {void}, {resumed}, {under_way}, {dropped}, {over}, {ended}");
    }
    assert!(wishes.iter().all(|count| *count > 20), "{wishes:?}");
}
