//! Each form of a cxa file becomes its counterpart, and what has none is named with its line.

use ligament_cxa::{convert, CxaHost};
use ligament_model::read;
use std::path::Path;

fn variable(name: &str) -> Option<String> {
    (name == "HOST").then(|| "here".to_owned())
}

fn host() -> CxaHost<'static> {
    CxaHost { environment: &variable, folder: "/models" }
}

fn model(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cxa/models");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Converts a file, reads the model file that comes of it, and returns its text and the warnings.
fn converted(text: &str) -> (String, Vec<String>) {
    let made = convert(text, "m.cxa.rb", &host()).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let read = read(&made.text, "m.ymmsl").into_result();
    read.unwrap_or_else(|problems| panic!("{}: {problems:?}", made.text));
    (made.text, made.warnings.iter().map(ToString::to_string).collect())
}

/// Converts statements that give the setting `x` a value, and returns what the model file has for it.
fn setting(statements: &str) -> String {
    let text = format!("a = NativeInstance.new('a', './a')\n{statements}\n");
    let (text, _) = converted(&text);
    let line = text.lines().find_map(|line| line.strip_prefix("  x: "));
    line.unwrap_or("none").to_owned()
}

fn errors(text: &str) -> Vec<String> {
    let problems = convert(text, "m.cxa.rb", &host()).unwrap_err();
    assert!(problems.iter().all(|problem| problem.code.name() == "bad-cxa" && problem.is_error()));
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_canal_becomes_a_model() {
    let (text, warnings) = converted(&model("canal.cxa.rb"));
    assert_eq!(text, model("canal.ymmsl").replace("  canal:", "  m:").replace("  canal.", "  m."));
    assert_eq!(warnings, [] as [&str; 0]);
}

#[test]
fn the_old_forms_are_read() {
    let (text, warnings) = converted(&model("old.cxa.rb"));
    for expected in [
        "      w.data: r.data\n      w.more: r.more\n      r.back: w.answer\n",
        "    w.data -> r.data:\n    - multiply: 0.5\n",
        "executable: \"./w\"\n",
        "  max_timesteps: 4\n  default_dt: 1\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("command"), "{text}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("m.cxa.rb:4:") && warnings[0].contains("\"/opt/lib\""), "{warnings:?}");
    assert!(warnings[1].starts_with("m.cxa.rb:18:") && warnings[1].contains("\"my.own.Filter_3\" is a class"));
}

#[test]
fn settings_of_all_that_name_an_instance_start_its_program() {
    let (text, warnings) = converted(
        "cxa = Cxa.LAST\ncxa.env['a:command'] = './first'\n\
         cxa.add_kernel('a', 'muscle.core.standalone.MPIKernel')\ncxa.env['a:mpiexec_args'] = '-np 4'\n\
         b = NativeInstance.new('b', './own')\n$env['b:command'] = './other'\n$env['b:level'] = 2\n",
    );
    for expected in ["\"./first\"", "m.a: {mpi_processes: 4}", "\"./own\"", "  b.level: 2"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("command") && !text.contains("other") && warnings.is_empty(), "{text}{warnings:?}");
}

#[test]
fn messages_that_are_cut_and_joined_stay_whole() {
    let coupled = |sender: &str, receiver: &str| {
        converted(&format!(
            "a = NativeInstance.new('a', './a')\nb = NativeInstance.new('b', './b')\n\
             a.couple(b, 'x', ['serialize', '{sender}', 'compress'], \
             ['decompress', '{receiver}', 'deserialize'])\n"
        ))
    };
    let (text, warnings) = coupled("chunk_4", "dechunk_4");
    assert!(
        text.contains("- compress") && !text.contains("chunk") && warnings.is_empty(),
        "{text}{warnings:?}"
    );
    let (_, warnings) = coupled("chunk_4", "dechunk_8");
    assert!(warnings.len() == 1 && warnings[0].starts_with("m.cxa.rb:3:"), "{warnings:?}");
}

#[test]
fn no_program_has_the_name_of_the_model() {
    let (text, _) = converted("m = NativeInstance.new('m', './m')\n");
    assert!(text.contains("  model_m:\n") && text.contains("implementation: m\n"), "{text}");
}

#[test]
fn each_kind_of_instance_starts_as_muscle_2_starts_it() {
    let (text, warnings) = converted(&model("languages.cxa.rb"));
    for expected in [
        "executable: \"java\"\n    args: [\"--enable-native-access=ALL-UNNAMED\", \"examples.Sender\"]",
        "executable: \"/opt/matlab\"\n    args: [\"-nojvm\", \"-nosplash\", \"-nodisplay\", \"-r\", \
         \"run('${MUSCLE_HOME}/share/examples/receiver.m'); exit\"]",
        "executable: \"python2\"\n    args: [\"${MUSCLE_HOME}/share/examples/kernel.py\", \"-v\", \"1\"]",
        "executable: \"./loose\"\n    execution_model: openmpi",
        "  m.loose: {mpi_processes: 1}",
        "mpirun:\n    loose: \"/opt/mpich/bin/mpiexec\"",
        "executable: \"valgrind\"\n    args: [\"./code\"]",
        "  debugged.level: 2",
        "python.out: python.in",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let said = warnings.join("\n");
    for expected in
        ["\"java\": classes of Java", "MATLAB", "MUSCLE 2's module", "--map-by core", "how many processes"]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn expressions_are_computed_as_ruby_does() {
    for (statements, expected) in [
        ("$env['x'] = 7 / 2", "3"),
        ("$env['x'] = -7 / 2", "-4"),
        ("$env['x'] = 7 % 3 + 2 ** 3 * 2 - 1", "16"),
        ("$env['x'] = 7 / 2.0", "3.5"),
        ("$env['x'] = 1e-14", "1.0e-14"),
        ("$env['x'] = 1_000", "1000"),
        ("$env['x'] = 'a' + \"b#{1 + 1}\" 'c'", "\"ab2c\""),
        ("$env['x'] = \"a\\tb\"", "\"a\\tb\""),
        ("$env['x'] = 'a\\n'", "\"a\\\\n\""),
        ("y = 1 if false\n$env['x'] = defined?(y) ? 1 : 2", "1"),
        ("$env['x'] = defined?(zz) ? 1 : 2", "2"),
        ("y = 1 if false\n$env['x'] = y.nil?", "true"),
        ("$env['x'] = true && !false", "true"),
        ("$env['x'] = (1..3).include?(2) and nil", "true"),
        ("y = nil\ny ||= 4\ny += 1\n$env['x'] = y", "5"),
        ("y, z = 1, 2\n$env['x'] = y - z", "-1"),
        ("$env['x'] = '%03d-%.2f-%s' % [7, 1.5, 'a']", "\"007-1.50-a\""),
        ("$env['x'] = { 'a' => 3, b: 4 }[:b]", "4"),
        ("$env['x'] = %w(a b c).join('+')", "\"a+b+c\""),
        ("$env['x'] = [1, 2].map { |i| i * 2.5 }", "[2.5, 5.0]"),
        ("$env['x'] = 0\n3.times { |i| $env['x'] += i }", "3"),
        ("$env['x'] = 0\n1.step(9, 4) do |i| $env['x'] += i end", "15"),
        ("y = 5\nwhile y > 2 do y -= 1 end\n$env['x'] = y", "2"),
        ("y = 0\nuntil y == 4\n  y += 1\n  next if y == 2\n  break if y == 3\nend\n$env['x'] = y", "3"),
        ("y = 0\nloop do\n y += 1\n break if y > 5\nend\n$env['x'] = y", "6"),
        ("if false then $env['x'] = 1 elsif true then $env['x'] = 2 else $env['x'] = 3 end", "2"),
        ("$env['x'] = 1\n$env['x'] = nil", "none"),
        ("$env['x'] = 1; $env.delete('x')", "none"),
        ("$env['x'] = ENV['HOST']", "\"here\""),
        ("$env['x'] = ENV.has_key?('NOWHERE')", "false"),
        ("$env['x'] = ENV.fetch('NOWHERE', 3)", "3"),
        ("$env['x'] = File.dirname(__FILE__)", "\"/models\""),
        ("$env['x'] = File.join('a', 'b') # why", "\"a/b\""),
        ("$env['x'] = 'a'.upcase.to_sym", "\"A\""),
        ("$env['x'] = [3,\n 4][\n1]", "4"),
        ("$env['x'] = 1 +\n 2", "3"),
        ("$env['x'] = [1, 2]\n  .length", "2"),
        ("$env['x'] = a.name", "\"a\""),
        ("a['y'] = 3\n$env['x'] = a['y']", "3"),
        ("$env['x'] = case 3 when 1..2 then 1 when 3 then 5 end", "5"),
        ("$env['x'] = 3.7.to_i + '12cm'.to_i + '1.5e1 m'.to_f", "30.0"),
        ("$env['x'] = -1.5.floor * 10 + -2.abs", "-18"),
        ("$env['x'] = -2 ** 2 + - 3.abs", "-7"),
        ("$env['x'] = 0\n-3.upto(3) { |i| $env['x'] += 1 }", "7"),
        ("$env['x'] = 1.0 % 0.1", "0.09999999999999995"),
        ("$env['x'] = -7.5 % 2", "0.5"),
        ("$env['x'] = '1_000'.to_i + ' -1_0.5e1_0'.to_f", "-104999999000.0"),
        ("$env['x'] = Integer('12') + Float(' 1.5 ') + Integer(3.9)", "16.5"),
        ("$env['x'] = ' a \n'.strip + \" b\\n\".chomp", "\"a b\""),
        ("$env['x'] = 'a,b,,'.split(',').length + 'abc'.split('').length + ' a b '.split.length", "7"),
        ("$env['x'] = [[1, [2]], 3].join('-')", "\"1-2-3\""),
        ("$env['x'] = [1, 2, 3].first(2) + [1, 2, 3].last(5)", "[1.0, 2.0, 1.0, 2.0, 3.0]"),
        ("$env['x'] = [1, 2, 1].count(1)", "2"),
        ("$env['x'] = [1, [2]].include?(1.0) && [1, [2]].include?([2.0])", "true"),
        ("$env['x'] = [[1], { 'a' => [2] }] == [[1], { 'a' => [2] }]", "true"),
        ("$env['x'] = { 'a' => 1 } == { 'a' => 2 }", "false"),
        ("$env['x'] = { 'a' => 1 }.fetch('b', 7)", "7"),
        ("$env['x'] = Array.new(3) { |i| i * 2 }", "[0.0, 2.0, 4.0]"),
        ("$env['x'] = case 5 when String then 1 when Integer then 2 end", "2"),
        ("$env['x'] = case 1.5 when 2..3 then 1 when 1..2 then 2 end", "2"),
        ("$env['x'] = case 2.5 when 1..2 then 1 when 1...3 then 2 end", "2"),
        ("$env['x'] = (1...3).last * 10 + (1...3).max", "32"),
        ("$env['x'] = \"#{1...3} #{(1..3)}\"", "\"1...3 1..3\""),
        ("$d = '/d'\n$env['x'] = \"#$d/a # $d\"", "\"/d/a # $d\""),
        ("x = [1, 2]\nx[-1] = 9\n$env['x'] = x", "[1.0, 9.0]"),
        ("$env['x'] = defined?(ENV) && !defined?(Nope)", "true"),
        ("$env['x'] = File.basename(__FILE__, '.cxa.rb') + File.basename('a/b.rb', '.*')", "\"mb\""),
    ] {
        assert_eq!(setting(statements), expected, "{statements}");
    }
}

#[test]
fn a_filter_may_become_several_in_their_order() {
    let (text, warnings) = converted(
        "a = NativeInstance.new('a', './a')\n\
         a.couple(a, {'x' => 'y'}, ['linearinterpolation', 'multiply_2'], ['linearinterpolation'])\n\
         a.couple(a, {'u' => 'v'}, ['lineartimeinterpolation_3'])\n",
    );
    let expected = "    a.x -> a.y:\n    - interpolate_space: {parts: 2, axis: 0}\n      at: sender\n    \
                    - slice: \"1::2\"\n      at: sender\n    - multiply: 2.0\n      at: sender\n    \
                    - interpolate_space: {parts: 2, axis: 0}\n    - slice: \"1::2\"\n";
    assert!(text.contains(expected) && text.contains("- interpolate_time: 3\n"), "{text}");
    assert!(warnings.len() == 1 && warnings[0].contains("equal steps"), "{warnings:?}");
}

#[test]
fn a_step_of_all_instances_is_told_unless_it_changes_nothing() {
    let told = |settings: &str| {
        let (_, warnings) = converted(&format!(
            "a = NativeInstance.new('a', './a')\nb = NativeInstance.new('b', './b')\n{settings}\n"
        ));
        warnings
    };
    let warnings = told("a['dt'] = 1\n$env['dt'] = 2\n$env['T'] = 9");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("m.cxa.rb:4:") && warnings[0].contains("counts for \"b\""), "{warnings:?}");
    assert!(warnings[1].starts_with("m.cxa.rb:5:") && warnings[1].contains("max_timesteps"), "{warnings:?}");
    for settings in [
        "$env['default_dt'] = 2\n$env['max_timesteps'] = 9",
        "$env['dt'] = 2\n$env['default_dt'] = 2",
        "$env['dt'] = 2\na['dt'] = 1\n$env['b:dt'] = 3",
        "$env['dt'] = 2\n$env['dt'] = nil",
    ] {
        assert_eq!(told(settings), [] as [&str; 0], "{settings}");
    }
}

#[test]
fn a_class_of_java_with_a_command_is_told() {
    let (text, warnings) = converted(
        "a = Instance.new('a', 'my.A')\na['command'] = './a'\nb = Instance.new('b', 'my.B')\n\
         $env['b:command'] = './b'\nc = Instance.new('c', 'my.C')\n",
    );
    assert!(text.contains("  a.command: \"./a\"\n"), "{text}");
    let told: Vec<&String> = warnings.iter().filter(|one| one.contains("NativeInstance.new")).collect();
    assert!(told.len() == 2 && told[0].starts_with("m.cxa.rb:1:"), "{warnings:?}");
    assert!(told[1].starts_with("m.cxa.rb:3:"), "{warnings:?}");
}

#[test]
fn a_name_that_a_code_gets_with_other_characters_is_told() {
    let (text, warnings) = converted("a = NativeInstance.new('the-ring', './a')\n");
    assert!(text.contains("      the_ring:\n"), "{text}");
    assert!(warnings.len() == 1 && warnings[0].contains("\"the-ring\" is \"the_ring\""), "{warnings:?}");
}

#[test]
fn blocks_have_names_of_their_own() {
    for (statements, expected) in [
        ("i = 5\n3.times { |i| i }\n$env['x'] = i", "5"),
        ("i = 5\n[1, 2].each { |i| [7].map { |i| i } }\n$env['x'] = i", "5"),
        ("k = 0\n%w(a b).each_with_index { |v, i| k += i }\n$env['x'] = k", "1"),
        ("$env['x'] = 0\n[5, 6].each_with_index { |v| $env['x'] += v }", "11"),
        ("$env['x'] = 0\n3.times { y ||= 0; y += 1; $env['x'] = y }", "1"),
        ("y = 0\n3.times { y += 1; z = y }\n$env['x'] = y", "3"),
        ("for i in 1..4 do y = i end\n$env['x'] = y + i", "8"),
        ("2.times { K = 3 }\n$env['x'] = K", "3"),
        ("i = 1\n5.times { |i| break if i == 3 }\n$env['x'] = i", "1"),
        ("$env['x'] = [1, 2].map { |j| next if j == 1; j }.length", "2"),
        ("3.times { |i| [1, 2].map { |j| next if j == 1; j }; $env['x'] = i }", "2"),
        ("$env['x'] = [1, 2].map { |j| break }.nil?", "true"),
        ("$env['x'] = [1, 2].each { |j| break if j == 1 }.nil?", "true"),
    ] {
        assert_eq!(setting(statements), expected, "{statements}");
    }
    let found = errors("a = NativeInstance.new('a', './a')\n2.times { y = 1 }\n$env['x'] = y\n");
    assert!(found.len() == 1 && found[0].contains("\"y\" has no value here"), "{found:?}");
}

#[test]
fn arguments_and_blocks_that_would_change_a_value_are_refused() {
    for (value, expected) in [
        ("'ff'.to_i(16)", "\"to_i\" is read without arguments"),
        ("10.to_s(2)", "\"to_s\" is read without arguments"),
        ("1234.round(-2)", "\"round\" is read without arguments"),
        ("1.57.floor(1)", "\"floor\" is read without arguments"),
        ("'a.rb'.chomp('.rb')", "\"chomp\" is read without arguments"),
        ("'a,b'.split(',', 2)", "\"split\" is read with one argument at most"),
        ("'abc'.start_with?('x', 'a')", "\"start_with?\" is read with one"),
        ("[1, 2].count { |v| v > 1 }", "the block of \"count\" is not read"),
        ("Hash.new(0)", "for all keys"),
        ("Hash.new { |map, key| 0 }", "the block of Hash.new is not read"),
        ("Array.new(-1)", "the length of a list is a whole number"),
        ("{ 'a' => 1 }.fetch('b')", "the map has no key \"b\""),
        ("Integer('12cm')", "\"12cm\" is no whole number"),
        ("Integer('010')", "\"010\" is no whole number"),
        ("Float('')", "\"\" is no number"),
        ("'99999999999999999999'.to_i", "beyond the range"),
        ("'1e999'.to_f", "beyond the range"),
        ("'%.3d' % 5", "\"%.3d\" for a whole number is not read"),
        ("'%.2s' % 'abc'", "\"%.2s\" for a text is not read"),
        ("\"#@x\"", "variables of objects"),
    ] {
        let found = errors(&format!("a = NativeInstance.new('a', './a')\n\n$env['x'] = {value}\n"));
        assert!(found.len() == 1 && found[0].starts_with("m.cxa.rb:3:"), "{value}: {found:?}");
        assert!(found[0].contains(expected), "{value}: {found:?}");
    }
}

#[test]
fn a_mistake_that_a_loop_meets_again_is_told_once() {
    let found = errors("a = NativeInstance.new('a', './a')\n500.times { |i| foo }\nbar\n");
    assert!(found.len() == 2 && found[1].starts_with("m.cxa.rb:3:"), "{found:?}");
}

#[test]
fn what_is_not_read_is_named_with_its_line() {
    for (text, line, expected) in [
        ("\ndef f(x)\n  y = {\nend\n", 2, "methods are not read"),
        ("a = `hostname`", 1, "command of the shell"),
        ("x = NativeInstance.new('a')", 1, "the command of an instance is nil"),
        ("\nfoo.bar", 2, "\"foo\" has no value here"),
        ("a = NativeInstance.new('a', './a', argz: 1)", 1, "did you mean \"args\"?"),
        ("a = NativeInstance.new('a', './a')\na = NativeInstance.new('a', './b')", 2, "already, in line 1"),
        (
            "a = NativeInstance.new('a', './a')\na.couple(a, 'x')\na.couple(a, 'x' => 'y')",
            3,
            "from a.x already",
        ),
        ("a = NativeInstance.new('a', './a')\na.couple('b', 'x')", 2, "coupled with a text"),
        ("tie 'a', 'b'", 1, "outside of attach"),
        ("Cxa.LAST.cs.attach('a' => 'b') { tie 'x' }", 1, "no instance \"a\""),
        ("abort 'no licence' if 1 < 2", 1, "ends itself by \"abort\": no licence"),
        ("x = ENV['NOWHERE'] + '/a'", 1, "joins nil and a text"),
        ("x = 'a' + 1", 1, "#{…}"),
        ("x = 1 / 0", 1, "divided by 0"),
        ("x = Proc.new { 1 }", 1, "\"Proc\" is not known"),
        ("x = File.exist?('a')", 1, "depends on the files"),
        ("x = [1, 2", 1, "the file ends here"),
        ("if true\n x = 1\n", 3, "\"end\" is expected"),
        ("x = 'abc", 1, "has no end"),
        ("x = y = ", 1, "a value is expected"),
        ("x = 9999999999999999999", 1, "beyond the range"),
        ("a = NativeInstance.new('1a', './a')", 1, "begins with a digit"),
        (
            "d = Instance.new('d', 'muscle.core.kernel.DuplicationMapper')\nd.couple(d, 'x')\n\
          a = NativeInstance.new('a', './a')\nd.couple(a, 'y')",
            4,
            "leads to \"d\"",
        ),
        (
            "a = NativeInstance.new('a', './a')\n\
             k = Terminal.new('k', 'muscle.core.conduit.terminal.NullSink')\n\
             a.couple(k, 'x')\na.couple(k, 'y')",
            4,
            "\"k\" has its only coupling already, in line 3",
        ),
        (
            "a = NativeInstance.new('a', './a')\n\
             k = Terminal.new('k', 'muscle.core.conduit.terminal.PrintSink')\nk.couple(a, 'x')",
            3,
            "\"k\" is a sink, and sends nothing",
        ),
        (
            "a = NativeInstance.new('a', './a')\n\
             d = Instance.new('d', 'muscle.core.kernel.DuplicationMapper')\na.couple(d, 'x' => 'in')\n\
             a.couple(d, 'y' => 'in2')\nd.couple(a, 'e')",
            4,
            "\"d\" has its only coupling already, in line 3",
        ),
        ("x = 1", 1, "makes no instance"),
        ("", 1, "makes no instance"),
    ] {
        let found = errors(text);
        assert!(
            found.iter().any(|one| one.starts_with(&format!("m.cxa.rb:{line}:")) && one.contains(expected)),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn all_mistakes_are_told_and_what_follows_from_them_is_not() {
    let found = errors("x = foo\ny = x + 1\nif y\n z = bar\nend\n$env['a'] = y\nw = baz\n");
    assert_eq!(found.len(), 2, "{found:?}");
    let found = errors("a = (\nb = ]\nc = 1 +* 2\n");
    assert!(found.len() >= 2, "{found:?}");
}

#[test]
fn settings_that_a_model_cannot_have_are_left_out_with_a_warning() {
    let text =
        "a = NativeInstance.new('a', './a')\n$env['a b'] = 1\n$env['m'] = { 'x' => 1 }\n$env['n'] = 0.0 / 0\n\
                $env['a:dt'] = 2\n";
    let (text, warnings) = converted(text);
    assert!(text.ends_with("settings:\n  a.dt: 2\n"), "{text}");
    let lines: Vec<&str> = warnings.iter().map(|one| &one[..11]).collect();
    assert_eq!(lines, ["m.cxa.rb:2:", "m.cxa.rb:3:", "m.cxa.rb:4:"]);
    let text = "a = NativeInstance.new('a', './a')\na['x-y'] = 1\na['x_y'] = 2\n$env['true'] = 3\n";
    let (text, warnings) = converted(text);
    assert!(text.ends_with("settings:\n  a.x_y: 2\n") && warnings.len() == 2, "{text}: {warnings:?}");
    assert!(errors("a = NativeInstance.new('Null', './a')")[0].contains("a word of YAML"));
}
