"""The page of a run, in a real browser, on real runs."""

import json
import re
import time

from pages import Asker

TABLE = """(() => ({
  texts: [...document.querySelectorAll("[data-instance], [data-conduit]")].map((row) => [...row.children].map((cell) => cell.innerText)),
  conduits: Object.fromEntries([...document.querySelectorAll("[data-conduit]")].map((row) => [row.dataset.conduit, {
    messages: Number(row.querySelector("[data-messages]").dataset.messages),
    bytes: Number(row.querySelector("[data-bytes]").dataset.bytes),
    under_way: Number(row.querySelector("[data-under-way]").dataset.underWay),
  }])),
  instances: Object.fromEntries([...document.querySelectorAll("[data-instance]")].map((row) => [row.dataset.instance, {
    state: row.children[1].innerText,
    sent: Number(row.querySelector("[data-sent]").dataset.sent),
    received: Number(row.querySelector("[data-received]").dataset.received),
  }])),
  rows: [...document.querySelectorAll("[data-row]")].map((row) => [row.dataset.row, row.dataset.seconds.split(" ").map(Number)]),
}))()"""


def in_count(count):
    return f"{count:,}".replace(",", "\u202f")


def in_bytes(count):
    unit = 0
    while count >= 1024 and unit < 4:
        count, unit = count / 1024, unit + 1
    return f"{count:.{0 if unit == 0 or count >= 100 else 1}f} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}"


def in_time(time):
    return "–" if time is None else f"{time:.12g}"


def check_texts(shown, record):
    """Returns true if each cell of the tables of a finished run agrees with its record."""
    instances = [[one["name"], one["state"], "", "", in_time(one["model_time"]),
                  f"{in_count(one['sent_messages'])}, {in_bytes(one['sent_bytes'])}",
                  f"{in_count(one['received_messages'])}, {in_bytes(one['received_bytes'])}", "", "",
                  f"process {one['pid']}"]
                 for one in record["instances"]]
    conduits = [[one["from"], one["to"], in_count(one["messages"]), "–", in_bytes(one["bytes"]), "–",
                 in_count(one["under_way"]), in_time(one["model_time"])] for one in record["conduits"]]
    assert sorted(shown["texts"]) == sorted(instances + conduits)


def check_numbers(shown, record):
    """Returns true if the tables of the page agree with the record of the run."""
    assert shown["conduits"] == {
        f"{one['from']} {one['to']}": {"messages": one["messages"], "bytes": one["bytes"],
                                       "under_way": one["under_way"]}
        for one in record["conduits"]}
    assert shown["instances"] == {
        one["name"]: {"state": one["state"], "sent": one["sent_messages"], "received": one["received_messages"]}
        for one in record["instances"]}


def comes_to_numbers(browser, record):
    """Waits until the tables agree with the record: the page may show the end of the run before its last
    data."""
    until = time.monotonic() + 60
    while True:
        try:
            return check_numbers(browser.does("tell", what=TABLE), record)
        except AssertionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def pictures_of(browser, pictures, name):
    for scheme in ("light", "dark"):
        browser.does("scheme", scheme=scheme)
        for place in ("header", "#model", "#tables", "#timeline", "#values", "#progress", "#logs"):
            panel = place.strip("#")
            path = pictures / f"{name}-{panel}-{scheme}.png"
            browser.does("picture", place=place, path=str(path))
            assert path.read_bytes().startswith(b"\x89PNG")
    browser.does("scheme", scheme="light")


def test_a_run_that_goes_on_is_shown_as_it_goes_and_then_as_it_ended(place, browser, pictures):
    place.starts()
    view = place.view()
    browser.does("open", link=view["link"])
    browser.says("running", "h1")
    browser.until("document.querySelectorAll('[data-conduit]').length === 2")
    # Rates, and progress towards the end that the settings name.
    browser.until("/\\d\\/s .*B\\/s/.test(document.querySelector('.link text')?.textContent)")
    browser.says("of 1000", "#progress")
    first = browser.does("tell", what=TABLE)["conduits"]["source.out worker.in"]
    browser.until(
        f"Number(document.querySelector('[data-conduit] [data-messages]').dataset.messages) > "
        f"{first['messages'] + 5}")
    # The worker's lines are text and nothing else.
    browser.says("<b>the worker</b> warns", "#logs")
    pictures_of(browser, pictures, "running")
    assert "#look=" not in browser.does("tell", what="location.href")
    # While the run is stuck, this comes first: which instance waits for which, since when, and why.
    place.tells("hold")
    browser.says("worker waits for source, which computes, at model time", ".headline")
    assert re.search(r"Since \d", browser.does("tell", what="document.querySelector('.headline').innerText"))
    browser.until(
        "document.querySelector('.link.waited')?.getAttribute('aria-label').includes('worker waiting for')")
    pictures_of(browser, pictures, "slow")
    record = place.is_over()
    browser.says("done", "h1")
    browser.until(
        "[...document.querySelectorAll('[data-instance]')].every((row) => row.children[1].innerText === "
        "'done')")
    comes_to_numbers(browser, record)
    sent = record["instances"][0]["sent_messages"]
    assert [one["messages"] for one in record["conduits"]] == [sent, sent]
    assert [one["received_messages"] for one in record["conduits"]] == [sent, sent]
    # Each message has an array of 1000 numbers, and a short text about it.
    assert 0 <= record["conduits"][0]["bytes"] - 8000 * sent < 200 * sent
    assert browser.does("said") == []


def test_a_run_that_is_over_is_shown_from_its_directory(place, browser, pictures):
    place.starts()
    place.is_over()
    record = place.record()
    browser.does("open", link=place.view()["link"])
    browser.says("done", "h1")
    browser.until("document.querySelectorAll('[data-row]').length === 2")
    comes_to_numbers(browser, record)
    check_texts(browser.does("tell", what=TABLE), record)
    log = [line for line in (place.path / "run/manager.log").read_text().splitlines() if line]
    browser.until(f"document.querySelectorAll('#logs .log div').length === {len(log)}")
    assert browser.does(
        "tell", what="[...document.querySelectorAll('#logs .log div')].map((one) => one.textContent)") == log
    times = browser.does(
        "tell", what="[...document.querySelectorAll('[data-component]')].map((one) => one.innerText)")
    for one, said in zip(record["instances"], times, strict=True):
        assert said.split() == [one["name"], in_time(one["model_time"]), "done"]
    profile = json.loads(place.call("profile", "run", "--json", "-o", "picture.svg"))
    known = {one["name"]: one for one in profile["instances"]}
    for name, seconds in browser.does("tell", what=TABLE)["rows"]:
        assert abs(sum(seconds) - known[name]["total"]) < 0.01 * known[name]["total"] + 1e-3, (name, seconds,
                                                                                               known[name])
    # The trace for Perfetto equals that of the command.
    place.call("timeline", "run", "-o", "trace.json")
    saved = browser.does("download", place="#timeline button")
    assert saved["name"] == "run.trace.json" and saved["text"] == (place.path / "trace.json").read_text()
    # All plots over wall time share one cursor.
    browser.does("tell", what="document.querySelector('#timeline .chart').focus()")
    browser.does("press", key="ArrowRight")
    browser.until("document.querySelector('#timeline .cursor')")
    browser.says("after the begin", "#timeline [role=status]")
    pictures_of(browser, pictures, "over")
    # By keyboard: the model, one component, and its instances alone.
    browser.until("document.querySelector('.node')")
    browser.does("tell", what="document.querySelector('.node').focus()")
    browser.does("press", key="Enter")
    browser.until("document.querySelectorAll('[data-instance]').length === 1")
    # Its output is text and nothing else.
    browser.does(
        "tell",
        what="[...document.querySelectorAll('.node')].at(-1).dispatchEvent(new MouseEvent('click', {bubbles: "
             "true}))")
    browser.until("document.querySelector('[data-instance=worker]')")
    browser.says("<script>document.title = 'broken into'</script>", "#logs")
    assert "broken" not in browser.does("tell", what="document.title")
    browser.does("fill", place="nav input", text="nobody")
    browser.until("document.querySelectorAll('[data-instance]').length === 0")
    assert browser.does("said") == []


def test_the_first_screen_of_a_deadlock_says_who_waited_for_whom(place, browser, pictures):
    place.call("run", "knot.ymmsl", "--run-dir=run", status=1)
    record = place.record()
    assert {one["instance"] for one in record["deadlock"]} == {"left", "right"}
    browser.does("open", link=place.view()["link"])
    browser.says("failed", "h1")
    browser.says("left waited for right.out at its left.in.", ".headline")
    browser.says("right waited for left.out at its right.in.", ".headline")
    browser.says(record["reason"], ".headline")
    browser.until(
        "document.querySelectorAll('.node.knot').length === 2 && "
        "document.querySelectorAll('.link.knot').length === 2")
    assert browser.does(
        "tell", what="document.querySelector('.headline').getBoundingClientRect().bottom < innerHeight / 2")
    pictures_of(browser, pictures, "deadlock")
    assert browser.does("said") == []


def test_a_page_whose_server_goes_and_comes_again_says_so_and_goes_on(place, browser):
    place.starts()
    view = place.view()
    port = Asker(view).port
    browser.does("open", link=view["link"])
    browser.says("running", "h1")
    place.close()
    browser.says("The page's server does not answer", ".headline")
    again = place.view("--port", port)
    browser.says("open the page by its link", ".headline")
    # The page makes no more requests, because only another link helps: one that is pasted into the open page.
    asked = "performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/news')).length"
    before = browser.does("tell", what=asked)
    browser.does("tell", what="new Promise((done) => setTimeout(done, 2500))")
    assert browser.does("tell", what=asked) <= before + 1
    browser.does("tell", what=f"void (location.hash = '#' + {json.dumps(again['link'].split('#')[1])})")
    browser.says("running", "h1")
    browser.until("!document.querySelector('.headline').innerText.includes('open the page by its link')")
    browser.does("open", link=again["at"])
    browser.says("running", "h1")
    # The link itself works only once.
    status, _, text = Asker(again).ask("POST", "/api/session", Asker(again).own,
                                       {"secret": Asker(again).secret})
    assert status == 401 and "used already" in text
    [cookie] = [one for one in browser.does("cookies") if one["name"].startswith("ligament-")][-1:]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
