"""A study on the page: its progress, its answers as they come, the evaluations that failed."""

import json
import sys

MODEL = """ymmsl_version: v0.2
models:
  ensemble:
    components:
      study: {ports: {o_i: settings, s: results}, implementation: study}
      member: {ports: {o_f: size}, implementation: member, multiplicity: 2}
    conduits:
      study.settings: member.muscle_settings_in
      member.size: study.results
programs:
  study: {executable: LIGAMENT, args: [study]}
  member: {executable: PYTHON, args: PLACE/member.py}
settings:
  study.sampler: grid
  study.parameters: rate = 0.0 .. 1.0
  study.grid: [12]
  study.leave_out: true
"""
# From the eighth evaluation on, the code waits until it is told `go`.
MEMBER = """
import pathlib
import time
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_F: ["size"]})
while instance.reuse_instance():
    rate, evaluation = instance.get_setting("rate", "float"), instance.get_setting("evaluation", "int")
    while evaluation >= 8 and not pathlib.Path("PLACE/go").exists():
        time.sleep(0.01)
    answer = {"error": "<b>too</b> fast"} if evaluation == 3 else 2.0 * rate
    instance.send("size", Message(0.0, data=answer))
"""
TABLE = """[...document.querySelectorAll("[data-answer]")].map((row) =>
  [...row.children].map((cell) => cell.innerText))"""


def test_a_study_is_shown_as_it_goes_and_as_it_ended(place, browser, pictures):
    for name, text in (("model.ymmsl", MODEL), ("member.py", MEMBER)):
        (place.path / name).write_text(
            text.replace("PLACE", str(place.path)).replace("LIGAMENT", str(place.ligament))
            .replace("PYTHON", sys.executable))
    place.starts("model")
    browser.does("open", link=place.view()["link"])
    browser.says("8 of 12", "#studies")
    browser.says("1 failed, 2 of 2 instances", "#studies")
    browser.says("Evaluation 3 (rate = 0.2727272727272727) failed", "#studies")
    browser.says("<b>too</b> fast", "#studies")
    assert browser.does("tell", what="document.querySelectorAll('#studies circle').length") == 7
    browser.does("picture", place="#studies", path=str(pictures / "study.png"))
    record = place.is_over()
    assert record["state"] == "done"
    browser.says("12 of 12", "#studies")
    shown = browser.does("tell", what=TABLE)
    lines = (place.path / "run/instances/study/workdir/answers.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    assert len(answers) == 11
    assert [row[0] for row in shown] == [str(one["evaluation"]) for one in reversed(answers[-10:])]
    for row, one in zip(shown, reversed(answers[-10:])):
        assert row[1] == one["point"][0]
        assert float(row[2]) == float(f"{2 * float(row[1]):.6g}") == float(f"{one['values'][0]:.6g}")
    assert browser.does("said") == []
    # The file that the page offers has the same figures.
    state = json.loads((place.path / "run/instances/study/workdir/study-progress.json").read_text())
    assert (state["answered"], state["failed"], state["evaluations"]) == (12, 1, 12)


def test_a_run_without_a_study_has_no_such_panel(place, browser):
    place.starts()
    place.is_over()
    browser.does("open", link=place.view()["link"])
    browser.says("done", "h1")
    browser.until("document.querySelector('#logs')")
    assert browser.does("tell", what="document.querySelector('#studies')") is None
