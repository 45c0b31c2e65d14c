//! Exchanges by clocks join components that make their passes in the same loop.

use ligament_model::{Configuration, NoModules};

/// Returns the codes of the problems of a model in which `nest` sends events to `neuron`, whose ports are
/// given. `others` are further components, `conduits` further conduits, and `more` is another key of the model.
fn codes(nest: &str, neuron: &str, others: &str, conduits: &str, more: &str) -> Vec<&'static str> {
    let text = format!(
        "ymmsl_version: v0.2
models:
  m:
    components:
      nest: {{ports: {{{nest}}}, implementation: p}}
      neuron: {{ports: {{{neuron}}}, implementation: p}}
{others}    conduits:
      nest.spikes: neuron.input
{conduits}{more}programs: {{p: {{executable: /bin/true}}}}
ligament:
  ticks: {{nest: 5 ms, neuron: 5 ms}}
  exchange: {{nest.spikes -> neuron.input: {{events: 100, latency: 5 ms}}}}
"
    );
    let mut config = Configuration::from_yaml(&text, "test.ymmsl").unwrap_or_else(|e| panic!("{e}"));
    assert!(config.resolve_imports(&NoModules).is_empty());
    match config.expand() {
        Ok(_) => Vec::new(),
        Err(problems) => problems.0.iter().map(|problem| problem.code.name()).collect(),
    }
}

const MACRO: &str = "      macro: {ports: {o_i: [a, b], o_f: end}, implementation: p}\n";

#[test]
fn both_ends_make_one_pass_or_are_started_by_the_same_loop() {
    assert_eq!(codes("o_i: spikes", "s: input", "", "", ""), [""; 0]);
    let conduits = "      macro.a: nest.begin\n      macro.b: neuron.begin\n";
    let (nest, neuron) = ("o_i: spikes, f_init: begin", "s: input, f_init: begin");
    assert_eq!(codes(nest, neuron, MACRO, conduits, ""), [""; 0]);
    // `macro` sends one message on its O_F port, so `nest` makes one pass, as `neuron` does.
    assert_eq!(codes(nest, "s: input", MACRO, "      macro.end: nest.begin\n", ""), [""; 0]);
}

#[test]
fn ends_whose_passes_are_in_different_loops_are_refused() {
    let micro = codes("o_i: [spikes, a]", "s: input, f_init: a", "", "      nest.a: neuron.a\n", "");
    assert_eq!(micro, ["timeline-mismatch"]);
    let (nest, conduits) = ("o_i: spikes, f_init: begin", "      macro.a: nest.begin\n");
    assert_eq!(codes(nest, "s: input", MACRO, conduits, ""), ["timeline-mismatch"]);
}

#[test]
fn loops_that_match_by_declaration_are_accepted() {
    let others = format!("{MACRO}{}", MACRO.replace("macro", "other"));
    let conduits = "      macro.a: nest.begin\n      other.a: neuron.begin\n";
    let (nest, neuron) = ("o_i: spikes, f_init: begin", "s: input, f_init: begin");
    assert_eq!(codes(nest, neuron, &others, conduits, ""), ["timeline-mismatch"]);
    let declared = "    matching_timelines: {macro: other}\n";
    assert_eq!(codes(nest, neuron, &others, conduits, declared), [""; 0]);
}

#[test]
fn a_chain_of_many_components_needs_no_deep_stack() {
    const LENGTH: usize = 5_000;
    for (port, ends) in [("o_i", &["timeline-mismatch"][..]), ("o_f", &[])] {
        let mut others = format!("      c0: {{ports: {{{port}: out}}, implementation: p}}\n");
        let mut conduits = String::new();
        for i in 1..LENGTH {
            others += &format!("      c{i}: {{ports: {{f_init: in, {port}: out}}, implementation: p}}\n");
            conduits += &format!("      c{}.out: c{i}.in\n", i - 1);
        }
        conduits += &format!("      c{}.out: nest.begin\n", LENGTH - 1);
        let found = codes("o_i: spikes, f_init: begin", "s: input", &others, &conduits, "");
        assert_eq!(found, ends, "{port}");
    }
}
