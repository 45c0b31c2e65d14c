//! Random schedules of steering keep the rules. `LIGAMENT_SCHEDULES=n` plays n schedules (10,000 by default, in
//! a second or two), and `LIGAMENT_SEED=s` plays the schedule of this seed and prints its story.

use ligament_simulation::steering::steer;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, and not \"{text}\"")))
}

#[test]
fn everybody_makes_a_change_at_the_same_model_time_or_nobody_does() {
    if let Some(seed) = number("LIGAMENT_SEED") {
        let account = steer(seed, true);
        println!("{}", account.story.join("\n"));
        assert!(account.wrong.is_empty(), "seed {seed}: {}", account.wrong.join("; "));
        return;
    }
    let (mut agreed, mut refused, mut steps, mut once_a_pass, mut unsteered) = (0, 0, 0, 0, 0);
    let (mut whole, mut given_up) = (0, 0);
    for seed in 0..number("LIGAMENT_SCHEDULES").unwrap_or(10_000) {
        let account = steer(seed, false);
        assert!(account.wrong.is_empty(), "seed {seed}: {}", account.wrong.join("; "));
        agreed += account.agreed;
        refused += account.refused;
        steps += account.steps;
        once_a_pass += account.once_a_pass;
        unsteered += account.unsteered;
        whole += account.whole;
        given_up += account.given_up;
    }
    println!(
        "{agreed} changes were agreed on, {once_a_pass} of them for passes, {unsteered} with somebody who had \
         never steered, and {refused} refused, in {steps} steps"
    );
    // The schedules are useful only if all of these events occur.
    assert!(agreed > 100 && refused > 100, "{agreed} agreed, {refused} refused");
    assert!(
        once_a_pass > 50 && unsteered > 10,
        "{once_a_pass} for passes, {unsteered} with somebody unsteered"
    );
    assert!(whole > 100 && given_up > 10, "{whole} checkpoints whole, {given_up} given up");
}
