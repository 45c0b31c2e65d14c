"""Each kind of wrong declaration is an error, in each language."""

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON_DRIVER = "import sys\nfrom ligament import grid\ngrid.run(['{}'], sys.argv[1:])\n"
READS_BOTH = "reads: {u: interior}, writes: {v: interior}"
READS_U = "reads: {u: interior}"
WRITES_V = "writes: {v: interior}"
# For each function: its declaration, true if only marks reveal the fault, and the error. An @ stands for a
# digit, since both blocks have the fault.
KINDS = {
    "neighbours": (READS_BOTH, True, 'reads the ghosts of the field "u", and declares that it reads its inter'),
    "gap": (WRITES_V, True, 'has not written it in its interior (point [@, 3] of the grid\'s)'),
    "update": (READS_BOTH, True, "or it has read there what it only declares to write"),
    "beyond": (WRITES_V, True, 'writes the field "v" in its ghosts (point [@, 3] of the grid\'s)'),
    "change": (READS_BOTH, True, 'writes the field "u" in its interior (point [@, 3] of the grid\'s), and'),
    "total": (READS_U, True, 'reads the ghosts of the field "u"'),
    "other": (READS_U, False, 'asks for the field "v", and does not declare'),
    "parameter": (READS_U, False, 'asks for the parameter "length", which its module does not'),
    "refuse": (READS_U, False, "the height is below the ground"),
    "crash": (READS_U, False, 'crashed in block [@, 0] of "wave"'),
}


@pytest.fixture
def command(shared_object, c_driver, tmp_path):
    """Returns the command that runs a function with its declaration, in a language."""

    def of(language, name, uses):
        source = (HERE / f"faults.{dict(c='c', fortran='f90', python='py')[language]}").read_text()
        if language == "python":
            uses = "{" + f"bin: evol, {uses}" + "}"
            quoted = uses
            for word in ("bin", "evol", "reads", "writes", "interior", "everywhere", "u", "v"):
                quoted = re.sub(rf"\b{word}\b", f'"{word}"', quoted)
            path = tmp_path / "faults_program.py"
            path.write_text(source.replace("@NAME@", name).replace('"@USES@"', quoted))
            return [sys.executable, path]
        path = tmp_path / f"faults.{'c' if language == 'c' else 'f90'}"
        path.write_text(source.replace("@DECLARATION@", f"{name}: {{bin: evol, {uses}}}"))
        made = shared_object(path)
        if language == "c":
            return [c_driver, made]
        program = tmp_path / "program.py"
        program.write_text(PYTHON_DRIVER.format(made))
        return [sys.executable, program]

    return of


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
@pytest.mark.parametrize("name", KINDS)
def test_a_function_that_does_not_do_what_it_declares_is_named(run, model, command, language, name):
    uses, by_marks, why = KINDS[name]
    program = command(language, name, uses)
    text = model([*program, "--poison"], (8, 8), (2, 1), ("periodic", "periodic"), "steps: 2")
    done = run(text)
    said = " ".join(done.text.split())
    assert done.status != 0 and re.search(re.escape(why).replace("@", "-?[0-9]"), said), done.text
    assert f'the function "{name}" of the module "faults" (evol)' in said and 'of "wave"' in said
    if by_marks:
        assert run(text.replace(", '--poison'", "")).status == 0


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
def test_a_function_that_does_what_it_declares_is_left_alone(run, model, command, language):
    program = command(language, "neighbours", READS_BOTH.replace("{u: interior}", "{u: everywhere}"))
    done = run(model([*program, "--poison"], (8, 8), (2, 2), ("periodic", "mirrored"), "steps: 3"))
    assert done.status == 0, done.text
