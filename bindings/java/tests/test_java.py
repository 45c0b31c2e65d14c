"""The Java face, alone and in coupled runs. `conformance/` tests it against the other languages."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from models import bossed, dealt, echoed, overlaid, served
from programs import run_model

HERE = Path(__file__).parent
C = HERE.parents[1] / "c" / "tests"
README = HERE.parent / "README.md"


@pytest.fixture
def run(prefix, tmp_path):
    return lambda model, **more: run_model(prefix, tmp_path, model, **more)


def works(ran):
    assert ran.status == 0, ran.output()
    assert "WARNING: " not in ran.output(), ran.output()  # of the virtual machine, about native access


def test_every_value_comes_back_as_it_was_sent(java, run):
    works(run(echoed(java.program("Teller"), java.program("Echo"))))


def test_arrays_of_every_type_shape_order_and_way(java, run):
    works(run(echoed(java.program("Types"), java.program("Echo")), limit=300))


def test_ports_settings_waits_loans_and_mistakes(java, run):
    works(run(bossed(java.program("Boss"), java.program("Worker"))))


def test_a_sender_sets_the_length_of_a_vector_port_that_is_joined_to_a_vector_port(java, run):
    works(run(dealt(java.program("Slots"), java.program("Slots"))))


def test_a_server_answers_each_request_under_the_settings_that_came_with_it(java, run):
    works(run(served(java.program("Serve"))))


def test_an_overlay_is_sent_applied_and_handed_over(java, run):
    works(run(overlaid(java.program("Overlay"))))


def test_a_micro_model_is_started_anew_two_thousand_times(java, run):
    works(run(echoed(java.program("Restarts"), java.program("Echo"))))


def test_threads_messages_and_loans_that_are_handed_over_and_waits_that_are_ended(java, run):
    works(run(echoed(java.program("Threads"), java.program("Echo"))))


def test_a_formal_submodel_runs_its_loop(java, run):
    works(run(echoed(java.program("Formal"), java.program("Echo"))))


@pytest.mark.parametrize(
    "what, reason",
    [
        ("solve", r"Formal\.NoConvergence: the third step does not converge \(Formal\.java:\d+\)"),
        ("done", r"java\.lang\.IllegalStateException: who knows whether it is done \(Formal\.java:\d+\)"),
        ("error", r"java\.lang\.StackOverflowError: too deep \(Formal\.java:\d+\)"),
        ("library",
         r"org\.ligament\.LigamentException\.Unexpected: in the message on port \"in\" from echo\.out: .* not "
         r"text.* "
                    r"\(Formal\.java:\d+\)"),
    ],
)
def test_an_exception_of_a_formal_submodel_ends_the_run_with_class_text_and_line(java, run, what, reason):
    ran = run(echoed(java.program("Formal"), java.program("Echo"), [what]))
    assert ran.status == 1, ran.output()
    assert re.search(f"macro reported an error: {reason}", ran.text), ran.text


@pytest.mark.parametrize(
    "what, reason",
    [
        ("library", r'org\.ligament\.LigamentException\.Unexpected: .*not an integer.* \(Uncaught\.java:\d+\)'),
        ("own",
         r"Uncaught\.Diverged: in step 3 \(Uncaught\.java:\d+\), because of java\.lang\.ArithmeticException: "
         r"a root of "
                r"-1 \(Uncaught\.java:\d+\)"),
        ("error", r"java\.lang\.OutOfMemoryError: of the heap \(Uncaught\.java:\d+\)"),
        ("open", r"Uncaught\.Diverged: in step 3"),
        ("caught",
         r"the code closed its instance before reuseInstance\(\) said no: an exception may have ended it"),
        ("setting", r"the code closed its instance before reuseInstance\(\) said no: "
                    r'org\.ligament\.LigamentException\.SettingUnset: .*"absent".* \(Uncaught\.java:\d+\)'),
        ("normal",
         r"the code closed its instance before .*a code that means to leave early calls finish\(\) before"),
    ],
)
def test_an_exception_that_ends_the_program_ends_the_run_with_its_words(java, run, what, reason):
    ran = run(echoed(java.program("Uncaught"), java.program("Echo"), [what]))
    assert ran.status == 1, ran.output()
    assert re.search(f"macro reported an error: {reason}", ran.text), ran.text
    if what in ("own", "open"):
        assert "Exception in thread" in ran.text and "at Uncaught.throwsIt" in ran.text, ran.text
    if what in ("caught", "setting"):
        assert "main says:" in ran.text, ran.text


def test_a_program_that_exits_ends_the_run_with_its_last_words(java, run):
    ran = run(echoed(java.program("Uncaught"), java.program("Echo"), ["exit"]))
    assert ran.status == 1 and "macro" in ran.text and "cannot go on" in ran.text, ran.output()


@pytest.mark.parametrize("what", ["thread", "finish"])
def test_a_thread_s_exception_and_an_early_finish_end_nothing(java, run, what):
    ran = run(echoed(java.program("Uncaught"), java.program("Echo"), [what]))
    assert ran.status == 0, ran.output()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_wait_and_the_run(java, prefix, tmp_path, sent):
    model = tmp_path / "model.ymmsl"
    model.write_text(echoed(java.program("Waits"), java.program("Echo")))
    directory = tmp_path / "run"
    process = subprocess.Popen(
        [prefix / "bin/ligament", "run", model, "--run-dir", directory], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        # A shell that starts the tests in the background makes them ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        output = directory / "instances/macro/output.log"
        while process.poll() is None and not (output.exists() and "waiting" in output.read_text()):
            time.sleep(0.05)
        # The signal goes to the program itself, as with Ctrl-C in its terminal.
        commands = {entry.name: read(entry / "cmdline") for entry in Path("/proc").iterdir()
                    if entry.name.isdigit()}
        children = [int(number) for number, said in commands.items() if f"{java.classes}" in said
                    and "Waits" in said]
        assert len(children) == 1
        os.kill(children[0], sent)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 1 and "macro" in said, said
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""  # it has ended meanwhile


RING = """ymmsl_version: v0.1
model:
  name: ring
  components:
    a: {{implementation: walker, ports: {{o_i: out, s: in}}}}
    b: {{implementation: walker, ports: {{o_i: out, s: in}}}}
    c: {{implementation: walker, ports: {{o_i: out, s: in}}}}
  conduits:
    a.out: b.in
    b.out: c.in
    c.out: a.in
settings:
  steps: 10
  fail: {fail}
  a.start: 0
  b.start: 100
  c.start: 200
implementations:
  walker: {{executable: {program}}}
ligament:
  light: walker
"""


def test_light_components_share_a_process(java, run):
    ran = run(RING.format(program=java.program("Walker"), fail="false"))
    works(ran)
    said = ran.output()
    # After ten steps around a ring of three, each has the number of the one before it.
    assert "a ends with 200" in said and "b ends with 0" in said and "c ends with 100" in said, said
    assert "all are over" in said


def test_an_exception_of_a_light_component_ends_the_run_with_its_words(java, run):
    ran = run(RING.format(program=java.program("Walker"), fail="true"))
    assert ran.status == 1, ran.output()
    assert re.search(r"java\.lang\.IllegalStateException: a walker fell \(Walker\.java:\d+\)",
                     ran.text), ran.text


def alone(java, *words, **more):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LIGAMENT_")}
    environment["PATH"] = more.pop("path", environment["PATH"])
    environment |= more.pop("extra", {})
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment, **more)


def test_outside_a_run_there_is_an_error_that_says_what_to_do(java):
    done = alone(java, *java.command("WithoutRun"))
    assert done.returncode == 0, done.stderr


def without_library(java, *options):
    """This command is not told where the library is."""
    return [word for word in java.command("WithoutRun",
                                          *options) if not str(word).startswith("-Dligament.library")]


def test_the_library_is_found_in_each_of_its_places(java, prefix, tmp_path):
    library = prefix / "lib" / "libligament.so.0"
    elsewhere = "/usr/bin:/bin"
    places = [
        (java.command("WithoutRun"), {}),
        (without_library(java), {"LIGAMENT_LIBRARY": str(library)}),
        (without_library(java), {"LIGAMENT_LIBRARY": str(library.parent)}),
        (without_library(java, f"-Djava.library.path={library.parent}"), {}),
        (without_library(java), {"LD_LIBRARY_PATH": str(library.parent)}),
    ]
    for command, extra in places:
        done = alone(java, *command, path=elsewhere, extra=extra)
        assert done.returncode == 0, (command, done.stderr)
    # The command in PATH leads to the library.
    done = alone(java, *without_library(java), path=f"{prefix}/bin:{elsewhere}")
    assert done.returncode == 0, done.stderr
    # The jar of an installation finds the library of the installation.
    share = tmp_path / "prefix/share/java"
    share.mkdir(parents=True)
    (tmp_path / "prefix/lib").symlink_to(prefix / "lib")
    shutil.copy(java.jar, share)
    command = [java.home / "bin/java", "-jar", share / "ligament.jar"]
    done = alone(java, *command, path=elsewhere)
    assert done.returncode == 0 and f"{tmp_path}/prefix/lib/libligament.so.0" in done.stdout, done.stderr


def test_a_run_tells_its_instances_where_the_library_is(java, prefix, program, tmp_path):
    command = [word for word in java.command("Teller") if not str(word).startswith("-Dligament.library")]
    script = tmp_path / "teller"
    words = " ".join(f"'{word}'" for word in command)
    # The command `ligament` is not in this PATH, so only the run can name the library.
    script.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "told $LIGAMENT_LIBRARY"\nexec {words}\n')
    script.chmod(0o755)
    ran = run_model(prefix, tmp_path, echoed(script, program(C / "echo.c")))
    assert ran.status == 0, ran.output()
    assert f"told {prefix}/lib/libligament.so.0" in ran.output()


def test_a_library_that_is_not_there_or_not_ours_is_said(java, tmp_path):
    done = alone(java, *without_library(java), "java.library.path", path="/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    nowhere = java.command("WithoutRun", "-Dligament.library=/nowhere")
    done = alone(java, *nowhere, "the system property ligament.library")
    assert done.returncode == 0, done.stderr
    done = alone(java, *without_library(java), "LIGAMENT_LIBRARY names", extra={"LIGAMENT_LIBRARY": "/nowhere"})
    assert done.returncode == 0, done.stderr
    (tmp_path / "empty.c").write_text("int nothing;\n")
    other = tmp_path / "libother.so"
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "empty.c", "-o", other], check=True)
    done = alone(java, *java.command("WithoutRun", f"-Dligament.library={other}"), "no lig_abi_version")
    assert done.returncode == 0, done.stderr
    (tmp_path / "old.c").write_text("void lig_abi_version(int *a, int *b) { *a = 1; *b = 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "old.c", "-o", other], check=True)
    another = java.command("WithoutRun", f"-Dligament.library={other}")
    done = alone(java, *another, "has version 1.0 of Ligament's C ABI")
    assert done.returncode == 0, done.stderr


def older_jdk():
    """Returns a Java that is too old, if one is installed here."""
    for java in [shutil.which("java"), *Path("/usr/lib/jvm").glob("*/bin/java")]:
        if java is None:
            continue
        said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
        found = re.search(r'version "(\d+)', said)
        if found and 11 <= int(found.group(1)) < 22:
            return Path(java), found.group(1)
    return None


def test_an_older_jdk_is_refused_by_name(java):
    old = older_jdk()
    if old is None:
        pytest.skip("there is no older JDK here")
    done = alone(java, old[0], "-jar", java.jar)
    assert done.returncode == 1 and f"Ligament needs Java 22 or newer; this is Java {old[1]}" in done.stderr
    done = alone(java, old[0], "-cp", java.class_path, "WithoutRun")
    assert done.returncode == 1 and "UnsupportedClassVersionError" in done.stderr


def test_version_and_abi_are_those_of_the_repository():
    root = HERE.parents[2]
    version = re.search(r'^version = "(.*)"', (root / "Cargo.toml").read_text(), re.M).group(1)
    assert f"<version>{version}</version>" in (HERE.parent / "pom.xml").read_text()
    header = (root / "crates/capi/include/ligament.h").read_text()
    library = (HERE.parent / "src/main/java/org/ligament/Library.java").read_text()
    major = re.search(r"LIG_ABI_MAJOR (\d+)", header).group(1)
    minor = re.search(r"LIG_ABI_MINOR (\d+)", header).group(1)
    assert f"ABI_MAJOR = {major};" in library
    assert int(re.search(r"ABI_MINOR = (\d+);", library).group(1)) <= int(minor)


def test_the_structs_are_those_of_the_c_abi():
    native = (HERE.parent / "src/main/java/org/ligament/Native.java").read_text()
    table = (HERE.parents[2] / "docs/reference/c-abi.md").read_text()
    names = {"PORT": "port", "INSTANCE_OPTIONS": "instance_options", "SEND_OPTIONS": "send_options",
             "ARRAY": "array",
             "RECEIVE_OPTIONS": "receive_options", "VIEW": "array_view", "TIMES": "times",
             "PORT_SLOT": "port_slot",
             "FLOAT_ROW": "float_row", "SUBMODEL": "submodel", "LIGHT": "light", "ERROR": "error"}
    for ours, theirs in names.items():
        size = re.search(rf"^\| `lig_{theirs}` \| (\d+) \|", table, re.M).group(1)
        assert re.search(rf"\b{ours}_SIZE = (\d+);", native).group(1) == size, theirs


def test_every_function_is_declared_as_the_header_has_it():
    header = (HERE.parents[2] / "crates/capi/include/ligament.h").read_text()
    header = re.sub(r"//.*", "", header)
    native = (HERE.parent / "src/main/java/org/ligament/Native.java").read_text()
    functions = re.findall(r'= (call|number|pointer|nothing)\("(lig_\w+)", "(\w*)"\)', native)
    assert len(functions) > 80
    enums = set(re.findall(r"LIG_ENUM\((\w+)\)", header))

    def letter(argument):
        if "*" in argument:
            return "p"
        kind = argument.replace("const ", "").split()[0]
        return {"bool": "b", "double": "d", "uint32_t": "i", "int32_t": "i"}.get(kind,
                                                                                 "i" if kind in enums else "p")

    for result, name, arguments in functions:
        found = re.search(rf"^([^\n;()]*?)\b{name}\(([^;]*?)\);", header, re.M)
        assert found, name
        given = re.sub(r"\([^()]*\(?\*\w*\)?\([^()]*\)", "*", found.group(2))
        given = re.sub(r"\w+ \(\*(\w+)\)\([^()]*\)", r"void *\1", given)
        letters = "".join(letter(each.strip()) for each in given.split(",") if each.strip() not in ("", "void"))
        assert letters == arguments, (name, letters, arguments)
        returned = found.group(1).strip()
        known = {"void": "nothing", "uint32_t": "number"}
        wanted = known.get(returned, "call" if returned in enums else "pointer")
        assert wanted == result, (name, returned)


def test_the_readme_s_first_program_does_what_it_says(java, run, tmp_path):
    text = README.read_text()
    source = tmp_path / "Rod.java"
    source.write_text(re.search(r"```java\n(.*?)```", text, re.S).group(1))
    java.compile(tmp_path / "classes", source)
    program = java.program("Rod", class_path=f"{java.jar}:{tmp_path / 'classes'}")
    ran = run(re.search(r"```yaml\n(.*?)```", text, re.S).group(1).replace("./rod", str(program)))
    assert ran.status == 0, ran.output()
    assert "43.75" in ran.output() and "56.25" in ran.output()


def test_the_other_pieces_of_code_in_the_readme_compile(java, tmp_path):
    pieces = re.findall(r"```java\n(.*?)```", README.read_text(), re.S)[1:]
    assert pieces
    source = tmp_path / "Pieces.java"
    source.write_text(
        "import java.lang.foreign.*;\nimport org.ligament.*;\nimport org.ligament.Operator;\nfinal class "
        "Pieces {\n"
        "static void pieces(Instance instance, double t, double dt, double[] temperatures, double[] elements,\n"
        f"    MemorySegment segment, long rows, long columns) {{\n{''.join(pieces)}}}\n}}\n"
    )
    java.compile(tmp_path / "classes", source)


def test_every_call_that_the_readme_names_is_there(java):
    text = README.read_text()
    named = {*re.findall(r"`(?:\w+\.)*(\w+)\(", text), *re.findall(r"\bget(?:Port|Setting)\w+", text)}
    declared = "".join(path.read_text() for path in (HERE.parent / "src/main/java/org/ligament").glob("*.java"))
    assert not [name for name in named if not re.search(rf"\bpublic [^=;]*\b{name}\(", declared)]
