"""Programs in MUSCLE 2's calls in Java: each call, a pair with a code in C, and mistakes."""

import re
import subprocess
from pathlib import Path

import pytest

FACE = Path(__file__).resolve().parents[1]


@pytest.fixture
def run(ligament, java, tmp_path):
    """Converts and runs a cxa file, and gives the lines of an instance. `status` is 0, or 1 for a run that
    fails."""

    def run(text, status=0):
        (tmp_path / "model.cxa.rb").write_text(java.path + text)
        subprocess.run([ligament, "convert", "model.cxa.rb", "-o", "model.ymmsl"], cwd=tmp_path, check=True,
                       timeout=120)
        done = subprocess.run([ligament, "run", "--quiet", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path,
                              env=java.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)
        output = {file.parent.name: file.read_text() for file in tmp_path.glob("run/instances/*/output.log")}
        assert (done.returncode == 0) == (status == 0), f"{done.stdout}{done.stderr}{output}"
        return lambda name: [line for line in output[name].splitlines() if not line.startswith("NOTE: Picked")]

    return run


def test_a_code_in_java_runs_coupled_to_one_in_c(run, program, tmp_path):
    types = "'floats' => 'floats', 'ints' => 'ints', 'longs' => 'longs', 'truths' => 'truths', 'text' => 'text'"
    output = run("source = Instance.new('source', 'Source')\n"
                 f"sink = NativeInstance.new('sink', '{program('sink.c')}')\n"
                 "source.couple(sink, 'level-out' => 'level')\n"
                 "sink.couple(source, { 'answer' => 'answer' }, ['multiply_10'])\n"
                 f"source.couple(sink, {{{types}}})\nsource.couple(sink, 'raw')\n"
                 "$env['max_timesteps'] = '2 s'\n$env['default_dt'] = 1\nsource['dt'] = '500 ms'\n"
                 "sink['dt'] = 0.5\nsource['cell-size'] = 2.0\nsource['is_wet'] = true\n")
    assert output("source") == ["source 500 ms 2.0 0 true", "2:0", "2:20", "2:40", "2:60", "4 steps 11"]
    assert output("sink") == ["sink 0.5 0", "2 1.5 -2.5", "3 3", f"2 {-2**63} {2**63 - 1}", "2 1 0", "6 höhe",
                              "3 0 1 2"]
    log = (tmp_path / "run/manager.log").read_text()
    assert "step 1 of source" in log and "100 % wet" in log and "severe" in log


def test_each_type_comes_back_as_it_was_sent(run):
    output = run("types = Instance.new('types', 'Types')\n"
                 "types.couple(types, 'out' => 'in', 'texts-out' => 'texts', 'long-out' => 'int')\n")("types")
    kinds = ("Boolean Byte Short Integer Long Float Double Double String String boolean[] byte[] short[] int[] "
             "int[] long[] float[] double[] boolean[][] byte[][] short[][][] int[][] long[][] float[][][] "
             "double[][][][] double[][] LinkedHashMap ArrayList")
    assert output == ["null", *(f"{kind} true" for kind in kinds.split()), "a b", "7", "1.0"]


def test_a_macro_model_restarts_a_micro_model(run):
    output = run("macro = Instance.new('macro', 'Macro')\nmicro = Instance.new('micro', 'Micro')\n"
                 "macro.couple(micro, 'table')\nmicro.couple(macro, 'sum')\n"
                 "$env['max_timesteps'] = 3\nmacro['dt'] = 1\nmicro['dt'] = '100 ms'\nmicro['T'] = 0.3\n")
    assert output("macro") == ["t=0.0 s: 8.0 at t=0.0 s, next t=0.3 s",
                               "t=1.0 s: 14.0 at t=1.0 s, next t=1.3 s",
                               "t=2.0 s: 20.0 at t=2.0 s, next t=2.3 s", "end t=3.0 s"]
    assert output("micro") == ["3 passes"]


def test_mappers_copy_add_and_change_messages(run):
    output = run("feeder = Instance.new('feeder', 'Feeder')\ncopies = Instance.new('copies', 'Copies')\n"
                 "sum = Instance.new('sum', 'Sum')\ndecimal = Instance.new('decimal', 'Decimal')\n"
                 "feeder.couple(copies, 'number' => 'in')\ncopies.couple(sum, 'a' => 'a', 'b' => 'b')\n"
                 "sum.couple(decimal, 'out' => 'in')\n"
                 "decimal.couple(feeder, 'out' => 'result', 'late' => 'late')\n"
                 "feeder['T'] = 3\n")
    assert output("feeder") == ["20 true 0.0", "40 true 1.0", "60 true 2.0"]


def test_the_other_calls_do_what_they_say(run):
    output = run("calls = Instance.new('calls', 'Calls')\ncalls.couple(calls, 'out' => 'in')\n"
                 "$env['default_dt'] = 0.5\n$env['max_timesteps'] = '1 min'\n$env['dx'] = '2 km'\n"
                 "$env['lX'] = 8\ncalls['number'] = 12\ncalls['digits'] = '34'\ncalls['yes'] = true\n"
                 "calls['file'] = 'a/heat.dat'\ncalls['list'] = [1.0, 2.5]\n")
    assert output("calls") == ["true out@calls at t=7.0 s in@calls at t=7.0 s"]


@pytest.mark.parametrize("unit, seconds", [("year", 31536000.0), ("months", 2628000.0), ("wks", 604800.0),
                                           ("hrs", 3600.0), ("ms", 0.001), ("microseconds", 1e-6),
                                           ("ks", 1000.0), ("min", 60.0)])
def test_units_of_time_are_the_same_in_java_and_cpp(run, program, unit, seconds):
    output = run("receiver = Instance.new('receiver', 'Receiver')\n"
                 f"code = NativeInstance.new('code', '{program('mistakes.cpp')}')\n"
                 "code.couple(receiver, 'out' => 'in')\nreceiver.couple(code, 'out' => 'in')\n"
                 f"$env['default_dt'] = '1 {unit}'\n")
    found = re.fullmatch(r"t=(\S+) s delta=(\S+) s", output("receiver")[0])
    assert [float(time) for time in found.groups()] == [seconds, seconds]


MISTAKES = [
    ("port", "IllegalArgumentException", "no port inn that receives in the model file; there are in"),
    ("direction", "IllegalArgumentException", "no port in that sends in the model file; there are out, free"),
    ("twice", "MUSCLERuntimeException", "port in of code is added twice"),
    ("outside", "IgnoredException", "port more is added outside of addPortals"),
    ("setting", "NoSuchElementException", "there is no setting colour for instance code"),
    ("whole", "IllegalArgumentException", 'the setting mistake is "whole", which is no whole number'),
    ("truth", "IllegalArgumentException", 'the setting mistake is "truth", which is no truth value'),
    ("path", "IllegalArgumentException", "instance code has no port inn that receives; there are in"),
    ("part", "IllegalStateException", "port out of code is used in a part that receives"),
    ("type", "MUSCLEDatatypeException", "port in of code is of the type String, and the port is for double[]"),
    ("end", "MUSCLEConduitExhaustedException", "in"),
    ("unit", "IllegalArgumentException", '"furlongs" is no unit'),
    ("length", "IllegalArgumentException", "is no time"),
    ("object", "MUSCLEDatatypeException", "port out of code is a java.util.Locale, which cannot be sent"),
    ("rows", "MUSCLEDatatypeException", "port out of code has a row of 1 where its first row is of 2"),
    ("infinite", "MUSCLERuntimeException", "inf"),
    ("null", "IllegalArgumentException", "the message on port out has no time"),
    ("restart", "MUSCLERuntimeException", "code is restarted, and has no total time; give the setting T"),
    ("untimed", "IllegalArgumentException", "the message on port out has no time"),
    ("closed", "IllegalStateException", "the conduit entrance free@code was closed"),
]
MODEL = """
brief = Instance.new('brief', 'Brief')
code = Instance.new('code', 'Mistakes')
sink = Terminal.new('sink', 'muscle.core.conduit.terminal.NullSink')
other = Terminal.new('other', 'muscle.core.conduit.terminal.NullSink')
brief.couple(code, 'out' => 'in')
code.couple(sink, 'out' => 'in')
code.couple(other, 'free' => 'in')
"""


@pytest.mark.parametrize("mistake, kind, expected", MISTAKES)
def test_a_mistake_is_an_exception_of_muscle_2(run, mistake, kind, expected):
    total = "" if mistake == "restart" else "code['T'] = 1\n"
    output = run(f"{MODEL}code['mistake'] = '{mistake}'\n{total}")("code")
    assert len(output) == 1 and output[0].startswith(f"{kind}: ") and expected in output[0], output


ENDS = [
    ("mistake", "uncaught", "java.lang.IllegalStateException: the heat is lost (Mistakes.java:"),
    ("mistake", "uncaught", "exit status 8"),
    ("mistake", "unhandled", "(Mistakes.java:"),
    ("mistake", "unhandled", "exit status 6"),
    ("dt", "soon", 'the setting dt is "soon", which is no number with a unit'),
    ("dt", "3 km", 'the setting dt is "3 km", which is no time'),
    ("dt", "-1", "the time step dt is -1.0 s, and must be above 0"),
]


@pytest.mark.parametrize("setting, value, expected", ENDS)
def test_an_exception_that_is_not_caught_ends_the_run_with_its_place(run, tmp_path, setting, value, expected):
    run(f"{MODEL}code['mistake'] = 'none'\ncode['T'] = 1\ncode['{setting}'] = '{value}'\n", status=1)
    assert expected in (tmp_path / "run/manager.log").read_text()


@pytest.mark.parametrize("words, expected", [
    (["muscle.core.kernel.Start", "Absent"], "there is no class Absent in the class path"),
    (["muscle.core.kernel.Start", "java.lang.String"], "the class java.lang.String is no instance of MUSCLE 2"),
    (["muscle.core.kernel.Start", "muscle.core.kernel.Submodel"], "cannot be made"),
    (["muscle.core.kernel.Start"], "usage: java"),
    (["Brief", "more"], "takes no arguments"),
    (["Brief"], "ligament run"),
])
def test_a_class_that_cannot_be_run_says_why(java, prefix, words, expected):
    environment = java.environment | {"LIGAMENT_LIBRARY": str(prefix / "lib")}
    done = subprocess.run([java.home / "bin/java", "-cp", f"{java.jar}:{java.classes}", *words],
                          env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 8 and expected in done.stderr, done.stderr


def test_the_program_of_the_readme_runs(ligament, java, tmp_path):
    section = (FACE / "README.md").read_text().partition("### In Java")[2]
    (tmp_path / "Left.java").write_text(re.search(r"```java\n(.*?)```", section, re.S).group(1))
    (tmp_path / "single.cxa.rb").write_text(re.search(r"```ruby\n(.*?)```", section, re.S).group(1))
    subprocess.run([java.home / "bin/javac", "-cp", java.jar, "Left.java"], cwd=tmp_path, check=True)
    environment = java.environment | {"CLASSPATH": f"{java.jar}:{tmp_path}"}
    for words in ("convert single.cxa.rb -o single.ymmsl", "run --quiet single.ymmsl --run-dir run"):
        subprocess.run([ligament, *words.split()], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                       check=True, timeout=300)
    lines = (tmp_path / "run/instances/left/output.log").read_text().splitlines()
    assert lines[-3:] == ["0.0", "1.0", "2.0"]
