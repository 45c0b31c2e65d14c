"""A participant that only sends data: it knows the windows from a clock."""

import sys
from pathlib import Path

import pytest
from precice.configuration import read

HERE = Path(__file__).resolve().parent
ONE_WAY = (HERE / "one_way.xml").read_text()
IMPLICIT = ('<max-iterations value="5"/>'
            '<relative-convergence-measure data="Speed" mesh="Flow-Mesh" limit="1e-9"/>')
# What Tracer reads at the beginning and the end of three windows: if Flow computes first, and otherwise.
AFTER_FLOW, AS_BEFORE = "3 0.0 1.0 1.0 2.0 2.0 3.0", "3 0.0 0.0 1.0 1.0 2.0 2.0"


def configured(scheme, first="Flow"):
    second = "Tracer" if first == "Flow" else "Flow"
    text = ONE_WAY.replace("SCHEME", scheme).replace("FIRST", first).replace("SECOND", second)
    return text.replace("IMPLICIT", IMPLICIT if scheme.endswith("implicit") else "")


@pytest.mark.parametrize("scheme, first, reads", [
    ("serial-explicit", "Flow", AFTER_FLOW), ("serial-explicit", "Tracer", AS_BEFORE),
    ("parallel-explicit", "Flow", AS_BEFORE), ("serial-implicit", "Flow", AFTER_FLOW),
    ("parallel-implicit", "Flow", AFTER_FLOW),
])
def test_a_participant_that_reads_nothing_knows_the_windows(coupled, scheme, first, reads):
    commands = {name: f"{sys.executable} {HERE / 'one_way.py'} {name}" for name in ("Flow", "Tracer")}
    ran = coupled(configured(scheme, first), **commands)
    assert ran.status == 0, ran.text
    assert (ran.said("Flow"), ran.said("Tracer")) == ("3", reads)


def test_a_clock_has_a_name_that_no_data_have(tmp_path):
    file = tmp_path / "precice-config.xml"
    file.write_text(configured("serial-explicit").replace("Speed", "clock-Flow"))
    (clock,) = read(file).clocks()
    assert (clock.key, clock.sender, clock.receiver) == ("clock_Flow_", "Tracer", "Flow")
