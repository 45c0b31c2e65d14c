"""Runs a model of walkers under MUSCLE 3: `muscle.py MODEL FOLDER`."""

import os
import sys

import ymmsl
from libmuscle import Instance, Message
from libmuscle.runner import run_simulation
from walker import walk
from ymmsl.v0_2 import Configuration


def main():
    model, folder = sys.argv[1:]

    def walker():
        instance = Instance()
        walk(instance, Message, os.path.join(folder, f"{instance._instance_id}.txt"))

    run_simulation(ymmsl.load_as(Configuration, open(model).read()), {"walker": walker})


if __name__ == "__main__":
    main()
