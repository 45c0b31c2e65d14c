"""Programs in MPWide's calls, over the loopback. Each call of the header occurs in at least one of them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT_S = 180


def environment(key, more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LIGAMENT_")}
    return clean | {"LIGAMENT_MPWIDE_KEY": str(key)} | more


def start(key, *command, **more):
    return subprocess.Popen([str(word) for word in command], env=environment(key, more), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def outcome(process):
    """Status and output of a program; the watchdog ends it."""
    try:
        text, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
        pytest.fail(f"{process.args} has not ended:\n{text}")
    return process.returncode, text


def play(key, *commands, **more):
    """Starts programs together, and gives status and output of each."""
    return [outcome(process) for process in [start(key, *command, **more) for command in commands]]


@pytest.mark.parametrize("name", ["paths", "streams"])
def test_both_ends_find_each_other_and_get_what_was_sent(program, key, ports, name):
    for status, text in play(key, (program(name), "one", ports), (program(name), "two", ports)):
        assert status == 0, text


def test_a_relay_passes_on_streams_both_ways_and_ends_with_them(program, key, ports):
    roles = [(program("relay"), role, ports) for role in ("middle", "left", "right")]
    for status, text in play(key, *roles):
        assert status == 0, text


@pytest.mark.parametrize("end, status", {"killed": 1, "closes": 0}.items())
def test_a_relay_ends_with_one_end_and_tells_the_other(program, key, ports, end, status):
    middle = start(key, program("relay"), "middle", ports, LIGAMENT_MPWIDE_PATIENCE="3")
    right = start(key, program("relay"), "right waits", ports)
    left = start(key, program("relay"), f"left {end}", ports)
    assert left.stdout.readline() == "connected\n"
    if end == "killed":
        left.kill()
    left.communicate()
    ended, text = outcome(middle)
    assert ended == status and ("MPW_Relay: stream" in text) == (end == "killed"), text
    _, text = outcome(right)
    assert "returned -1\n" in text, text


def test_each_call_of_the_header_occurs_in_a_program():
    header = (HERE.parent / "include" / "MPWide.h").read_text()
    names = set(re.findall(r"\b(MPW_\w+)\(", header))
    used = " ".join((HERE / f"{name}.cpp").read_text() for name in ("paths", "streams", "relay"))
    assert len(names) >= 35
    assert {name for name in names if f"{name}(" not in used} == set()


# The mistake of a program, its exit status, and its error text.
MISTAKES = {
    "unknown path": (0, "MPW_Send: there is no path 7"),
    "unknown host": (0, 'the host "no.such.host.invalid" has no address'),
    "no streams": (0, "0 streams were asked for; 1 is the least"),
    "bad port": (0, "port 65535 of host localhost is not possible"),
    "no port": (0, 'no port was given for the host "localhost"'),
    "nobody": (0, "nobody listens there; start the other end first"),
    "unconnected": (0, "is not connected; MPW_ConnectPath connects it"),
    "unknown exchange": (1, "MPW_Wait: there is no exchange 3"),
    "unknown stream": (1, "MPW_setWin: there is no stream 3"),
    "bad rate": (1, "it is bytes per second, or -1"),
    "no parts": (1, "100 bytes cannot be divided into 0 parts"),
    "bad chunk": (1, "pieces of 0 and 1 bytes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(program, key, ports, mistake):
    status, text = outcome(start(key, program("mistakes"), mistake, ports))
    expected_status, words = MISTAKES[mistake]
    assert status == expected_status and words in text, text
    assert expected_status == 1 or re.search(r"returned -\d+", text), text


# Mistakes that need a connection first; both ends make the same one.
@pytest.mark.parametrize("mistake, words", {
    "below zero": "a size is -1; it is 0 or more bytes",
    "null": "a buffer of 1 bytes is NULL",
    "some streams": "stream 0 is one of 4 of path 0",
    "twice": "a stream is named twice",
}.items())
def test_a_wrong_call_on_streams_is_named(program, key, ports, mistake, words):
    command = (program("mistakes"), mistake, ports)
    for status, text in play(key, command, command):
        assert status == 0 and words in text and "returned -22" in text, text


def test_a_missing_key_is_named_with_its_variable(program, key, ports):
    status, text = outcome(start("", program("mistakes"), "no key", ports))
    assert status == 0 and 'LIGAMENT_MPWIDE_KEY is not set' in text and "returned -13" in text, text
    status, text = outcome(start("/nowhere/key", program("mistakes"), "no key", ports))
    assert status == 0 and "/nowhere/key" in text and "returned -" in text, text


def test_a_wait_for_the_other_end_has_the_limit_that_a_variable_gives(program, key, ports):
    limited = start(key, program("mistakes"), "patience", ports, LIGAMENT_MPWIDE_PATIENCE="0.5")
    status, text = outcome(limited)
    assert status == 0 and "no connection for" in text and "nobody has come" in text, text
    status, text = outcome(start(key, program("mistakes"), "patience", ports, LIGAMENT_MPWIDE_PATIENCE="soon"))
    assert status == 0 and 'LIGAMENT_MPWIDE_PATIENCE is "soon"' in text, text


def both(program, key, ports, mistake):
    binary = program("mistakes")
    return play(key, (binary, f"{mistake} one", ports), (binary, f"{mistake} two", ports))


def test_lengths_that_differ_over_several_streams_are_refused(program, key, ports):
    _, (status, text) = both(program, key, ports, "divided")
    assert status == 0 and "a part of 100000 bytes has come where one of 50000 was expected" in text, text
    assert "returned -90" in text


def test_a_message_without_room_ends_the_program_instead_of_sleeping_for_ever(program, key, ports):
    (one, first), (two, text) = both(program, key, ports, "too long")
    assert two == 1, text
    # The sender may have handed over all of its message before the other end is gone, or not.
    assert one == 0 or "MPWide: MPW_DSendRecv: " in first, first
    assert "a message of 200000 bytes has come, and the buffer has room for 1000" in text


def test_a_receiver_learns_that_the_other_end_has_closed(program, key, ports):
    (status, text), _ = both(program, key, ports, "closes")
    assert status == 0 and "the other end has closed the path" in text and "returned -1\n" in text, text


def test_a_receiver_learns_that_the_other_end_was_killed(program, key, ports):
    one = start(key, program("mistakes"), "killed one", ports, LIGAMENT_MPWIDE_PATIENCE="5")
    two = start(key, program("mistakes"), "killed two", ports)
    assert two.stdout.readline() == "sent\n"
    two.kill()
    two.communicate()
    status, text = outcome(one)
    assert status == 0 and "returned -104" in text, text


def test_the_readme_s_first_program_does_what_it_says(program, key, tmp_path):
    text = (HERE.parent / "README.md").read_text()
    (tmp_path / "coupled.cpp").write_text(re.search(r"```cpp\n(.*?)```", text, re.S).group(1))
    binary = program("coupled", tmp_path / "coupled.cpp")
    assert play(key, (binary, "left"), (binary, "right")) == [(0, "43.75\n"), (0, "56.25\n")]


PARTNERS = """
#include "MPWide.h"
#include <vector>
// Lets three partners in at one port, one after another, as MPWide does; keeps all paths.
int main(int, char **argv) {
    const bool serves = std::string(argv[1]) == "serves";
    std::vector<int> paths;
    char number = 0;
    for (char i = 0; i < 3; ++i) {
        int path = -1;
        while (path < 0) {
            path = MPW_CreatePathWithoutConnect(serves ? "0" : "localhost", std::atoi(argv[2]), 1);
            if (MPW_ConnectPath(path, serves) < 0) MPW_DestroyPath(path), path = -1;
        }
        paths.push_back(path);
        if (serves) MPW_Send(&i, 1, path);
    }
    for (char i = 0; i < 3; ++i)
        if (!serves && (MPW_Recv(&number, 1, paths[i]) < 0 || number != i)) return 4;
    return MPW_Finalize() - 1;
}
"""


def test_a_port_lets_in_one_partner_after_another(program, key, ports, tmp_path):
    (tmp_path / "partners.cpp").write_text(PARTNERS)
    binary = program("partners", tmp_path / "partners.cpp")
    for status, text in play(key, (binary, "serves", ports), (binary, "asks", ports)):
        assert status == 0, text
