"""Runs the simulation NAME: the modules that stand here, on a block of the grid."""

from ligament import grid

grid.run(["NAME_module.so"])
