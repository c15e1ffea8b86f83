"""Verdict colours are distinguishable, also to colour-blind people, and visible on the page."""

import math
import re
from itertools import combinations

import pytest

from grader.model.verdict import Verdict
from grader.report.pages import assets

LEAST_DISTANCE = 8.0
"""In CIELAB; two and a half is what a person sees at all. A verdict's code stands beside it."""

NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# What is left of linear light without one kind of cone: Machado, Oliveira, Fernandes (2009).
VISIONS = {
    "normal": NORMAL,
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
XYZ = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8730))
"""Of linear light, as shares of white."""

Vector = tuple[float, ...]


def apply(matrix: tuple[Vector, ...], vector: Vector) -> Vector:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def linear(colour: str) -> Vector:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def lab(light: Vector) -> Vector:
    clipped = tuple(min(1.0, max(0.0, part)) for part in light)
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in apply(XYZ, clipped))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def colours(scheme: int) -> dict[str, str]:
    found = {
        name: values
        for name, *values in re.findall(
            r"--([a-z_]+): light-dark\((#\w{6}), (#\w{6})\)", assets()["report.css"].text
        )
    }
    return {name: values[scheme] for name, values in found.items()}


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_verdicts_can_be_told_apart(scheme: int, vision: str) -> None:
    seen = {
        verdict: lab(apply(VISIONS[vision], linear(colours(scheme)[verdict])))
        for verdict in Verdict
    }
    alike = {
        (a, b): round(distance, 1)
        for a, b in combinations(Verdict, 2)
        if (distance := math.dist(seen[a], seen[b])) < LEAST_DISTANCE
    }
    assert alike == {}


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_verdicts_stand_out_from_their_ground(scheme: int) -> None:
    found = colours(scheme)
    ground = apply(XYZ, linear(found["paper"]))[1]
    for verdict in Verdict:
        low, high = sorted((apply(XYZ, linear(found[verdict]))[1], ground))
        contrast = (high + 0.05) / (low + 0.05)
        # Cases that were not run need no contrast.
        assert contrast > (1.8 if verdict is Verdict.SKIPPED else 2.7), verdict
