//! Predictions for small models agree with results that were calculated by hand.

use ligament_analysis::predict::{agree, best_placement, predict, Costs, PathKind, Prediction, Question};
use ligament_model::{Configuration, ResolvedModel};

const CALL: &str = "ymmsl_version: v0.2
models:
  call:
    components:
      macro: {ports: {o_i: out, s: back}, implementation: p}
      micro: {ports: {f_init: init, o_f: final}, implementation: p}
    conduits:
      macro.out: micro.init
      micro.final: macro.back
programs: {p: {executable: p}}
settings: {macro.t_max: 2.0, macro.dt: 0.5, micro.cells: 10}
";

const CALL_COSTS: &str = "ligament_costs: 1
common: {latency: 0.25}
components:
  macro: {setup: 0.5, steps: t_max / dt, step: 1.0}
  micro: {pass: 0.2 * cells}
conduits:
  macro.out -> micro.init: {bytes: 1 KiB}
  micro.final -> macro.back: {bytes: 100}
";

fn model(text: &str) -> ResolvedModel {
    Configuration::from_yaml(text, "model.ymmsl").unwrap().expand().unwrap()
}

fn costs(text: &str) -> Costs {
    Costs::read(text, "costs.yaml").unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn ask(model_text: &str, costs_text: &str, cores: u32) -> Prediction {
    predict(&model(model_text), &costs(costs_text), &Question::on(cores)).unwrap()
}

fn refused(model_text: &str, costs_text: &str) -> String {
    let problems = match Costs::read(costs_text, "costs.yaml") {
        Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Ok(costs) => predict(&model(model_text), &costs, &Question::on(2)).unwrap_err().to_string(),
    };
    problems
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn who_waits_for_the_end_of_an_instance_waits_for_what_it_does_there() {
    let costs = CALL_COSTS
        .replace("cells}", "cells, teardown: 3.0}")
        .replace("step: 1.0}", "step: 1.0, teardown: 7.0}");
    let found = ask(CALL, &costs, 2);
    // The macro model has a teardown of 7 s after its last step. Only afterwards does the micro model learn
    // that no message follows, and begins its own teardown of 3 s.
    near(found.duration, 14.5 + 7.0 + 3.0);
    let [macro_, micro] = &found.instances[..] else { panic!("{:?}", found.instances) };
    near(macro_.computing, 4.5 + 7.0);
    near(micro.computing, 8.0 + 3.0);
}

#[test]
fn a_macro_model_waits_for_the_micro_model_that_it_calls() {
    // The setup takes 0.5 s. Each of four steps takes 0.25 s (message to micro) + 2 s (pass of micro) + 0.25 s
    // (message back) + 1 s (step of macro). The two never compute at the same time, so a second core changes
    // nothing.
    for cores in [1, 2] {
        let found = ask(CALL, CALL_COSTS, cores);
        near(found.duration, 14.5);
        let [macro_, micro] = &found.instances[..] else { panic!("{:?}", found.instances) };
        near(macro_.computing, 4.5);
        near(macro_.waiting, 10.0);
        near(micro.computing, 8.0);
        near(micro.waiting, 6.5);
        assert_eq!((macro_.sent_messages, macro_.received_messages, micro.passes), (4, 4, 4));
        near(macro_.sent_bytes, 4096.0);
        near(macro_.received_bytes, 400.0);
        assert_eq!(found.messages, 8);
        let part = |who: &str, what: PathKind| {
            found
                .critical_path
                .iter()
                .find(|one| one.who == who && one.what == what)
                .map_or(0.0, |one| one.seconds)
        };
        near(part("micro", PathKind::Computes), 8.0);
        near(part("macro", PathKind::Computes), 4.5);
        near(part("macro.out -> micro.init", PathKind::Messages), 1.0);
        near(part("micro.final -> macro.back", PathKind::Messages), 1.0);
    }
}

const PEERS: &str = "ymmsl_version: v0.2
models:
  peers:
    components:
      a: {ports: {o_i: out, s: in}, implementation: p}
      b: {ports: {o_i: out, s: in}, implementation: p}
    conduits:
      a.out: b.in
      b.out: a.in
programs: {p: {executable: p}}
";

const PEERS_COSTS: &str = "ligament_costs: 1
common: {latency: 0, network_latency: 0.1, bandwidth: 1000}
components:
  a: {steps: 3, step: 1.0}
  b: {steps: 3, step: 2.0}
conduits:
  a.out -> b.in: {bytes: 400}
  b.out -> a.in: {bytes: 400}
";

#[test]
fn peers_compute_at_the_same_time_or_share_a_core() {
    // On two cores a step takes as long as the slower component: 2 s. On one core both run at half speed until
    // a has done its 1 s of work, at 2 s. Then b has 1 s of work left, and the step ends at 3 s.
    near(ask(PEERS, PEERS_COSTS, 2).duration, 6.0);
    let shared = ask(PEERS, PEERS_COSTS, 1);
    near(shared.duration, 9.0);
    near(shared.instances[0].computing, 6.0);
    near(shared.instances[0].work, 3.0);
    let mut question = Question::on(2);
    question.speed_up = true;
    let found = predict(&model(PEERS), &costs(PEERS_COSTS), &question).unwrap();
    let ways: Vec<(Option<u32>, f64)> = found.speed_up.iter().map(|one| (one.cores, one.speed_up)).collect();
    assert_eq!(ways, [(Some(1), 1.0), (None, 1.5)]);
}

#[test]
fn messages_between_machines_take_their_time() {
    let question = Question { machines: vec![1, 1], placement: Some(vec![0, 1]), speed_up: false };
    let found = predict(&model(PEERS), &costs(PEERS_COSTS), &question).unwrap();
    // A message takes 0.4 s to send and 0.1 s on the way.
    //
    // a computes from 0.5 to 1.5 s; its second message arrives at b at 2.0 s.
    // b computes from 0.5 to 2.5 s; its second message arrives at a at 3.0 s.
    // a computes from 3.0 to 4.0 s; its third message arrives at b at 4.5 s.
    // b computes from 2.5 to 4.5 s, and from 4.5 to 6.5 s, after a has ended.
    near(found.duration, 6.5);
}

#[test]
fn a_producer_waits_for_room() {
    let text = "ymmsl_version: v0.2
models:
  queue:
    components:
      fast: {ports: {o_i: out}, implementation: p}
      slow: {ports: {s: in}, implementation: p}
    conduits: {fast.out: slow.in}
programs: {p: {executable: p}}
ligament: {budget: 3 KiB}
";
    let costs = "ligament_costs: 1
common: {latency: 0}
components:
  fast: {steps: 6, step: 1}
  slow: {step: 4}
conduits: {fast.out -> slow.in: {bytes: 1 KiB}}
";
    // The budget has room for two messages. fast sends messages 1 to 3 at 0, 1 and 2 s. At 3 s two messages are
    // unread, so message 4 waits until slow ends its step at 4 s, message 5 until 8 s, and message 6 until 12
    // s. slow receives message 6 at 20 s and ends at 24 s.
    let found = ask(text, costs, 2);
    near(found.duration, 24.0);
    near(found.instances[0].ends, 13.0);
    near(found.instances[0].waiting, 1.0 + 3.0 + 3.0);
    assert_eq!(found.conduits[0].most_under_way, 2);
    near(found.instances[0].messages_memory, 2048.0);
}

#[test]
fn messages_may_be_rarer_than_steps() {
    let text = "ymmsl_version: v0.2
models:
  film:
    components:
      flow: {ports: {o_i: [film, level], o_f: balance}, implementation: p}
      gate: {ports: {f_init: level, o_f: flow}, implementation: p}
      camera: {ports: {s: [film, balance]}, implementation: p}
    conduits:
      flow.film: camera.film
      flow.level: gate.level
      flow.balance: camera.balance
programs: {p: {executable: p}}
";
    let costs = "ligament_costs: 1
common: {latency: 0}
components:
  flow: {steps: 100, step: 0.01}
  gate: {pass: 0.001}
  camera: {steps: 4, step: 0.1}
conduits:
  flow.film -> camera.film: {bytes: 1 MiB, sent: 0.04}
  flow.level -> gate.level: {bytes: 8}
  flow.balance -> camera.balance: {bytes: 80, received: 1/4}
";
    let found = ask(text, costs, 4);
    let messages: Vec<(&str, u64)> =
        found.conduits.iter().map(|one| (one.from.as_str(), one.messages)).collect();
    assert_eq!(messages, [("flow.balance", 1), ("flow.film", 4), ("flow.level", 100)]);
    // The camera receives its last film message in step 76, and then waits for the balance, which flow sends at
    // its end, at 1 s. The camera's last step takes 0.1 s.
    near(found.duration, 1.1);
}

#[test]
fn instances_of_a_component_share_what_there_is() {
    let text =
        CALL.replace("o_f: final}, implementation: p}", "o_f: final}, implementation: p, multiplicity: 6}");
    // In each of four steps, six passes of 2 s take 6 s on two cores, and the six messages to micro take 0.75
    // s.
    near(ask(&text, CALL_COSTS, 2).duration, 0.5 + 4.0 * (0.75 + 6.0 + 0.25 + 1.0));
    // One instance of six has a pass of 5 s. Each instance has a core, so the step waits for this instance
    // only.
    let own = CALL_COSTS.replace("  micro:", "  micro[2]: {pass: 5}\n  micro:");
    near(ask(&text, &own, 6).duration, 0.5 + 4.0 * (5.0 + 0.5 + 1.0));
}

#[test]
fn the_best_placement_puts_together_who_talks_much() {
    let text = "ymmsl_version: v0.2
models:
  pairs:
    components:
      a: {ports: {o_i: out, s: in}, implementation: p}
      b: {ports: {o_i: out, s: in}, implementation: p}
      c: {ports: {o_i: out, s: in}, implementation: p}
      d: {ports: {o_i: out, s: in}, implementation: p}
    conduits:
      a.out: d.in
      d.out: a.in
      b.out: c.in
      c.out: b.in
programs: {p: {executable: p}}
";
    let costs_text = "ligament_costs: 1
common: {latency: 0, network_latency: 1}
components: {a: &c {steps: 5, step: 1}, b: *c, c: *c, d: *c}
conduits:
  a.out -> d.in: &m {bytes: 0}
  d.out -> a.in: *m
  b.out -> c.in: *m
  c.out -> b.in: *m
";
    let question = Question { machines: vec![2, 2], placement: None, speed_up: false };
    near(predict(&model(text), &costs(costs_text), &question).unwrap().duration, 10.0);
    let best = best_placement(&model(text), &costs(costs_text), &question).unwrap();
    near(best.duration, 5.0);
    let of: Vec<u32> = best.instances.iter().map(|one| one.machine).collect();
    assert!(of[0] == of[3] && of[1] == of[2] && of[0] != of[1], "{of:?}");
}

#[test]
fn costs_are_made_to_agree_with_a_run() {
    // The run took 12.504 s, and 12.5 s of it are computing. The remaining 4 ms belong to eight messages, so
    // each message gets 0.5 ms.
    let mut found = costs(CALL_COSTS);
    found.common.insert("latency", 0.0);
    agree(&model(CALL), &mut found, &Question::on(2), 12.5 + 0.004).unwrap();
    assert!((found.common["latency"] - 0.0005).abs() < 1e-5 * 12.5, "{:?}", found.common);
    // The run took 6.25 s, half of the computing time in the costs. So all computing costs are halved.
    let text = CALL_COSTS.replace("t_max / dt", "4").replace("0.2 * cells", "2.0").replace("0.25", "0");
    let mut found = costs(&text);
    agree(&model(CALL), &mut found, &Question::on(2), 6.25).unwrap();
    near((predict(&model(CALL), &found, &Question::on(2)).unwrap().duration * 100.0).round(), 625.0);
}

#[test]
fn costs_of_a_file_are_laid_over_those_of_a_run() {
    let mut run = costs(&CALL_COSTS.replace("t_max / dt", "2").replace("0.2 * cells", "1.5"));
    run.update(costs(
        "ligament_costs: 1\ncomponents:\n  macro: {steps: t_max / dt}\n  micro: {pass: measured * cells / 5}\n",
    ));
    let found = predict(&model(CALL), &run, &Question::on(1)).unwrap();
    near(found.duration, 0.5 + 4.0 * (3.0 + 0.5 + 1.0));
}

#[test]
fn costs_are_written_as_they_are_read() {
    let read = costs(CALL_COSTS);
    assert_eq!(costs(&read.to_text()), read, "{}", read.to_text());
}

#[test]
fn what_has_no_costs_is_not_predicted() {
    let none = refused(CALL, "ligament_costs: 1\n");
    for missing in ["macro", "micro", "macro.out -> micro.init (bytes)"] {
        assert!(none.contains(missing), "{none}");
    }
    let some = refused(CALL, &CALL_COSTS.replace("steps: t_max / dt, ", ""));
    assert!(some.contains("of: macro (steps);"), "{some}");
}

#[test]
fn costs_that_do_not_fit_are_refused_with_their_place() {
    for (from, to, expected) in [
        (
            "  micro:",
            "  mikro:",
            "costs.yaml:5: the model call has no component \"mikro\"; did you mean \"micro\"?",
        ),
        (
            "macro.out ->",
            "macro.outt ->",
            "costs.yaml:7: the model call has no conduit \"macro.outt -> micro.init\"",
        ),
        ("macro.out ->", "macro.out", "names no conduit"),
        (
            "t_max / dt",
            "t_end / dt",
            "costs.yaml:4: the cost cannot be worked out for macro: \"t_end\" has no value",
        ),
        ("t_max / dt", "dt - t_max", "a cost is a number from 0 on"),
        ("step: 1.0", "step: -1.0", "costs.yaml:4"),
        ("step: 1.0", "stepp: 1.0", "stepp"),
        ("latency: 0.25", "latency: fast", "costs.yaml:2"),
        ("ligament_costs: 1", "ligament_costs: 2", "no file of costs of version 1"),
        ("step: 1.0", "step: [1]", "a list"),
    ] {
        let found = refused(CALL, &CALL_COSTS.replacen(from, to, 1));
        assert!(found.contains(expected), "{to}: {found}");
    }
}

#[test]
fn a_run_that_would_stop_is_refused_with_who_waits() {
    let text = CALL.replace("o_i: out, s: back", "f_init: back, o_f: out");
    let costs = CALL_COSTS.replace("steps: t_max / dt, step: 1.0", "pass: 1");
    let found = refused(&text, &costs);
    assert!(found.contains("macro waits for micro.final, micro waits for macro.out"), "{found}");
}

#[test]
fn a_run_of_too_many_steps_is_refused() {
    let found = refused(CALL, &CALL_COSTS.replace("t_max / dt", "1e9"));
    assert!(found.contains("more than 10000000 steps and messages"), "{found}");
    let found = refused(CALL, &CALL_COSTS.replace("t_max / dt", "1e30"));
    assert!(found.contains("1e30 steps"), "{found}");
    for step in ["1e308", "1e200", "1e11"] {
        let found = refused(CALL, &CALL_COSTS.replace("step: 1.0", &format!("step: {step}")));
        assert!(found.contains("give costs in seconds"), "{found}");
    }
}

#[test]
fn a_thousand_instances_with_many_conduits_are_predicted() {
    let mut text = String::from("ymmsl_version: v0.2\nmodels:\n  many:\n    components:\n");
    for at in 0..200 {
        text.push_str(&format!(
            "      c{at}: {{ports: {{o_i: out, s: in}}, implementation: p, multiplicity: 5}}\n"
        ));
    }
    text.push_str("    conduits:\n");
    for at in 0..200 {
        text.push_str(&format!("      c{at}.out: c{}.in\n", (at + 1) % 200));
    }
    text.push_str("programs: {p: {executable: p}}\n");
    let mut costs = String::from("ligament_costs: 1\ncommon: {latency: 0}\ncomponents:\n");
    for at in 0..200 {
        costs.push_str(&format!("  c{at}: {{steps: 10, step: 0.1}}\n"));
    }
    costs.push_str("conduits:\n");
    for at in 0..200 {
        costs.push_str(&format!("  c{at}.out -> c{}.in: {{bytes: 8}}\n", (at + 1) % 200));
    }
    near(ask(&text, &costs, 1000).duration, 1.0);
    near(ask(&text, &costs, 100).duration, 10.0);
}

#[test]
fn mutated_costs_are_used_or_refused() {
    let words: Vec<&str> = CALL_COSTS.split_inclusive([' ', '\n', ':', '{', '}', ',']).collect();
    let model = model(CALL);
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    let mut predicted = 0;
    for _ in 0..3000 {
        let mut mutated = words.clone();
        for _ in 0..=next(2) {
            let (at, other) = (next(mutated.len()), next(mutated.len()));
            match next(4) {
                0 => drop(mutated.remove(at)),
                1 => mutated.swap(at, other),
                2 => mutated[at] = words[other % words.len()],
                _ => {
                    mutated[at] = ["-1", "0", "1e308", "cells ** 99", ".inf", "steps: 0", "~", "[1]"][other % 8]
                }
            }
        }
        if let Ok(costs) = Costs::read(&mutated.concat(), "costs.yaml") {
            if let Ok(found) = predict(&model, &costs, &Question::on(1)) {
                assert!(found.duration.is_finite() && found.duration >= 0.0, "{}", mutated.concat());
                predicted += 1;
            }
        }
    }
    assert!(predicted > 100, "{predicted}");
}

#[test]
fn where_there_are_too_few_cores_messages_keep_them_busy() {
    let two = CALL
        .replace("macro: {ports", "macro: {multiplicity: 2, ports")
        .replace("micro: {ports", "micro: {multiplicity: 2, ports");
    let costs =
        "ligament_costs: 1\ncommon: {latency: 0.25}\ncomponents: {macro: {setup: 1.0, steps: 4}, micro: {pass: \
                 0.5}}\nconduits: {macro.out -> micro.init: {bytes: 8}, micro.final -> macro.back: {bytes: \
                 8}}\n";
    // The setup takes 1 s, and each of four steps takes 0.25 s + 0.5 s + 0.25 s. macro and micro of one pair
    // never work at the same time. So two pairs keep two cores busy, and take twice as long on one core.
    near(ask(&two, costs, 4).duration, 5.0);
    near(ask(&two, costs, 2).duration, 5.0);
    let found = ask(&two, costs, 1);
    near(found.duration, 10.0);
    // Two setups of 1 s and eight passes of 0.5 s run at half speed on one core. The time for messages counts
    // as waiting.
    near(found.instances.iter().map(|one| one.computing).sum(), 2.0 * 2.0 + 8.0 * 1.0);
}
