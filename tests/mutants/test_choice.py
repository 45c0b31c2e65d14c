"""The mutants that `tests/mutants/run --seeded` chooses."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOADER = SourceFileLoader("mutants", str(HERE / "run"))
RUN = module_from_spec(spec_from_loader("mutants", LOADER))
LOADER.exec_module(RUN)


def test_the_mutants_of_a_file_that_differs_are_taken_and_no_others():
    known = RUN.mutants()
    file = known[0].files[0]
    chosen, told = RUN.choose(known, {file, "README.md"}, 1)
    assert told and {mutant.name for mutant in chosen} == {m.name for m in known if file in m.files}


def test_a_mutant_that_is_new_is_taken():
    known = RUN.mutants()
    chosen, told = RUN.choose(known, {f"tests/mutants/{known[3].name}.patch"}, 1)
    assert told and [mutant.name for mutant in chosen] == [known[3].name]


def test_where_no_file_tells_a_tenth_is_taken_the_same_for_the_same_seed():
    known = RUN.mutants()
    takes = [RUN.choose(known, {"README.md"}, seed) for seed in range(40)]
    assert not any(told for _, told in takes)
    assert {len(chosen) for chosen, _ in takes} == {-(-len(known) // 10)}
    again = [mutant.name for mutant in RUN.choose(known, set(), 7)[0]]
    assert again == [mutant.name for mutant in takes[7][0]]
    assert {mutant.name for chosen, _ in takes for mutant in chosen} > {mutant.name for mutant in takes[0][0]}


def test_mutants_that_one_runner_notices_in_one_crate_follow_each_other():
    groups = [(m.caught_by[0], m.files[0].split("/src/")[0]) for m in RUN.choose(RUN.mutants(), set(), 3)[0]]
    assert all(groups.index(group) + groups.count(group) > i for i, group in enumerate(groups))
