//! Filters under `ligament:`: what is read, where they run, and what is wrong with them, with its place.

use ligament_model::{read, Filter, FilterEnd, OnError, FILTERS};

fn model(filters: &str) -> String {
    format!(
        "ymmsl_version: v0.2\nmodels:\n  m:\n    components:\n      a: {{ports: {{o_i: out}}, implementation: \
         p}}\n      b: {{ports: {{s: in}}, implementation: p}}\n    conduits: {{a.out: b.in}}\nligament:\n  \
         filters:\n    a.out -> b.in:\n{filters}"
    )
}

fn problem(filters: &str) -> String {
    let read = read(&model(filters), "m.ymmsl");
    let texts: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

#[test]
fn filters_are_read_in_all_their_forms_and_written_as_they_are_read() {
    let text = model(
        "    - multiply: 2.5\n    - console\n    - resample: {shape: [3, 4], method: nearest}\n    - reduce: \
         mean\n      on_error: skip\n",
    );
    let config = read(&text, "m.ymmsl").into_result().unwrap();
    let filters = &config.ligament.filters["a.out -> b.in"].value;
    assert_eq!(
        filters.iter().map(|f| f.name).collect::<Vec<_>>(),
        ["multiply", "console", "resample", "reduce"]
    );
    assert_eq!(filters[0].number("by"), Some(2.5));
    assert_eq!(filters[2].counts("shape"), Some(&[3, 4][..]));
    assert_eq!(filters[3].on_error, OnError::Skip);
    assert_eq!(Filter::read(&Filter::write(filters)).unwrap(), **filters);
    let channels = config.expand().unwrap().channels;
    assert_eq!(channels[0].own_filters.as_deref(), Some(&**filters));
}

#[test]
fn filters_run_at_the_receiver_up_to_where_one_says_otherwise() {
    let at_sender = |text: &str| Filter::at_sender(&Filter::read(text).unwrap());
    assert_eq!(at_sender("[{multiply: 2}, discard]"), 0);
    assert_eq!(at_sender("[{multiply: 2}, {slice: \"1:\", at: sender}, discard]"), 2);
    assert_eq!(at_sender("[{multiply: 2}, compress, {multiply: 2, at: receiver}]"), 2);
    assert_eq!(FilterEnd::from_name("sender"), Some(FilterEnd::Sender));
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_to_do() {
    for (filters, expected) in [
        (
            "    - mutliply: 2\n",
            "m.ymmsl:11:7: error: there is no filter \"mutliply\"; did you mean \"multiply\"?",
        ),
        ("    - nothing: 2\n", "there is no filter \"nothing\"; did you mean \"discard\"?"),
        ("    - zzz\n", "the filters are every, block_until"),
        (
            "    - multiply: two\n",
            "m.ymmsl:11:17: error: \"by\" of the filter \"multiply\" must be a finite number",
        ),
        ("    - multiply\n", "the filter \"multiply\" lacks \"by\"; write \"- multiply: …\""),
        ("    - multiply: {factor: 2}\n", "has no key \"factor\""),
        ("    - multiply: .inf\n", "must be a finite number"),
        ("    - every: 0\n", "must be a whole number of at least 1"),
        ("    - time_factor: -1\n", "must be a number above 0"),
        ("    - slice: 2:10\n", "must be text, in quotes"),
        ("    - type: float\n", "must be one of bool, int8"),
        ("    - resample: [3, x]\n", "must be whole numbers"),
        ("    - discard: 1\n", "takes no parameter"),
        ("    - {multiply: 2, every: 3}\n", "one filter must stand in each item of the list, and here are 2"),
        ("    - [1]\n", "a filter must be a name"),
        ("    - {multiply: 2, at: sendr}\n", "did you mean \"sender\"?"),
        ("    - {multiply: 2, on_error: stop}\n", "on_error cannot be \"stop\""),
        (
            "    - {multiply: 2, at: receiver}\n    - compress\n",
            "\"multiply\" is to run at the receiver, before",
        ),
        ("    - compress\n    - compress\n", "compressed already"),
    ] {
        let found = problem(filters);
        assert!(found.contains(expected), "{filters}: {found}");
        assert_eq!(found.lines().count(), 1, "{filters}: {found}");
    }
}

#[test]
fn filters_of_no_conduit_are_a_problem() {
    let text = model("    - discard\n").replace("a.out -> b.in", "a.out -> b.out");
    let config = read(&text, "m.ymmsl").into_result().unwrap();
    let problems = config.expand().unwrap_err();
    assert!(problems.to_string().contains("filters are given for \"a.out -> b.out\", but no conduit"));
}

#[test]
fn the_schema_for_editors_knows_every_filter() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/ymmsl.schema.json");
    let schema = std::fs::read_to_string(path).unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/filters.md"))
        .unwrap();
    for spec in FILTERS {
        assert!(schema.contains(&format!("\"{}\":", spec.name)), "the schema lacks {}", spec.name);
        assert!(page.contains(&format!("### `{}`", spec.name)), "the page lacks {}", spec.name);
        for parameter in spec.takes {
            assert!(
                page.contains(&format!("`{}`", parameter.name)),
                "the page lacks {}'s {}",
                spec.name,
                parameter.name
            );
        }
    }
}

#[test]
fn what_runs_at_the_sender_behind_compress_does_not_look_at_the_data() {
    let wrong = problem("    - compress\n    - {multiply: 2, at: sender}\n");
    assert!(wrong.contains("m.ymmsl:12:7: error: \"multiply\" is to run at the sender"), "{wrong}");
    for right in ["{every: 2, at: sender}", "{time_offset: 2, at: sender}", "multiply: 2"] {
        assert_eq!(problem(&format!("    - compress\n    - {right}\n")), "", "{right}");
    }
}
