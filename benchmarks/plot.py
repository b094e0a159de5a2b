"""Draw lines over two logarithmic axes as SVG, without a library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 40, 40, 110
COLOURS = ("#2563eb", "#16a34a", "#d97706", "#9333ea")
STEPS = (1, 2, 5)


class Line(NamedTuple):
    """A line with its label and its value at each position."""

    label: str
    values: Sequence[float]


def chart(title: str, axis: str, positions: Sequence[float], lines: Sequence[Line]) -> str:
    """Return a chart whose axes are both logarithmic. All numbers are positive."""
    values = [value for line in lines for value in line.values]
    x, y = Scale(positions, LEFT, WIDTH - RIGHT), Scale(values, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{WIDTH / 2}" y="22" text-anchor="middle" font-size="15">{escape(title)}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle">{escape(axis)}</text>',
    ]
    for tick in _ticks(values):
        at = y(tick)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick:,g}</text>')
    for position in positions:
        parts.append(
            f'<text x="{x(position):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{position:,.0f}</text>'
        )
    for number, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        points = [(x(position), y(value)) for position, value in zip(positions, line.values, strict=True)]
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in points]
        left, top = LEFT + number % 2 * 330, HEIGHT - 40 + number // 2 * 20
        parts.append(f'<path d="M{left} {top}h24" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + 30}" y="{top + 4}">{escape(line.label)}</text>')
    return "\n".join([*parts, "</svg>", ""])


class Scale:
    """A logarithmic scale from numbers to positions."""

    def __init__(self, numbers: Sequence[float], first: float, last: float) -> None:
        self._low, high = math.log(min(numbers)), math.log(max(numbers))
        self._first, self._factor = first, (last - first) / ((high - self._low) or 1)

    def __call__(self, number: float) -> float:
        return self._first + self._factor * (math.log(number) - self._low)


def _ticks(values: Sequence[float]) -> Iterator[float]:
    low, high = min(values), max(values)
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        yield from (step * 10.0**exponent for step in STEPS if low <= step * 10.0**exponent <= high)
