//! The expansion of a model: instances, slots and channels, nested models, budgets, and what is refused.

use ligament_model::{Configuration, ModelBuilder, NoModules, Operator, Problems, Reference, ResolvedModel};

fn load(text: &str) -> Configuration {
    let mut config = Configuration::from_yaml(text, "test.ymmsl").unwrap_or_else(|e| panic!("{e}"));
    let problems = config.resolve_imports(&NoModules);
    assert!(problems.is_empty(), "{}", Problems(problems));
    config
}

/// All channels as "from -> to", sorted.
fn channels(resolved: &ResolvedModel) -> Vec<String> {
    let mut all: Vec<String> = resolved
        .channels
        .iter()
        .map(|c| format!("{} -> {}", resolved.end_name(c.from), resolved.end_name(c.to)))
        .collect();
    all.sort();
    all
}

fn names(resolved: &ResolvedModel) -> Vec<String> {
    resolved.instances.iter().map(|i| i.name.to_string()).collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    load(text).expand().unwrap_err().0.iter().map(|p| p.code.name()).collect()
}

fn two(multiplicity_a: &str, multiplicity_b: &str) -> String {
    format!(
        "ymmsl_version: v0.1
model:
  name: m
  components:
    a: {{implementation: p, multiplicity: {multiplicity_a}, ports: {{o_i: out, s: back}}}}
    b: {{implementation: p, multiplicity: {multiplicity_b}, ports: {{f_init: in, o_f: result}}}}
  conduits:
    a.out: b.in
    b.result: a.back
"
    )
}

#[test]
fn two_single_components_have_one_channel_for_each_conduit() {
    let resolved = load(&two("[]", "[]")).expand().unwrap();
    assert_eq!(names(&resolved), ["a", "b"]);
    assert_eq!(channels(&resolved), ["a.out -> b.in", "b.result -> a.back"]);
    assert!(resolved.instances[0].ports.iter().all(|p| !p.vector && p.connected));
}

#[test]
fn a_peer_with_one_more_dimension_makes_slots() {
    let resolved = load(&two("[]", "3")).expand().unwrap();
    assert_eq!(names(&resolved), ["a", "b[0]", "b[1]", "b[2]"]);
    assert_eq!(
        channels(&resolved),
        [
            "a.out[0] -> b[0].in",
            "a.out[1] -> b[1].in",
            "a.out[2] -> b[2].in",
            "b[0].result -> a.back[0]",
            "b[1].result -> a.back[1]",
            "b[2].result -> a.back[2]",
        ]
    );
    let out = &resolved.instances[0].ports[0];
    assert_eq!((out.vector, out.length, out.operator), (true, Some(3), Operator::OI));
}

#[test]
fn ranks_are_one_more_dimension() {
    let with = |a: &str, b: &str, ranks: &str| two(a, b) + &format!("ligament: {{ranks: {{{ranks}}}}}\n");
    let resolved = load(&with("[]", "[]", "a: 2, b: 2")).expand().unwrap();
    assert_eq!(names(&resolved), ["a", "b"]);
    let joined = ["a:0.out -> b:0.in", "a:1.out -> b:1.in", "b:0.result -> a:0.back", "b:1.result -> a:1.back"];
    assert_eq!(channels(&resolved), joined);
    assert!(resolved.instances.iter().all(|one| one.ranks == Some(2) && one.ports.iter().all(|p| !p.vector)));

    let resolved = load(&with("[]", "[]", "b: 2")).expand().unwrap();
    let joined =
        ["a.out[0] -> b:0.in", "a.out[1] -> b:1.in", "b:0.result -> a.back[0]", "b:1.result -> a.back[1]"];
    assert_eq!(channels(&resolved), joined);
    let out = &resolved.instances[0].ports[0];
    assert_eq!((out.vector, out.length), (true, Some(2)));

    let resolved = load(&with("2", "2", "b: 3")).expand().unwrap();
    assert_eq!(names(&resolved), ["a[0]", "a[1]", "b[0]", "b[1]"]);
    assert_eq!(resolved.channels.len(), 12);
    assert!(channels(&resolved).contains(&"a[1].out[2] -> b[1]:2.in".to_owned()));
}

#[test]
fn unequal_numbers_of_ranks_are_refused() {
    let with = |ranks: &str| two("[]", "[]") + &format!("ligament: {{ranks: {{{ranks}}}}}\n");
    assert_eq!(codes(&with("a: 2, b: 3")), ["ranks-differ", "ranks-differ"]);
    assert_eq!(codes(&(two("3", "[]") + "ligament: {ranks: {b: 2}}\n"))[0], "multiplicity-mismatch");
    assert_eq!(codes(&(two("[]", "[]") + "ligament: {instances: 10, ranks: {b: 10}}\n")), ["too-large"]);
}

#[test]
fn threads_are_those_of_each_rank() {
    use ligament_model::Resources::Threads;
    let model = two("[]", "[]") + "resources: {a: {threads: 3}}\nligament: {ranks: {a: 2, b: 2}}\n";
    let resolved = load(&model).expand().unwrap();
    let needs: Vec<_> = resolved.instances.iter().map(|one| one.resources).collect();
    assert_eq!(needs, [Threads { threads: 6 }, Threads { threads: 2 }]);
    assert_eq!(needs[0].of_each(2), Threads { threads: 3 });
}

#[test]
fn equal_multiplicities_are_joined_one_to_one() {
    let resolved = load(&two("[2, 2]", "[2, 2]")).expand().unwrap();
    assert_eq!(resolved.channels.len(), 8);
    assert!(channels(&resolved).contains(&"a[1][0].out -> b[1][0].in".to_owned()));
}

#[test]
fn the_slot_is_the_last_index_where_both_have_dimensions() {
    let resolved = load(&two("2", "[2, 3]")).expand().unwrap();
    assert!(channels(&resolved).contains(&"a[1].out[2] -> b[1][2].in".to_owned()));
    assert_eq!(resolved.channels.len(), 12);
}

#[test]
fn multiplicities_that_do_not_fit_are_refused() {
    assert_eq!(codes(&two("[]", "[2, 3]"))[0], "multiplicity-mismatch");
    assert_eq!(codes(&two("2", "3"))[0], "multiplicity-mismatch");
    assert_eq!(codes(&two("2", "[3, 2]"))[0], "multiplicity-mismatch");
    assert_eq!(codes(&two("1000000", "[1000000, 1000000]"))[0], "too-large");
}

#[test]
fn a_multicast_to_peers_of_different_shapes_is_refused() {
    let text = "ymmsl_version: v0.1
model:
  name: m
  components:
    a: {ports: {o_f: out}}
    b: {ports: {f_init: in}, multiplicity: 2}
    c: {ports: {f_init: in}}
  conduits:
    a.out: [b.in, c.in]
";
    assert_eq!(codes(text), ["multiplicity-mismatch"]);
    let resolved = load(&text.replace(", multiplicity: 2", "")).expand().unwrap();
    assert_eq!(channels(&resolved), ["a.out -> b.in", "a.out -> c.in"]);
}

#[test]
fn ports_that_are_not_declared_are_found_from_the_conduits() {
    let text = "ymmsl_version: v0.1
model:
  name: m
  components: {a: p, b: p}
  conduits: {a.x: b.y, b.settings: a.muscle_settings_in}
";
    let resolved = load(text).expand().unwrap();
    let a = &resolved.instances[0];
    assert_eq!(a.ports.len(), 2);
    assert_eq!((a.ports[0].operator, a.ports[0].sends), (Operator::None, true));
    assert_eq!((a.ports[1].operator, a.ports[1].sends), (Operator::FInit, false));
    assert_eq!(a.ports[1].name, "muscle_settings_in");
}

const NESTED: &str = "ymmsl_version: v0.2
models:
  outer:
    components:
      macro: {description: x, ports: {o_i: out, s: in}, implementation: p}
      city: {description: x, ports: {f_init: start, o_f: end}, implementation: inner, multiplicity: 2}
    conduits:
      macro.out: city.start
      city.end: macro.in
  inner:
    ports: {f_init: start, o_f: end}
    components:
      first: {description: x, ports: {f_init: in, o_f: out}, implementation: p}
      second: {description: x, ports: {f_init: in, o_f: out}, implementation: p, multiplicity: 1}
      last: {description: x, ports: {f_init: in, o_f: out}, implementation: p}
    conduits:
      start: first.in
      first.out: second.in
      second.out: last.in
      last.out: end
programs:
  p: {executable: /bin/true}
resources:
  outer.city.last: {threads: 4}
";

#[test]
fn nested_models_become_one_graph() {
    let resolved = load(NESTED).expand().unwrap();
    assert_eq!(
        names(&resolved),
        [
            "macro",
            "city.first[0]",
            "city.first[1]",
            "city.second[0][0]",
            "city.second[1][0]",
            "city.last[0]",
            "city.last[1]",
        ]
    );
    assert_eq!(
        channels(&resolved),
        [
            "city.first[0].out[0] -> city.second[0][0].in",
            "city.first[1].out[0] -> city.second[1][0].in",
            "city.last[0].out -> macro.in[0]",
            "city.last[1].out -> macro.in[1]",
            "city.second[0][0].out -> city.last[0].in[0]",
            "city.second[1][0].out -> city.last[1].in[0]",
            "macro.out[0] -> city.first[0].in",
            "macro.out[1] -> city.first[1].in",
        ]
    );
    let last = resolved.instances.iter().find(|i| i.name.to_string() == "city.last[1]").unwrap();
    assert_eq!(last.resources, ligament_model::Resources::Threads { threads: 4 });
}

#[test]
fn an_optional_component_without_implementation_is_left_out_with_its_conduits() {
    let text = "ymmsl_version: v0.2
models:
  m:
    components:
      a: {description: x, ports: {o_f: out}, implementation: p}
      b: {description: x, ports: {f_init: in, o_f: out}, optional: true}
    conduits: {a.out: b.in}
programs: {p: {executable: /bin/true}}
";
    let resolved = load(text).expand().unwrap();
    assert_eq!(names(&resolved), ["a"]);
    assert!(resolved.channels.is_empty());
    assert!(!resolved.instances[0].ports[0].connected);
}

#[test]
fn a_model_that_contains_itself_is_refused() {
    let text = "ymmsl_version: v0.2
models:
  top: {components: {x: {description: d, ports: {}, implementation: a}}}
  a: {components: {y: {description: d, ports: {}, implementation: b}}}
  b: {components: {z: {description: d, ports: {}, implementation: a}}}
";
    assert_eq!(codes(text), ["model-cycle"]);
}

#[test]
fn a_custom_implementation_replaces_one_use_and_no_other() {
    let text = format!(
        "{}custom_implementations:\n  outer.city.last: q\n",
        NESTED.replace("  p: {exec", "  q: {executable: /bin/false}\n  p: {exec")
    );
    let resolved = load(&text).expand().unwrap();
    let program = |name: &str| {
        let i = names(&resolved).iter().position(|n| n == name).unwrap();
        resolved.program(i as u32).unwrap().name.to_string()
    };
    assert_eq!(program("city.last[0]"), "q");
    assert_eq!(program("city.first[0]"), "p");
}

#[test]
fn budgets_go_to_the_conduits_that_they_name() {
    let text = two("[]", "[]") + "ligament: {budget: 1 MiB, budgets: {a.back: 2 MiB}}\n";
    let resolved = load(&text).expand().unwrap();
    assert_eq!(resolved.channels[0].budget, Some(1 << 20));
    assert_eq!(resolved.channels[1].budget, Some(2 << 20));
    assert_eq!(codes(&(two("[]", "[]") + "ligament: {budgets: {a.bak: 2 MiB}}\n")), ["unknown-conduit"]);
}

#[test]
fn slots_can_be_joined_one_by_one() {
    let mut model = ModelBuilder::new("star").unwrap();
    model.add_component("hub", None, &[("O_I", "out"), ("S", "in")], &[]).unwrap();
    for i in 0..3 {
        let name = format!("leaf{i}");
        model.add_component(&name, None, &[("F_INIT", "in"), ("O_F", "out")], &[]).unwrap();
        model.connect(&format!("hub.out[{i}]"), &format!("{name}.in")).unwrap();
        model.connect(&format!("{name}.out"), &format!("hub.in[{i}]")).unwrap();
    }
    let resolved = model.expand().unwrap();
    assert_eq!(channels(&resolved)[1], "hub.out[1] -> leaf1.in");
    assert_eq!(resolved.instances[0].ports[0].length, Some(3));
    let reread = Configuration::from_yaml(&model.to_yaml(), "written").unwrap();
    assert_eq!(&reread, model.configuration());
}

#[test]
fn a_thousand_instances_with_fifty_thousand_conduits_expand() {
    let mut model = ModelBuilder::new("grid").unwrap();
    let ports: Vec<(String, String)> = (0..50)
        .flat_map(|p| [("O_I".to_owned(), format!("out{p}")), ("S".to_owned(), format!("in{p}"))])
        .collect();
    let ports: Vec<(&str, &str)> = ports.iter().map(|(o, n)| (o.as_str(), n.as_str())).collect();
    for i in 0..1000 {
        model.add_component(&format!("c{i}"), None, &ports, &[]).unwrap();
        for p in 0..50 {
            model.connect(&format!("c{i}.out{p}"), &format!("c{}.in{p}", (i + p + 1) % 1000)).unwrap();
        }
    }
    let start = std::time::Instant::now();
    let resolved = model.expand().unwrap();
    println!("expanded in {:?}", start.elapsed());
    assert_eq!((resolved.instances.len(), resolved.channels.len()), (1000, 50_000));
    let start = std::time::Instant::now();
    let text = model.to_yaml();
    println!("written in {:?}, {} bytes", start.elapsed(), text.len());
    let start = std::time::Instant::now();
    let reread = Configuration::from_yaml(&text, "grid").unwrap();
    println!("read in {:?}", start.elapsed());
    assert_eq!(&reread, model.configuration());
}

#[test]
fn of_several_models_one_must_be_chosen() {
    let text = "ymmsl_version: v0.2
models:
  one: {components: {a: {description: d, ports: {}}}}
  two: {components: {b: {description: d, ports: {}}}}
";
    assert_eq!(codes(text), ["several-models"]);
    let options = ligament_model::ExpandOptions { model: Some(Reference::new("two").unwrap()) };
    assert_eq!(names(&load(text).expand_with(&options).unwrap()), ["b"]);
}

#[test]
fn a_model_that_was_read_can_be_built_further() {
    let mut model = ModelBuilder::from_yaml(NESTED, "nested").unwrap();
    model.add_component("log", None, &[], &[]).unwrap();
    model.add_port("log", "S", "in").unwrap();
    model.add_port("macro", "O_I", "progress").unwrap();
    model.connect("macro.progress", "log.in").unwrap();
    assert!(channels(&model.expand().unwrap()).contains(&"macro.progress -> log.in".to_owned()));
    assert!(model.add_port("log", "S", "in").is_err());
    assert!(model.add_port("nobody", "S", "in").unwrap_err().to_string().contains("nobody"));
    assert!(model.add_component("log", None, &[], &[]).is_err());
    assert!(model.connect("log", "macro.in").is_err());
}

#[test]
fn a_port_with_many_slots_is_checked_in_time_that_grows_with_their_number() {
    let mut model = ModelBuilder::new("star").unwrap();
    model.add_component("hub", None, &[("S", "in")], &[]).unwrap();
    model.add_component("leaf", None, &[("O_I", "out")], &[]).unwrap();
    for i in 0..100_000 {
        model.connect("leaf.out", &format!("hub.in[{i}]")).unwrap();
    }
    assert_eq!(model.expand().unwrap().channels.len(), 100_000);
    model.connect("leaf.out", "hub.in[7]").unwrap();
    assert_eq!(model.expand().unwrap_err().0[0].code, "two-senders");
}

#[test]
fn a_model_has_no_more_instances_than_it_may() {
    let model = |count: u64, section: &str| {
        format!(
            "ymmsl_version: v0.1
model:
  name: many
  components:
    a: {{implementation: p, multiplicity: {count}}}
implementations:
  p: {{executable: /bin/true}}
{section}"
        )
    };
    let count = |text: &str| load(text).expand().unwrap().instances.len();
    assert_eq!(count(&model(10_000, "")), 10_000);
    assert_eq!(count(&model(10_001, "ligament: {instances: 20000}")), 10_001);
    for (count, section, limit) in [(10_001, "", "10000"), (5, "ligament: {instances: 4}", "4")] {
        let error = load(&model(count, section)).expand().unwrap_err().to_string();
        assert!(
            error.contains(&format!("more than {limit} instances")) && error.contains("instances:"),
            "{error}"
        );
    }
}
