//! Tests of the reader of site files, for example with a file that has every key, and with one that has a
//! mistake on every line.

use super::*;
use crate::nodes::ComputeNode as Machine;

fn problems(text: &str) -> Vec<String> {
    read_site(text, "s.yaml").1.iter().map(ToString::to_string).collect()
}

#[test]
fn all_that_a_site_file_can_say_is_read() {
    let (site, problems) = read_site(
        "description: ours\nssh: me@login\nssh_options: [-p, '22']\nlauncher: mpirun\nhosts: [a, 'b:4', \
        'c,d:2']\nmodules: gcc/12\ncommands: [source env.sh]\nligament: /opt/ligament\ndirectory: runs here\n\
        scratch: $TMPDIR/x\ninterface: ib0\nports: 40000-40010\nrelays: [a.relay, b.relay]\njump: me@gate\n\
        streams: 16\npace: 10 MB/s\ntrusted_network: true\nagent_cores: 2\ncores_per_node: 64\nstart_within: \
        2 min\naccount: p1\npartition: fat\ntime: 1:30:00\nwhole_nodes: false\nbatch_options: --qos=low\n",
        "s.yaml",
    );
    assert!(problems.is_empty(), "{problems:?}");
    let text = |text: &str| Some(text.to_owned());
    let expected = Site {
        description: "ours".into(),
        ssh: text("me@login"),
        ssh_options: vec!["-p".into(), "22".into()],
        launcher: Some(LauncherKind::Mpirun),
        hosts: vec![
            Machine::new("a", None),
            Machine::new("b", 4),
            Machine::new("c", None),
            Machine::new("d", 2),
        ],
        modules: vec!["gcc/12".into()],
        commands: vec!["source env.sh".into()],
        ligament: text("/opt/ligament"),
        directory: text("runs here"),
        scratch: text("$TMPDIR/x"),
        interface: text("ib0"),
        ports: Some(40000..=40010),
        relays: vec!["a.relay".into(), "b.relay".into()],
        jump: Some("me@gate".into()),
        streams: Some(16),
        pace: Some(10_000_000),
        trusted_network: true,
        agent_cores: Some(2),
        cores_per_node: Some(64),
        start_within: Duration::from_secs(120),
        account: text("p1"),
        partition: text("fat"),
        time: Some(Walltime(5400)),
        whole_nodes: false,
        batch_options: vec!["--qos=low".into()],
        ..Site::default()
    };
    assert_eq!(site, expected);
    assert_eq!(site.before(), ["module load 'gcc/12'", "source env.sh"]);
}

#[test]
fn an_empty_file_is_a_site_with_every_default() {
    assert_eq!(read_site("# nothing\n", "s.yaml"), (Site::default(), Vec::new()));
}

#[test]
fn every_mistake_has_a_line_and_a_message_of_its_own() {
    let found = problems(
        "description: [a, b]
ssh: -oProxyCommand=evil
ssh_options: {port: 22}
laucher: slurm
launcher: slrum
hosts: 'a:none'
modules: [gcc, 12]
commands: [\"a\\nb\"]
ligament: ''
directory: runs
scratch: tmp
interface: ib0 ib1
ports: 40100-40000
trusted_network: maybe
agent_cores: -1
cores_per_node: 0
start_within: soon
account: 1234
partition: [a, b]
time: long
whole_nodes: 1
batch_options: [\"\"]
colour: red
",
    );
    let expected = [
        "s.yaml:1:14: error: description must be text, and this is a list; write a single text here",
        "s.yaml:2:6: error: ssh cannot be \"-oProxyCommand=evil\"; write what you would give to ssh",
        "s.yaml:3:14: error: ssh_options must be text, and this is a mapping; write a single text here",
        "s.yaml:4:1: error: a site file has no key \"laucher\"; did you mean \"launcher\"?",
        "s.yaml:5:11: error: launcher cannot be \"slrum\"; did you mean \"slurm\"?",
        "s.yaml:6:8: error: hosts: \"none\" is no number of cores; write for example a,b:4",
        "s.yaml:7:16: error: modules must be text, and this is the whole number 12; put it in quotes",
        "s.yaml:8:12: error: what stands under commands is to be one line, and this has none or several; \
        write each line as an item of its own, with \"- \" before it",
        "s.yaml:9:11: error: ligament is empty; write it in one line, or remove the key",
        "s.yaml:10:12: error: directory says where runs are made at a site that is reached by ssh, and \
        \"ssh\" is not given; remove it, or add \"ssh:\"",
        "s.yaml:11:10: error: scratch is the text \"tmp\", which is relative, and agents start anywhere; \
        begin it with / or with a variable of the machine, such as $TMPDIR",
        "s.yaml:12:12: error: interface cannot be \"ib0 ib1\"; write a name such as ib0, or an address",
        "s.yaml:13:8: error: ports must be a range of ports, and this is the text \"40100-40000\"; write for \
        example 40000-40099, the smaller one first, between 1 and 65535",
        "s.yaml:14:18: error: trusted_network must be true or false, and this is the text \"maybe\"; write \
        true or false",
        "s.yaml:15:14: error: agent_cores must be a whole number of at least 0, and this is the whole number \
        -1; write such a number, without quotes and without a decimal point",
        "s.yaml:16:17: error: cores_per_node must be a whole number of at least 1, and this is the whole \
        number 0; write such a number, without quotes and without a decimal point",
        "s.yaml:17:15: error: start_within must be a time, and this is the text \"soon\"; write for example \
        30 s or 5 min",
        "s.yaml:18:10: error: account must be text, and this is the whole number 1234; put it in quotes",
        "s.yaml:19:12: error: partition must be text, and this is a list; write a single text here",
        "s.yaml:20:7: error: time must be a time, and this is the text \"long\"; write for example 1:30:00 or \
        90 min",
        "s.yaml:21:14: error: whole_nodes must be true or false, and this is the whole number 1; write true \
        or false",
        "s.yaml:22:17: error: what stands under batch_options is to be one line, and this has none or \
        several; write each line as an item of its own, with \"- \" before it",
    ];
    for (i, expected) in expected.iter().enumerate() {
        assert_eq!(found.get(i).map(String::as_str), Some(*expected), "line {}", i + 1);
    }
    assert_eq!(found.len(), expected.len() + 1);
    assert!(found[22]
        .starts_with("s.yaml:23:1: error: a site file has no key \"colour\"; remove it, or use one of: desc"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let found = problems("launcher: slurm\nhosts: [a]\nagent_cores: 4\ncores_per_node: 4\n");
    assert!(found[0].contains(":2:8: error: hosts are listed"), "{found:?}");
    assert!(found[1].contains(":3:14: error: agent_cores is 4, and cores_per_node is 4"), "{found:?}");
    assert_eq!(found.len(), 2);
}

#[test]
fn what_a_job_asks_for_besides_cores_is_read_and_refused_where_nobody_can_be_asked() {
    let (site, found) = read_site(
        "launcher: slurm\nreservation: workshop\ngpus_per_node: 2\nlicences: [solver, 'mesher:4']\n",
        "s.yaml",
    );
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(site.reservation.as_deref(), Some("workshop"));
    assert_eq!(site.gpus_per_node, Some(Gpus { kind: None, count: 2 }));
    assert_eq!(site.licences.iter().map(ToString::to_string).collect::<Vec<_>>(), ["solver:1", "mesher:4"]);
    let found = problems("hosts: [a]\nreservation: r\ngpus_per_node: a100:1\nlicences: [x]\n");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains(":2:14: error: reservation is what a job asks its batch system for"),
        "{found:?}"
    );
    let found = problems("launcher: pbs\npartition: p\nreservation: r\ngpus_per_node: a100:1\n");
    assert!(found[0].contains("a reservation of PBS is a queue"), "{found:?}");
    assert!(found[1].contains("PBS has no word of its own for the kind of a GPU"), "{found:?}");
}

#[test]
fn how_a_link_is_used_is_refused_where_no_link_can_be_so() {
    let found = problems("streams: 257\npace: fast\n");
    assert!(found[0].contains("streams must be from 1 to 256, and this is the whole number 257"), "{found:?}");
    assert!(found[1].contains("pace must be bytes in a second, and this is the text \"fast\""), "{found:?}");
    let found = problems("streams: 0\nreservation: 'a b'\nlicences: ['a b']\ngpus_per_node: none\n");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn what_is_no_mapping_or_no_yaml_is_refused() {
    assert!(problems("- a\n")[0].contains("s.yaml:1:1: error: a site file must be a mapping"));
    assert!(problems("ssh: [a\nlauncher: ssh\n")[0].contains("not valid YAML"));
}
