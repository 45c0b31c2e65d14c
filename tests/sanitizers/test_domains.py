"""Large messages between two domains, with the command that is in PATH. tests/sanitizers/run puts one there
that was built with AddressSanitizer."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# The runs of several domains are those of tests/domains.
found = importlib.util.spec_from_file_location("domains", ROOT / "tests" / "domains" / "test_domains.py")
domains = importlib.util.module_from_spec(found)
found.loader.exec_module(domains)
spread = domains.spread

MACRO = """
import numpy as np
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step, length in enumerate([1, 1 << 10, 1 << 17, 1 << 20, 1 << 22, 3]):
        sent = np.arange(length, dtype=float) + step
        instance.send("out", Message(float(step), data=sent))
        assert np.array_equal(instance.receive("in").data, sent), step
"""

MICRO = """
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    if message.timestamp == LAST:
        import os
        os.kill(os.getpid(), 9)
    instance.send("out", message)
"""


def test_large_messages_between_domains_arrive_whole(spread, python_program, tmp_path):
    model = tmp_path / "pair.ymmsl"
    micro = MICRO.replace("LAST", "-1")
    model.write_text(domains.MODEL.format(macro=python_program("macro", MACRO),
                                          micro=python_program("micro", micro)))
    run = spread(model, *domains.PLACES)
    assert run.wait() == [0, 0, 0], run.text()
    assert not any("Sanitizer" in run.text(which) for which in range(3))


def test_a_receiver_that_is_killed_between_large_messages_ends_the_run_with_its_reason(spread, python_program,
                                                                                       tmp_path):
    model = tmp_path / "pair.ymmsl"
    micro = MICRO.replace("LAST", "4")
    model.write_text(domains.MODEL.format(macro=python_program("macro", MACRO),
                                          micro=python_program("micro", micro)))
    run = spread(model, *domains.PLACES)
    assert run.wait() == [1, 1, 1], run.text()
    assert "micro was ended by signal SIGKILL" in run.text(), run.text()
    assert not any("Sanitizer" in run.text(which) for which in range(3))
