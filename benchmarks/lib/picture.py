"""A line chart on two logarithmic axes as SVG. It is written without a plotting library, so that benchmarks
need none."""

import math
from xml.sax.saxutils import escape

COLOURS = """#1d3557 #0b6e4f #2a9d8f #8ac926 #457b9d #b5179e #d1495b #f4a261 #8d6e63 #5c677d #a8a8a8 #e9c46a
#6a4c93 #222222""".split()
WIDTH, HEIGHT, LEFT_PX, TOP, LEGEND = 520, 420, 70, 50, 190


def _ticks(low, high):
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def _panel(x0, title, series, x_names, y_label, low, high, colours):
    """Draws one chart. The series are {name: [(index on the x axis, value)]}."""
    plot_w, plot_h = WIDTH - LEFT_PX - 20, HEIGHT - TOP - 60

    def x(i):
        return x0 + LEFT_PX + plot_w * i / max(len(x_names) - 1, 1)

    def y(value):
        return TOP + plot_h * (1 - math.log(value / low) / math.log(high / low))

    out = [f'<text x="{x0 + LEFT_PX}" y="{TOP - 16}" font-size="15" font-weight="bold">{escape(title)}</text>']
    for tick in _ticks(low, high):
        out.append(f'<path d="M{x(0):.1f} {y(tick):.1f}H{x(len(x_names) - 1):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{x(0) - 6:.1f}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for i, name in enumerate(x_names):
        if i % 2 == 0 or len(x_names) < 10:
            out.append(
                f'<text transform="translate({x(i):.1f} {TOP + plot_h + 14}) rotate(35)">{escape(name)}</text>')
    out.append(
        f'<text transform="translate({x0 + 16} {TOP + plot_h / 2}) rotate(-90)">{escape(y_label)}</text>')
    for name, points in series.items():
        line = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        out += [f'<circle cx="{x(i):.1f}" cy="{y(v):.1f}" r="2.5" fill="{colours[name]}"/>' for i, v in points]
    return out


def draw(path, panels, x_names, y_label):
    """Writes `panels`, {title: {series name: [(index, value)]}}, side by side with one scale and one legend."""
    values = [v for series in panels.values() for points in series.values() for _, v in points]
    if not values:
        return
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], max(ticks[-1], ticks[0] * 10)
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    width = WIDTH * len(panels) + LEGEND
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, (title, series) in enumerate(panels.items()):
        out += _panel(i * WIDTH, title, series, x_names, y_label, low, high, colours)
    for i, name in enumerate(names):
        at = TOP + 20 * i
        out.append(f'<path d="M{width - LEGEND} {at}h22" stroke="{colours[name]}" stroke-width="3"/>')
        out.append(f'<text x="{width - LEGEND + 28}" y="{at + 4}">{escape(name)}</text>')
    path.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")
