"""What the library keeps beside a code's state: slots of resizable ports, the position on timelines, parts of
arrays, and clocks with their events and samples."""

import pytest
from conftest import implementations
from test_filters import resumes_everywhere
from test_resume import every

SLOTS = """
ymmsl_version: v0.2
models:
  slots:
    components:
      spread: {ports: {o_i: out, s: in}, implementation: spread}
      RECEIVER: {ports: {PORTS: in, SENDS: out}, implementation: RECEIVER}
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

ARRAYS = """
ymmsl_version: v0.2
models:
  arrays:
    components:
      ocean: {ports: {o_i: flux}, implementation: ocean}
      ice: {ports: {s: flux}, implementation: ice}
    conduits:
      ocean.flux: ice.flux
settings: {steps: 14}
"""

CLOCKS = """
ymmsl_version: v0.2
models:
  clocks:
    components:
      conductor: {ports: {o_i: start}, implementation: conductor}
      pulse: {ports: {f_init: start, o_i: [spikes, level]}, implementation: pulse}
      hear: {ports: {f_init: start, s: [spikes, level]}, implementation: hear}
    conduits:
      conductor.start: [pulse.start, hear.start]
      pulse.spikes: hear.spikes
      pulse.level: hear.level
settings: {ticks: 14}
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


def test_parts_of_an_array_that_change_their_owners_stay(start):
    own = "ranks: {ocean: 2, ice: 2}, exchange: {ocean.flux -> ice.flux: {array: [4, 6]}}"
    model = ARRAYS + implementations("ocean", "ice") + rules(3.0, own)
    assert resumes_everywhere(start, model, ("ocean:0", "ocean:1", "ice:0", "ice:1")) >= 3


@pytest.mark.parametrize("routing", ["shared", "pairwise"])
def test_events_and_samples_go_on_by_the_clock(start, routing):
    exchanges = ", ".join(f"conductor.start -> {name}.start: {{messages: all}}" for name in ("pulse", "hear"))
    exchanges += f", pulse.spikes -> hear.spikes: {{events: 10, latency: 3 ms, routing: {routing}}}"
    exchanges += ", pulse.level -> hear.level: {signal: [2], delay: 2 ms}"
    own = f"ranks: {{pulse: 2, hear: 2}}, ticks: {{pulse: 1 ms, hear: 1 ms}}, exchange: {{{exchanges}}}"
    model = CLOCKS + implementations("conductor", "pulse", "hear") + rules(0.005, own)
    assert resumes_everywhere(start, model, ("pulse:0", "pulse:1", "hear:0", "hear:1")) >= 3


def rules(time, own):
    return every(time).replace("ligament: {", f"ligament: {{{own}, ")
