//! Grids: reading and writing, and the instances, ports and channels that follow.

use ligament_model::{Configuration, Edges, ResolvedModel, GHOSTS_IN, GHOSTS_OUT};

fn model(grid: &str, more: &str) -> Configuration {
    let text = format!(
        "ymmsl_version: v0.2\nmodels:\n  m:\n    components:\n      wave: {{implementation: wave}}\n      \
         other: {{ports: {{o_i: out}}, implementation: wave}}\nprograms: {{wave: {{executable: \
         wave}}}}\nligament:\n  \
         {more}\n  grids:\n    wave: {grid}\n"
    );
    Configuration::from_yaml(&text, "test.ymmsl").unwrap_or_else(|problems| panic!("{problems}"))
}

fn ends(model: &ResolvedModel) -> Vec<(String, String)> {
    model.channels.iter().map(|channel| (model.end_name(channel.from), model.end_name(channel.to))).collect()
}

#[test]
fn a_grid_is_written_as_it_is_read() {
    let first = model("{shape: [8, 9, 10], blocks: [2, 1, 3], periodic: [x, z], mirrored: y}", "wait: auto");
    let again = Configuration::from_yaml(&first.to_yaml(), "again.ymmsl").unwrap();
    assert_eq!(first.ligament.grids, again.ligament.grids);
    let grid = &again.ligament.grids[0];
    assert_eq!(grid.blocks.edges, [Edges::Periodic, Edges::Mirrored, Edges::Periodic]);
}

#[test]
fn blocks_are_instances_with_channels_to_their_neighbours() {
    let model = model("{shape: [8, 8], blocks: [2, 1]}", "wait: auto").expand().unwrap();
    let names: Vec<String> = model.instances.iter().map(|instance| instance.name.to_string()).collect();
    assert_eq!(names, ["wave[0][0]", "wave[1][0]", "other"]);
    assert_eq!(model.instances.iter().map(|instance| instance.block).collect::<Vec<_>>(), [0, 1, 0]);
    assert!(model.instances[2].grid.is_none());
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(
        ends(&model),
        [
            // Of the eight directions, number 6 leads to the next block along x, and number 1 back. Slots 8 and
            // 9 are for block 0, and for block 1.
            pair("wave[0][0].ghosts_out[6]", "wave[1][0].ghosts_in[1]"),
            pair("wave[1][0].ghosts_out[1]", "wave[0][0].ghosts_in[6]"),
            pair("wave[1][0].ghosts_out[8]", "wave[0][0].ghosts_in[9]"),
            pair("wave[0][0].ghosts_out[9]", "wave[1][0].ghosts_in[8]"),
        ]
    );
    let ports: Vec<&str> = model.instances[0].ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(ports, [GHOSTS_OUT, GHOSTS_IN]);
}

#[test]
fn blocks_may_be_ranks_of_one_instance() {
    let model = model("{shape: 8, blocks: 2, periodic: x}", "ranks: {wave: 2}").expand().unwrap();
    let names: Vec<String> = model.instances.iter().map(|instance| instance.name.to_string()).collect();
    assert_eq!(names, ["wave", "other"]);
    let ends = ends(&model);
    assert_eq!(ends.len(), 4);
    assert_eq!(ends[0], ("wave:0.ghosts_out[0]".to_owned(), "wave:1.ghosts_in[0]".to_owned()));
}
