"""Makes the modules in Fortran and their parts in C++ of calls.txt: `generate.py FOLDER`."""

import sys
from pathlib import Path

import cpp
import fortran
import table


def main(folder):
    """Writes ymmsl.f90, libmuscle.f90, libmuscle_mpi.f90, ymmsl.cpp and libmuscle.cpp."""
    folder.mkdir(parents=True, exist_ok=True)
    for module in table.modules():
        (folder / f"{module.name}.cpp").write_text(cpp.text(module))
        (folder / f"{module.name}.f90").write_text(fortran.Writer(module, "serial").text())
        if module.flags:
            (folder / f"{module.name}_mpi.f90").write_text(fortran.Writer(module, "mpi").text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
