//! The order of functions and the plan of exchanges follow from the declarations; contradictions are refused.

use ligament_modules::{plan, plan_json, plan_text, read_declaration, Bin, ModuleError, Simulation};

fn simulation(modules: &[&str]) -> Result<Simulation, ModuleError> {
    let modules: Result<Vec<_>, _> = modules.iter().map(|text| read_declaration(text, "test")).collect();
    Simulation::new(&modules?)
}

fn order(modules: &[&str], bin: Bin) -> Vec<String> {
    let simulation = simulation(modules).unwrap();
    simulation.bin(bin).map(|(_, function)| function.full_name()).collect()
}

const FIELDS: &str = "name: fields\nfields: {u: , v: , w: {ghosts: 0, published: false}}\n";
const SEES: &str = "name: sees\nfunctions: {look: {bin: evol, reads: {u: interior}}}\n";
const MAKES: &str = "name: makes\nfunctions: {make: {bin: evol, writes: {u: interior}}}\n";
const CHANGES: &str =
    "name: changes\nfunctions: {change: {bin: evol, reads: {u: interior}, writes: {u: interior}}}\n";

#[test]
fn a_function_that_makes_a_field_comes_before_those_that_read_it() {
    assert_eq!(order(&[FIELDS, SEES, CHANGES, MAKES], Bin::Evol)[0], "makes.make");
    assert_eq!(order(&[FIELDS, SEES, MAKES], Bin::Evol), ["makes.make", "sees.look"]);
}

#[test]
fn what_functions_say_counts_more_than_what_fields_say() {
    let first = SEES.replace("bin: evol", "bin: evol, before: makes");
    assert_eq!(order(&[FIELDS, MAKES, &first], Bin::Evol), ["sees.look", "makes.make"]);
    let last = SEES.replace("bin: evol", "bin: evol, after: [makes.make, change]");
    let after = CHANGES.replace("bin: evol", "bin: evol, after: makes");
    assert_eq!(
        order(&[FIELDS, &last, &after, MAKES], Bin::Evol),
        ["makes.make", "changes.change", "sees.look"]
    );
}

#[test]
fn what_is_left_follows_the_declarations() {
    let other = SEES.replace("sees", "also");
    assert_eq!(order(&[FIELDS, SEES, &other], Bin::Evol), ["sees.look", "also.look"]);
    assert_eq!(order(&[FIELDS, &other, SEES], Bin::Evol), ["also.look", "sees.look"]);
}

#[test]
fn modules_that_do_not_go_together_are_named() {
    let makes_v = MAKES.replace("makes", "more").replace("u: int", "v: int");
    let loop_of_three = [
        FIELDS.to_owned(),
        MAKES.replace("bin: evol", "bin: evol, before: sees"),
        SEES.replace("bin: evol", "bin: evol, before: more"),
        makes_v.replace("bin: evol", "bin: evol, before: makes"),
    ];
    let change = |text: &str, from: &str, to: &str| text.replace(from, to);
    for (modules, why) in [
        (vec![], "needs a module at least"),
        (vec![FIELDS.into(), FIELDS.into()], "two modules have the name \"fields\""),
        (
            vec![FIELDS.into(), MAKES.into(), change(MAKES, "makes", "more")],
            "in the bin evol, makes.make and more.make both write the field \"u\"",
        ),
        (
            vec![FIELDS.into(), change(CHANGES, "changes", "one"), change(CHANGES, "changes", "two")],
            "one.change and two.change both write the field \"u\"",
        ),
        (loop_of_three.to_vec(), "makes.make before sees.look before more.make before makes.make"),
        (
            vec![FIELDS.into(), change(MAKES, "u: ", "x: ")],
            "names the field \"x\", which no module declares; there are u, v, w",
        ),
        (
            vec![FIELDS.into(), change(SEES, "bin: evol", "bin: evol, after: step")],
            "is to come after \"step\", and no other function or module has this name",
        ),
        (
            vec![
                FIELDS.into(),
                change(SEES, "bin: evol", "bin: evol, after: makes"),
                change(MAKES, "evol", "prestep"),
            ],
            "is to come after \"makes\", and this is in the bin prestep",
        ),
        (
            vec![FIELDS.into(), change(FIELDS, "fields\n", "more\n").replace("u: ,", "u: {ghosts: 2},")],
            "the field \"u\" is declared differently: by the module \"fields\" with type float64, 1 ghosts",
        ),
        (
            vec!["name: a\nparameters: {c: {min: 0}}".into(), "name: b\nparameters: {c: {min: 1}}".into()],
            "the parameter \"c\" is declared differently by the modules \"a\" and \"b\"",
        ),
        (
            vec!["name: a\nparameters: {steps: }".into()],
            "declares the parameter \"steps\", which is the driver's",
        ),
    ] {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        let error = simulation(&modules).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

const WAVE: &str = "
name: wave
fields: {u: , v: {ghosts: 0, published: false}}
functions:
  start: {bin: initial, writes: {u: interior, v: interior}}
  accelerate: {bin: evol, reads: {u: everywhere, v: interior}, writes: {v: interior}}
  move: {bin: evol, after: accelerate, reads: {u: interior, v: interior}, writes: {u: interior}}
";

#[test]
fn a_plan_has_an_exchange_only_where_ghosts_are_not_valid() {
    let text = plan_text(&simulation(&[WAVE]).unwrap()).unwrap();
    let expected = "\
before the first step:
  initial   wave.start
  exchange  u: u is published, and wave.start wrote it
  publish   u
each step:
  evol      wave.accelerate
  evol      wave.move
  exchange  u: u is published, and wave.move wrote it
  publish   u
a grid with open edges is refused: the function \"accelerate\" of the module \"wave\" (evol) reads the field \
\"u\" everywhere, and the ghosts beyond the grid's open edges are not written before; let a function write its \
\"edges\", or make the edges periodic or mirrored in the model
";
    assert_eq!(text, expected);
    let json = plan_json(&simulation(&[WAVE]).unwrap()).unwrap();
    assert!(
        json.contains("{\"call\":\"move\",\"module\":\"wave\",\"bin\":\"evol\"},{\"exchange\":[\"u\"],"),
        "{json}"
    );
}

#[test]
fn all_ghosts_that_a_function_needs_come_in_one_exchange() {
    let text = WAVE.replace("ghosts: 0", "ghosts: 1").replace("u: ,", "u: {published: false},");
    let text = text.replace("reads: {u: interior, v: interior}", "reads: {u: everywhere, v: everywhere}");
    let text = plan_text(&simulation(&[&text]).unwrap()).unwrap();
    let step: Vec<&str> = text.lines().skip_while(|line| !line.contains("each later step")).take(5).collect();
    assert_eq!(
        step,
        [
            "each later step:",
            "  exchange  u: wave.accelerate reads u everywhere, and wave.move wrote it",
            "  evol      wave.accelerate",
            "  exchange  v: wave.move reads v everywhere, and wave.accelerate wrote it",
            "  evol      wave.move",
        ]
    );
}

#[test]
fn edges_that_a_function_writes_are_valid_where_the_grid_is_open() {
    let wall = "name: wall\nfunctions: {hold: {bin: initial, writes: {u: edges}}}\n";
    assert!(plan(&simulation(&[WAVE, wall]).unwrap(), true).is_ok());
    let late = wall.replace("initial", "poststep");
    assert!(plan(&simulation(&[WAVE, &late]).unwrap(), true).is_err());
}

#[test]
fn a_field_that_nothing_has_written_is_not_read() {
    let without = WAVE.replace("writes: {u: interior, v: interior}}\n", "writes: {u: interior}}\n");
    let error = plan(&simulation(&[&without]).unwrap(), false).unwrap_err().to_string();
    assert!(
        error.contains("\"accelerate\" of the module \"wave\" (evol) reads the field \"v\" before"),
        "{error}"
    );
}
