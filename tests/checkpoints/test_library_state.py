"""What the library keeps beside a code's state: slots of resizable ports, and the position on timelines."""

import pytest
from conftest import implementations
from test_filters import resumes_everywhere
from test_resume import every

SLOTS = """
ymmsl_version: v0.2
models:
  slots:
    components:
      spread: {ports: {o_i: "out[]", s: in}, implementation: spread}
      RECEIVER: {ports: {PORTS: "in[]", SENDS: out}, implementation: RECEIVER}
    conduits:
      spread.out: RECEIVER.in
      RECEIVER.out: spread.in
settings: {steps: 17}
"""

TIMELINES = """
ymmsl_version: v0.2
models:
  timelines:
    components:
      outer: {ports: {o_i: [call, forcing, boundary], s: profile}, implementation: outer}
      inner: {ports: {f_init: begin, o_i: [call, profile], s: [forcing, answer]}, implementation: inner}
      innermost: {ports: {f_init: [begin, boundary], o_f: answer}, implementation: innermost}
    conduits:
      outer.call: inner.begin
      outer.forcing: repeat inner.forcing
      outer.boundary: pad innermost.boundary
      inner.call: innermost.begin
      innermost.answer: inner.answer
      inner.profile: last outer.profile
settings: {outer.steps: 6}
"""


def slots(receiver, operators):
    model = SLOTS.replace("RECEIVER", receiver).replace("PORTS", operators[0]).replace("SENDS", operators[1])
    return model + implementations("spread", receiver)


@pytest.mark.parametrize("receiver, operators", [("collect", ("s", "o_i")), ("gathered", ("f_init", "o_f"))])
def test_slots_that_the_sender_sets_stay_and_no_message_is_lost_or_doubled(start, receiver, operators):
    model = slots(receiver, operators) + every(3.3)
    assert resumes_everywhere(start, model, ("spread", receiver)) >= 4


def test_what_is_repeated_or_held_back_on_a_timeline_stays(start):
    model = TIMELINES + implementations("outer", "inner", "innermost") + every(1.25)
    assert resumes_everywhere(start, model, ("outer", "inner", "innermost")) >= 3
