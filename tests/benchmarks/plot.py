"""Curves as an SVG picture with logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import TypeAlias

from attrs import frozen

Curves: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]

_WIDTH, _HEIGHT, _MARGIN, _GAP = 360, 260, 60, 80
_LINE = 16
_COLORS = {
    "ceiling": "#888888",
    "unchanged": "#0072b2",
    "changed each time": "#d55e00",
    "recipients check": "#0072b2",
    "with both outputs": "#56b4e9",
    "pydantic": "#d55e00",
    "pandera": "#009e73",
    "jsonschema-rs": "#888888",
    "list from the cache": "#888888",
    "list": "#0072b2",
    "one field": "#56b4e9",
    "change": "#d55e00",
    "creation": "#009e73",
}
_STYLE = "font: 12px sans-serif; background: white"


@frozen
class Panel:
    """Curves over one quantity."""

    quantity: str
    curves: Curves


def plot(measure: str, panels: Sequence[Panel]) -> str:
    """Draw the panels side by side with the same vertical scale."""
    heights = [y for panel in panels for curve in panel.curves.values() for _, y in curve]
    low, high = floor(log10(min(heights))), ceil(log10(max(heights)))
    width = _MARGIN + len(panels) * (_WIDTH + _GAP)
    size = f"{width} {_HEIGHT + 2 * _MARGIN}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" style="{_STYLE}">',
        f'<text x="{_MARGIN}" y="30">{measure}</text>',
    ]
    for number, panel in enumerate(panels):
        lines.append(f'<g transform="translate({_MARGIN + number * (_WIDTH + _GAP)} {_MARGIN})">')
        lines += [*_panel(panel, low, high), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel, low: int, high: int) -> Iterator[str]:
    furthest = max(x for curve in panel.curves.values() for x, _ in curve)

    def across(x: float) -> float:
        return round(_WIDTH * log10(x) / log10(furthest), 1)

    def down(y: float) -> float:
        return round(_HEIGHT * (high - log10(y)) / (high - low), 1)

    for power in range(low, high + 1):
        y = down(10**power)
        yield f'<path d="M0 {y}H{_WIDTH}" stroke="#dddddd"/>'
        yield f'<text x="-6" y="{y + 4}" text-anchor="end">{10**power:,}</text>'
    for power in range(floor(log10(furthest)) + 1):
        x = across(10**power)
        yield f'<text x="{x}" y="{_HEIGHT + 18}" text-anchor="middle">{10**power:,}</text>'
    yield f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 40}" text-anchor="middle">{panel.quantity}</text>'
    for number, (name, curve) in enumerate(panel.curves.items(), start=1):
        color = _COLORS[name]
        points = " ".join(f"{across(x)},{down(y)}" for x, y in curve)
        yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
        yield f'<text x="6" y="{number * _LINE}" fill="{color}">{name}</text>'
