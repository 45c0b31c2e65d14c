"""Exchanges as in simulations: a small message while large ones flow, one message after each step, many
messages over a flapping link, and a run that only begins and ends."""

import statistics

import programs
from bars import Cell
from lib.machine import CannotMeasure

SMALL, BULK = 64, 16 << 20
SMALLS, EVERY = 40, 50  # number of small messages beside large ones, and the pause between them in ms
# Number of exchanges, ms between them, ms of the round trip, and bytes in each direction.
STEPS, STEP, STEP_RTT, STEP_SIZE = 50, 600, 11, 64 << 10
FLAPS, FLAPS_SIZE = 500, 256 << 10  # messages in both directions
# s: in each period of 7 s the link is down for 2 s
FLAPPING, DOWN_EVERY, DOWN = Cell(40, 0, "cubic", 100), 7, 2


def beside(link, cell, program, streams, allowed):
    """Returns half of a round trip of 64 B in ms, while large messages flow from the same end; the median."""
    seconds = SMALLS * (EVERY + 200) / 1e3
    large = max(2, int(seconds * cell.rate * 1e6 / 8 / BULK) + 1)
    plans = [[(large, BULK, 0)], [(10, SMALL, 0), (SMALLS, SMALL, EVERY)]]
    if program == "run":
        (bulk, small), _ = programs.play_run(link, plans, allowed)
    else:
        bulk, small = programs.play_beside(link, program, [(plans[0], streams), (plans[1], 1)], allowed)
    begun, end = bulk.messages[0][0], bulk.messages[-1][2]
    during = [half for half, (sent, answered, _) in zip(small.halves(),
                                                        small.messages) if begun < sent and answered < end]
    if len(during) < SMALLS // 2:
        raise CannotMeasure(f"only {len(during)} small messages were under way beside large ones")
    return statistics.median(during)


def steps(link, program, streams):
    """Returns the % that an exchange after each step of 0.6 s, in both directions at once, adds to the time of
    the steps."""
    plan = [(5, STEP_SIZE, 0, "both"), (STEPS, STEP_SIZE, STEP, "both")]
    played = programs.play(link, program, plan, streams, 2 * STEPS * STEP / 1e3)
    costs = [(end - begun) / 1e6 for begun, end, _ in played.messages[5:]]
    return statistics.mean(costs) / STEP * 100


def flaps(program, streams, seed):
    """Returns the s for all messages in both directions, and the longest gap between two, over a link that goes
    down repeatedly."""
    with programs.link(FLAPPING, seed, "--cut-every", f"{DOWN_EVERY}:{DOWN}") as link:
        played = programs.play(link, program, [(FLAPS, FLAPS_SIZE, 0, "echo")], streams, 600)
    ends = [answered for _, answered, _ in played.messages]
    gaps = [later - sooner for sooner, later in zip(ends, ends[1:])]
    return (ends[-1] - played.messages[0][0]) / 1e9, max(gaps) / 1e9


def whole_run(link):
    """Returns the s from the command that starts a run with one instance at each end until the run is over at
    both ends."""
    return programs.play_run(link, [[(1, SMALL, 0)]], 60)[1]
