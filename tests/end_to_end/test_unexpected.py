"""The error of C++ for an unexpected message names the port and slot, the received value, and the expected
one."""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODEL = """ymmsl_version: v0.1
model:
  name: asks
  components:
    teller: {{implementation: teller, ports: {{o_i: out}}, multiplicity: 2}}
    asker: {{implementation: asker, ports: {{s: in}}}}
  conduits: {{teller.out: asker.in}}
implementations: {{teller: {teller}, asker: {{executable: {asker}}}}}
"""


def test_an_error_names_port_slot_what_came_and_what_was_asked_for(run, python_program, compile_cpp):
    teller = python_program("teller", """
import numpy as np
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    data = {"text": "a", "number": 1000, "array": np.zeros(2)} if instance.index == [1] else 2.0
    instance.send("out", Message(0.0, data=data))
""")
    done = run(MODEL.format(teller=teller, asker=compile_cpp(HERE / "missing_keys.cpp")))
    assert done.status == 0, done.text
    said = (done.directory / "instances/asker/output.log").read_text().splitlines()
    said = [line.split(" (ligament explain")[0] for line in said]
    where = 'in the message on port "in[1]" from teller[1].out: '
    assert said[0] == where + "the value is text, not a number"
    assert said[1].startswith(where + "the integer 1000 does not fit")
    came = 'an array of float64 with shape [2] came on port "in[1]" from teller[1].out'
    assert said[2] == f"{came}, where an array of float32 was expected"
    assert said[3] == where + 'the map has no key "nothing"'
    assert said[4] == 'a map came on port "in[1]" from teller[1].out, where an array of float64 was expected'
    assert said[5] == 'in the message on port "in[0]" from teller[0].out: the value is a number, not text'


def refused(tmp_path, text, *options):
    (tmp_path / "wrong.cpp").write_text(text)
    words = ["g++", *options, f"-I{ROOT}/bindings/cpp/include", f"-I{ROOT}/crates/capi/include", "-c",
             "wrong.cpp"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


def test_an_old_standard_of_cpp_is_refused_with_the_flag_that_helps(tmp_path):
    assert "compile with -std=c++17" in refused(tmp_path, "#include <ligament/ligament.hpp>\n", "-std=c++14")


def test_a_type_that_no_message_holds_is_refused_by_what_messages_hold(tmp_path):
    text = '#include <ligament/ligament.hpp>\nstruct Cell { double x; };\nvoid f(ligament::Instance &instance) { ' \
           'instance.send("out", 0.0, Cell{}); }\n'
    assert "put the members of a struct into a map" in refused(tmp_path, text, "-std=c++17")
