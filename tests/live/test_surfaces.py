"""The panel of surfaces: the triangles that the page makes are those of the crate `surface`, and are seen."""

import base64
import subprocess
from pathlib import Path

import numpy as np
import pytest
import rust_examples
from test_pictures import picture

ROOT = Path(__file__).resolve().parent.parent.parent
# The mesh that the page shows, as coordinates of the corners of triangles.
CORNERS = """(() => {
  const { positions, triangles } = document.querySelector(".surface canvas").meshes[0];
  return [...triangles].flatMap((i) => [...positions.subarray(3 * i, 3 * i + 3)]);
})()"""
# The number of pixels of a drawn surface, and a checksum that any change of the drawing changes.
PIXELS = """(() => {
  const canvas = document.querySelector(".surface canvas"), gl = canvas.getContext("webgl2");
  const pixels = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  let [many, sum] = [0, 0];
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue, alpha] = pixels.subarray(at, at + 4);
    if (alpha === 255 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40) many += 1;
    sum = (31 * sum + red + 3 * green + 7 * blue) % 1000000007;
  }
  return [many, sum];
})()"""

FOCUS = "document.querySelector('.surface canvas').focus()"


@pytest.fixture(scope="session")
def fields(tmp_path_factory):
    """Surfaces of known fields: for each name, the bytes of its blocks, and its triangles."""
    program = rust_examples.example("pictures", "ligament-surface")
    place = tmp_path_factory.mktemp("surfaces")
    subprocess.run([program, place], check=True, timeout=60)
    found = {}
    for path in place.glob("*.triangles"):
        blocks = [one.read_bytes() for one in sorted(place.glob(f"{path.stem}-*.block"))]
        found[path.stem] = blocks, np.fromfile(path).reshape(-1, 3, 3)
    return found


def level_of(blocks):
    """The level in the header of a block."""
    return float(np.frombuffer(blocks[0][32:40])[0])


def answer(number, blocks, level=None, **more):
    """A picture that the server tells."""
    told = {"timestamp": number / 4, "at": 1_700_000_000_000, "unit": "Pa", "cost_ns": 2_500_000,
            "block_bytes": [len(one) for one in blocks], **more}
    return {"level": level_of(blocks) if level is None else level,
            "head": {"frame": number, "over": False, "picture": told},
            "blocks": [base64.b64encode(one).decode() for one in blocks]}


def opens(browser, shape=(40, 41, 42), periodic=(), **words):
    """The page of a run with one grid, which publishes the field `u`."""
    told = picture(1, 1.0, 1.0, sends=["ghosts_out", "log", "u"], publishes=["u"])
    told["run"]["grids"] = [{"component": "front", "shape": shape, "periodic": periodic, "blocks": [1, 1, 1],
                             "names": ["front"]}]
    browser.does("script", **words)
    browser.does("news", news=[told])
    browser.until("document.querySelector('#surfaces') !== null")


def shows(browser, number, surface, is_drawn=True):
    """Has the page show a picture, and waits until it does."""
    blocks, triangles = surface
    browser.does("fill", place="#surfaces input[inputmode]", text=repr(level_of(blocks)))
    browser.does("surface", surface=answer(number, blocks))
    browser.until(f"document.querySelector('#surfaces').dataset.frame === '{number / 4:g}'")
    if is_drawn:
        mesh = "document.querySelector('.surface canvas').meshes?.[0]"
        browser.until(f"{mesh}?.triangles.length === {3 * len(triangles)}")


def complaints(browser):
    """The console's warnings, but for one of graphics without a processor of its own."""
    return [one for one in browser.does("said") if "GPU stall due to ReadPixels" not in one]


def in_order(triangles):
    """Triangles in an order of their own; each begins with its lowest corner, and keeps its direction."""
    first = np.lexsort(triangles.transpose(2, 0, 1)[::-1], axis=1)[:, 0]
    turned = np.stack([np.roll(one, -at, axis=0) for one, at in zip(triangles, first, strict=True)])
    flat = turned.reshape(-1, 9)
    return flat[np.lexsort(flat.T[::-1])]


def test_triangles_of_the_page_are_those_of_the_crate(browser, fields):
    opens(browser)
    assert set(fields) == {"sphere", "gyroid", "noise", "blocks", "gaps", "rows", "empty"}
    for number, (name, (blocks, triangles)) in enumerate(fields.items(), 1):
        shows(browser, number, (blocks, triangles))
        found = np.array(browser.does("tell", what=CORNERS)).reshape(-1, 3, 3)
        assert len(found) == len(triangles) and (name == "empty") == (len(found) == 0), name
        if len(found):
            assert np.array_equal(in_order(found), in_order(triangles)), name
    assert complaints(browser) == []


def test_a_surface_is_seen_and_another_level_shows_another_one(browser, fields, pictures):
    gyroid, sphere = fields["blocks"], fields["sphere"]
    opens(browser)
    # The first level is asked for to learn the range; then the middle of the range is asked for.
    browser.does("surface", surface=answer(1, sphere[0], level=0))
    browser.until("Number(document.querySelector('#surfaces input[inputmode]').value) !== 0")
    shows(browser, 2, gyroid)
    many, sum_before = browser.does("tell", what=PIXELS)
    assert many > 1000
    shows(browser, 3, sphere)
    triangles = f"{len(sphere[1]):,}".replace(",", "\u202f")
    browser.says(f"front.u = -11.3 Pa at model time 0.75: {triangles} triangles", "#surfaces [data-words]")
    many, sum_after = browser.does("tell", what=PIXELS)
    assert many > 1000 and sum_after != sum_before
    assert browser.does("asked") == "front.u = -11.3"
    label = browser.does("tell", what="document.querySelector('.surface canvas').ariaLabel")
    assert "front.u = -11.3 Pa" in label and "Arrow keys" in label
    shows(browser, 4, fields["empty"])
    browser.says("empty: the level 2 is outside of the data, which goes from", "#surfaces [role=status]")
    shows(browser, 5, fields["gaps"])
    browser.says("112 points are NaN", "#surfaces [role=status]")
    assert complaints(browser) == []


def test_several_levels_are_shown_together_each_in_its_own_colour(browser, fields, pictures):
    (one, first), (other, second) = fields["gyroid"], fields["sphere"]
    opens(browser)
    shows(browser, 1, fields["gyroid"])
    sum_before = browser.does("tell", what=PIXELS)[1]
    browser.does("fill", place="#surfaces input[inputmode]", text=" 0.1  -11.3,")
    browser.does("surface", surface=answer(2, [*one, *other], level="0.1,-11.3"))
    browser.says("front.u = 0.1, -11.3 Pa at model time 0.5", "#surfaces [data-words]")
    canvas = "document.querySelector('.surface canvas')"
    shown = f"String({canvas}.meshes.map((mesh) => mesh.triangles.length))"
    browser.until(f"{shown} === '{3 * len(first)},{3 * len(second)}'")
    # The second surface has a colour of its own, which the legend shows.
    browser.until(f"{PIXELS}[1] !== {sum_before}")
    colours = "[...document.querySelectorAll('#surfaces .legend i')].map((one) => one.style.background)"
    assert browser.does("tell", what=colours) == ["var(--computing)", "var(--waiting)", "var(--send)"]
    browser.does("picture", place="#surfaces", path=str(pictures / "surfaces-of-two-levels.png"))
    # The slider is for one level.
    slider = "document.querySelector('#surfaces input[type=range]').disabled"
    assert browser.does("tell", what=slider)
    browser.does("fill", place="#surfaces input[inputmode]", text="1 x")
    browser.says("no number", "#surfaces")
    # A picture without all of its blocks is damaged.
    browser.does("fill", place="#surfaces input[inputmode]", text="1 2")
    browser.does("surface", surface=answer(3, one, level="1,2"))
    browser.says("a picture has come in part", "#surfaces [role=status]")
    assert complaints(browser) == []


def test_mouse_keys_and_buttons_turn_and_zoom_the_picture_and_0_shows_all(browser, fields):
    opens(browser)
    shows(browser, 1, fields["gyroid"])
    browser.until(f"{PIXELS}[0] > 1000")
    first = browser.does("tell", what=PIXELS)[1]

    def changes(deed, **words):
        before = browser.does("tell", what=PIXELS)[1]
        browser.does(deed, **words)
        browser.until(f"{PIXELS}[1] !== {before}")

    changes("drag", place=".surface canvas", by=[80, 30])
    browser.does("tell", what=FOCUS)
    for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowRight", "+"):
        changes("press", key=key)
    changes("click", place="#surfaces [aria-label=Nearer]")
    browser.does("tell", what=FOCUS)
    browser.does("press", key="0")
    browser.until(f"{PIXELS}[1] === {first}")
    assert complaints(browser) == []


def test_a_drawing_whose_memory_was_taken_away_comes_back(browser, fields):
    opens(browser)
    shows(browser, 1, fields["sphere"])
    browser.until(f"{PIXELS}[0] > 1000")
    before = browser.does("tell", what=PIXELS)
    context = "document.querySelector('.surface canvas').getContext('webgl2')"
    browser.does("tell",
                 what=f"void (window.taken = {context}.getExtension('WEBGL_lose_context')).loseContext()")
    browser.says("taken the drawing's memory away", "#surfaces")
    # A picture that comes meanwhile is drawn afterwards.
    shows(browser, 2, fields["gyroid"], is_drawn=False)
    browser.does("tell", what="window.taken.restoreContext()")
    browser.until("!document.querySelector('#surfaces').innerText.includes('taken the drawing')")
    browser.until(f"{PIXELS}[0] > 1000")
    assert browser.does("tell", what=PIXELS) != before


def test_a_browser_without_webgl_2_says_so_and_has_the_numbers(browser, fields):
    opens(browser, before="HTMLCanvasElement.prototype.getContext = () => null;")
    browser.says("This browser has no WebGL 2", "#surfaces [role=status]")
    shows(browser, 1, fields["sphere"], is_drawn=False)
    browser.says("triangles", "#surfaces [data-words]")


def test_a_run_without_a_grid_has_no_panel_of_surfaces(browser):
    browser.does("script")
    browser.does("news", news=[picture(1, 1.0, 1.0, sends=["u"])])
    browser.until("document.querySelector('#values') !== null")
    found = browser.does("tell", what="document.querySelectorAll('#surfaces, [href=\"#surfaces\"]').length")
    assert found == 0


def test_a_picture_can_be_held_and_pictures_go_on_after_a_fault(browser, fields):
    opens(browser)
    blocks = fields["sphere"][0]
    shows(browser, 1, fields["sphere"])
    browser.does("click", place="#surfaces button[aria-pressed]")
    browser.does("surface", surface=answer(2, blocks))
    browser.says("Go on", "#surfaces button[aria-pressed]")
    assert browser.does("tell", what="document.querySelector('#surfaces').dataset.frame") == "0.25"
    browser.does("click", place="#surfaces button[aria-pressed]")
    browser.until("document.querySelector('#surfaces').dataset.frame === '0.5'")
    # A connection that breaks is made anew.
    browser.does("surface", surface={"level": level_of(blocks), "fails": True})
    browser.says("The page's server does not answer", "#surfaces [role=status]")
    damaged = bytearray(blocks[0])
    damaged[72] ^= 3
    told = answer(3, [bytes(damaged)])
    browser.does("surface", surface=told)
    browser.says("the bytes of a surface are damaged", "#surfaces [role=status]")
    browser.does("surface", surface=answer(4, blocks))
    browser.until("document.querySelector('#surfaces').dataset.frame === '1'")
    browser.does("surface", surface={**told, "blocks": [], "head": {
        "frame": 5, "over": True, "why": "the run is over"}})
    browser.says("the run is over", "#surfaces [role=status]")
    assert [one for one in complaints(browser) if "net::ERR_FAILED" not in one] == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
def test_the_panel_fits_a_phone_and_a_desk_in_both_modes(browser, fields, pictures, width, height):
    browser.does("size", width=width, height=height)
    opens(browser)
    shows(browser, 1, fields["blocks"])
    for scheme in ("light", "dark"):
        browser.does("scheme", scheme=scheme)
        browser.until(f"{PIXELS}[0] > 1000")
        browser.does("picture", place="#surfaces", path=str(pictures / f"surface-{scheme}-{width}.png"))
        assert browser.does("tell", what="document.documentElement.scrollWidth") <= width
    assert complaints(browser) == []
