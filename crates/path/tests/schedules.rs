//! Plays random schedules of a path whose streams break, directly and over relays. Each seed gives one
//! schedule. `LIGAMENT_SCHEDULES` sets their number, and `LIGAMENT_SEED` plays the schedule of one seed.

mod world;

use world::World;

fn play_all(relays: u64) {
    let many = std::env::var("LIGAMENT_SCHEDULES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let seeds = match std::env::var("LIGAMENT_SEED").ok().and_then(|text| text.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..many,
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, relays);
            let (sends, cuts) = (2 + world.dice.below(200), world.dice.below(30));
            world.play(sends, cuts);
        });
        assert!(outcome.is_ok(), "schedule {seed} failed; LIGAMENT_SEED={seed} plays it alone");
    }
}

#[test]
fn whatever_is_cut_every_message_arrives_once_and_in_order_and_the_path_ends() {
    play_all(0);
}

#[test]
fn whatever_becomes_of_relays_in_a_row_every_message_arrives_once_and_in_order_and_the_path_ends() {
    play_all(3);
}
