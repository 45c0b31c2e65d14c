"""Programs in the calls of MPWide's Python module, and arguments that the calls refuse."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import numpy
import pytest
from test_mpwide import outcome, play, start

HERE = Path(__file__).parent
MODULE = HERE.parent / "python" / "MPWide.py"


@pytest.fixture
def variables(face):
    """The environment in which Python finds the module."""
    return {"PYTHONPATH": str(face / "lib" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="session")
def module(face):
    specification = importlib.util.spec_from_file_location("MPWide", face / "lib" / "python" / "MPWide.py")
    made = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(made)
    return made


def python(name, *words):
    return (sys.executable, HERE / f"{name}.py", *words)


def test_both_ends_find_each_other_and_get_what_was_sent(key, ports, variables):
    ends = play(key, python("calls", "one", ports), python("calls", "two", ports), **variables)
    for status, text in ends:
        assert status == 0 and text.endswith("done\n"), text
    assert "MPWide base connection port:" in ends[0][1]


def test_each_call_of_the_module_occurs_in_the_program(module):
    program = (HERE / "calls.py").read_text()
    names = [name for name in module.__all__ if name.startswith("MPW_")]
    assert len(names) >= 22
    assert [name for name in names if f"{name}(" not in program] == []
    assert [name for name in names if not hasattr(module.MPWide_python(), name)] == []


@pytest.mark.parametrize("left", ["cpp", "python"])
def test_an_end_in_python_meets_one_in_cpp(program, key, tmp_path, variables, left):
    """The first programs of the README."""
    readme = (HERE.parent / "README.md").read_text()
    for language, ending in (("cpp", "cpp"), ("python", "py")):
        code = re.search(rf"```{language}\n(.*?)```", readme, re.S)[1]
        (tmp_path / f"coupled.{ending}").write_text(code)
    ends = {"cpp": (program("coupled", tmp_path / "coupled.cpp"), ),
            "python": (sys.executable, tmp_path / "coupled.py")}
    right = ({*ends} - {left}).pop()
    both = play(key, (*ends[left], "left"), (*ends[right], "right"), **variables)
    assert both == [(0, "43.75\n"), (0, "56.25\n")]


# A call with an argument that no call could take, the exception, and its text.
REFUSALS = {
    "a host that is a number": (lambda m: m.MPW_CreatePath(1, 16256, 1), TypeError, "host is of type int"),
    "a host with a zero byte": (lambda m: m.MPW_CreatePath("a\0b", 16256, 1), ValueError, "has no zero byte"),
    "a port that is a text": (lambda m: m.MPW_CreatePath("a", "16256", 1), TypeError,
                              "server_side_base_port is of type str; it is a whole number"),
    "a port beyond an int": (lambda m: m.MPW_CreatePath("a", 2**32, 1), OverflowError, "is 4294967296"),
    "a path that is a fraction": (lambda m: m.MPW_DestroyPath(0.5), TypeError, "path is of type float"),
    "a host outside a list": (lambda m: m.MPW_Init("localhost", [1], 1), TypeError, "a list with a host"),
    "too few hosts": (lambda m: m.MPW_Init(["a"], [1, 2], 2), ValueError, "url has 1 hosts"),
    "too few ports": (lambda m: m.MPW_Init(["a", "b"], [1], 2), ValueError, "server_side_ports has 1 numbers"),
    "streams that are a number": (lambda m: m.MPW_CloseChannels(1, 1), TypeError, "channels is a list"),
    "a size below 0": (lambda m: m.MPW_Send(b"a", -1, 0), ValueError, "size is -1; it is 0 or more bytes"),
    "a size beyond what is sent": (lambda m: m.MPW_SendRecv(b"abc", 4, None, 0, 0), ValueError,
                                   "sendsize is 4, and sendbuf has 3 bytes"),
    "a size beyond the room": (lambda m: m.MPW_DSendRecv(None, 0, bytearray(3), 4, 0), ValueError,
                               "maxrecvsize is 4, and recvbuf has 3 bytes"),
    "bytes as room": (lambda m: m.MPW_SendRecv(None, 0, b"bb", 2, 0), TypeError,
                      "recvbuf is of type bytes and cannot change; receive into bytearray(2)"),
    "a str as room": (lambda m: m.MPW_Recv("bb", 2, 0), TypeError, "buf is of type str and cannot change"),
    "a str beyond ASCII": (lambda m: m.MPW_Send("héé", 3, 0), ValueError, "send buf.encode()"),
    "a list as a buffer": (lambda m: m.MPW_Send([1, 2], 2, 0), TypeError, "buf is of type list"),
    "a buffer with gaps": (lambda m: m.MPW_Send(memoryview(bytearray(8))[::2], 4, 0), ValueError,
                           "buf is not contiguous in memory"),
    "Python objects": (lambda m: m.MPW_Send(numpy.array([None]), 8, 0), ValueError, "array of Python objects"),
    "a rate that is a text": (lambda m: m.MPW_setPacingRate("fast"), TypeError, "rate is 'fast'"),
}


@pytest.mark.parametrize("mistake", REFUSALS)
def test_an_argument_that_no_call_could_take_raises(module, mistake):
    call, kind, words = REFUSALS[mistake]
    with pytest.raises(kind, match=re.escape(words)):
        call(module)


def test_a_failure_is_a_negative_number_as_in_cpp(module, capfd):
    assert module.MPW_SendRecv(b"a", 1, None, 0, 7) < 0
    assert "MPWide: MPW_SendRecv: there is no path 7" in capfd.readouterr().err
    assert module.MPW_CreatePath("no.such.host.invalid", 16256, 1) < 0


def pair(key, case, ports, variables):
    """An end that plays a case, and its partner, once they are connected."""
    one = start(key, *python("partner", case, ports), **variables, LIGAMENT_MPWIDE_PATIENCE="5")
    two = start(key, *python("partner", "stays", ports), **variables)
    assert two.stdout.readline() == "connected\n"
    return one, two


def test_a_receiver_learns_that_the_other_end_was_killed(key, ports, variables):
    one, two = pair(key, "exchanges", ports, variables)
    two.kill()
    two.communicate()
    status, text = outcome(one)
    assert status == 0 and "result -104" in text, text


def test_a_receiver_learns_that_the_other_end_has_closed(key, ports, variables):
    one, two = pair(key, "exchanges", ports, variables)
    outcome(two)
    status, text = outcome(one)
    assert status == 0 and "result -1\n" in text and "the other end has closed the path" in text, text


def test_a_call_that_ends_the_program_loses_no_output(key, ports, variables):
    one, two = pair(key, "ends", ports, variables)
    outcome(two)
    status, text = outcome(one)
    assert status == 1 and text.startswith("a line\nMPWide: MPW_DSendRecv: "), text
    assert "another line" not in text


def test_a_module_without_its_library_says_how_both_are_installed(key, tmp_path):
    (tmp_path / "python").mkdir()
    shutil.copy(MODULE, tmp_path / "python")
    environment = {"PYTHONPATH": str(tmp_path / "python")}
    status, text = outcome(start(key, sys.executable, "-c", "import MPWide", **environment))
    assert status == 1 and f"The module uses {tmp_path / 'libMPW.so'}: install both" in text, text
