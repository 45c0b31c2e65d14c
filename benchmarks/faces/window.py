"""Windows of two codes that push each other, with Aitken's relaxation and a fixed number of iterations.
`window.py numpy` computes them in one process, and `window.py left|right` is a code of a run. All but the last
print the median time of a window, ns."""

import statistics
import sys
from time import perf_counter_ns

import numpy
from windows import ITERATIONS, RELAXATION, VALUES, WINDOWS


def left(values):
    return numpy.cos(values)


def right(values):
    return 1.0 - 0.6 * numpy.sin(values)


def change(new, old):
    """The relative change, as the limits of implicit coupling measure it."""
    return numpy.linalg.norm(new - old) / numpy.linalg.norm(new)


def alone():
    ours, theirs, stamps = numpy.zeros(VALUES), numpy.zeros(VALUES), []
    for _ in range(WINDOWS):
        share, before = RELAXATION, None
        for _ in range(ITERATIONS):
            last, ours = ours, left(theirs)
            residual = right(ours) - theirs
            change(ours, last)
            change(residual + theirs, theirs)
            if before is not None:
                step = residual - before
                square = numpy.dot(step, step)
                share *= -numpy.dot(before, step) / square if square else 1.0
            theirs = theirs + share * residual
            before = residual
        stamps.append(perf_counter_ns())
    return stamps


def code(compute):
    from ligament import Instance, Message, Operator

    instance, stamps = Instance({Operator.O_I: ["values"], Operator.S: ["others"]}), []
    while instance.reuse_instance():
        instance.send("values", Message(0.0, None, numpy.zeros(VALUES)))
        came = instance.receive("others")
        time = came.timestamp
        while came.next_timestamp is not None:
            if came.timestamp > time:
                time = came.timestamp
                stamps.append(perf_counter_ns())
            instance.send("values", Message(came.next_timestamp, None, compute(came.data)))
            came = instance.receive("others")
    return stamps


if __name__ == "__main__":
    which = sys.argv[1]
    stamps = alone() if which == "numpy" else code({"left": left, "right": right}[which])
    if which != "right":
        took = [after - before for before, after in zip(stamps, stamps[1:])]
        print(statistics.median(took[len(took) // 4:]))
