"""`run_simulation`: models whose components are Python functions."""

from conftest import FACE, call

START = """
import os, sys
import ymmsl
from libmuscle import Instance, Message
from libmuscle.runner import run_simulation
from ymmsl.v0_2 import Configuration
MODEL = '''
ymmsl_version: v0.2
models:
  small:
    description: a component
    components:
      alone: {description: a component, implementation: code, ports: {}}
'''
"""
RUN = "run_simulation(ymmsl.load_as(Configuration, MODEL), {'code': code, 'unused': None})\n"
CODE = """
def code():
    instance = Instance()
    while instance.reuse_instance():
        print("here", os.getcwd())
"""


def test_an_instance_works_and_prints_where_the_script_does(face, tmp_path):
    done = call(face, "-c", START + CODE + RUN, cwd=tmp_path)
    assert done.stdout == f"here {tmp_path}\n"
    left = {path.name for path in tmp_path.iterdir()}
    assert {"muscle3_manager.log", "performance.sqlite", "muscle3.alone.log"} <= left


def test_the_program_of_the_page_runs(face, tmp_path):
    page = (FACE / "README.md").read_text()
    program = page.split("```python\n")[1].split("```")[0]
    assert call(face, "-c", program, cwd=tmp_path).stdout == "u = 0.3487\n"


def test_a_model_of_version_1_is_run(face, tmp_path):
    old = """
from ymmsl.v0_1 import Component, Configuration as Old, Model, Ports
run_simulation(Old(Model('small', [Component('alone', 'code', None, Ports())], [])), {'code': code})
"""
    assert "here" in call(face, "-c", START + CODE + old, cwd=tmp_path).stdout


def test_a_text_in_a_setting_that_looks_like_a_number_stays_a_text(face, tmp_path):
    code = '''
def code():
    instance = Instance()
    while instance.reuse_instance():
        print([instance.get_setting(name) for name in ("name", "number")])
'''
    start = START.replace("ports: {}}\n", 'ports: {}}\nsettings: {name: "1e3", number: 1e3}\n')
    assert call(face, "-c", start + code + RUN, cwd=tmp_path).stdout == "['1e3', 1000.0]\n"


def test_the_model_says_which_lines_of_a_program_its_log_has(face, tmp_path):
    code = '''
import logging
def code():
    instance = Instance()
    while instance.reuse_instance():
        for level in (logging.DEBUG, logging.INFO, logging.ERROR):
            logging.log(level, f"a line of level {level}")
'''
    for setting, levels in (("", "40"), ("info", "20 40"), ("DEBUG", "10 20 40"), ("CRITICAL", "")):
        settings = f"settings: {{muscle_remote_log_level: '{setting}'}}"
        start = START.replace("ports: {}}\n", f"ports: {{}}}}\n{settings}\n")
        call(face, "-c", start + code + RUN, cwd=tmp_path)
        log = (tmp_path / "muscle3_manager.log").read_text()
        assert [line.split()[-1] for line in log.splitlines() if "a line of level" in line] == levels.split()


def test_ports_on_a_timeline_of_their_own_stand_beside_others(face, tmp_path):
    program = '''
import ymmsl
from libmuscle import Instance, Message
from libmuscle.runner import run_simulation
from ymmsl import Operator
from ymmsl.v0_2 import Configuration
MODEL = """
ymmsl_version: v0.2
models:
  two_loops:
    description: a test
    components:
      macro: {description: a test, implementation: macro, ports: {o_i: a, s: b, timeline more: {o_i: c, s: d}}}
      one: {description: a test, implementation: micro, ports: {f_init: came, o_f: back}}
      two: {description: a test, implementation: micro, ports: {f_init: came, o_f: back}}
    conduits: {macro.a: one.came, one.back: macro.b, macro.c: two.came, two.back: macro.d}
"""
def macro():
    instance = Instance({Operator.O_I: ["a", "c"], Operator.S: ["b", "d"]})
    while instance.reuse_instance():
        for port, back in (("a", "b"), ("a", "b"), ("c", "d")):
            instance.send(port, Message(0.0, data=port))
            print(instance.receive(back).data)
def micro():
    instance = Instance({Operator.F_INIT: ["came"], Operator.O_F: ["back"]})
    while instance.reuse_instance():
        instance.send("back", instance.receive("came"))
run_simulation(ymmsl.load_as(Configuration, MODEL), {"macro": macro, "micro": micro})
'''
    assert call(face, "-c", program, cwd=tmp_path).stdout == "a\na\nc\n"


def test_a_missing_implementation_is_a_value_error(face, tmp_path):
    program = START + "run_simulation(ymmsl.load_as(Configuration, MODEL), {'other': print})\n"
    assert 'ValueError: the model names the implementation "code"' in call(
        face, "-c", program, cwd=tmp_path, status=1).stderr


def test_an_exception_fails_the_run_with_its_text(face, tmp_path):
    code = "\ndef code():\n    one = Instance()\n    one.reuse_instance()\n    raise OSError('it is wet')\n"
    run = f"try:\n    {RUN}except RuntimeError as error:\n    print('RuntimeError', error)\n"
    assert "RuntimeError" in (done := call(face, "-c", START + code + run, cwd=tmp_path)).stdout
    assert "it is wet" in done.stdout


def test_a_grid_whose_names_are_no_texts_is_refused_with_them(face, tmp_path):
    code = '''
import numpy as np
from libmuscle import Grid
def code():
    one = Instance()
    one.reuse_instance()
    for names in ([1], "x", np.array([2])):
        try:
            one.send("out", Message(0.0, data={"grid": Grid(np.zeros(1), names)}))
        except TypeError as error:
            print(error)
'''
    start = START.replace("ports: {}", "ports: {o_f: out}")
    done = call(face, "-c", start + code + RUN, cwd=tmp_path)
    said = "the names of a grid's indexes are a list of texts, not "
    assert done.stdout.splitlines() == [said + names for names in ("[1]", "'x'", "array([2])")]


def test_the_calls_of_checkpoints_need_their_flag(face, tmp_path):
    code = "\ndef code():\n    one = Instance()\n    one.reuse_instance()\n    one.should_save_snapshot(0.0)\n"
    assert "USES_CHECKPOINT_API" in call(face, "-c", START + code + RUN, cwd=tmp_path, status=1).stderr
