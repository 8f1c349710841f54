"""How far it is from a place on the map to the nearest shop: a lookup by cells, dear where shops are rare."""

from __future__ import annotations

import math
from collections import defaultdict

_CELL = 0.1
"""Degrees; a shop is kept by the cell it stands in."""
_MOST_RINGS = 60
_KM = 111.2
"""Kilometres of a degree of latitude."""


def _shops() -> dict[tuple[int, int], list[tuple[float, float]]]:
    """400 shops, thick in the middle and rare outside, the same for ever: a golden spiral."""
    cells: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for number in range(400):
        angle, far = number * 2.399963, 3.0 * (number / 400) ** 2
        longitude, latitude = 10.0 + far * math.cos(angle), 50.0 + far * math.sin(angle)
        cells[_cell(longitude, latitude)].append((longitude, latitude))
    return dict(cells)


def _cell(longitude: float, latitude: float) -> tuple[int, int]:
    return math.floor(longitude / _CELL), math.floor(latitude / _CELL)


def _apart(a: tuple[float, float], b: tuple[float, float]) -> float:
    east = (a[0] - b[0]) * math.cos(math.radians((a[1] + b[1]) / 2))
    return _KM * math.hypot(east, a[1] - b[1])


_BY_CELL = _shops()


def shop_distance(longitude: float | None, latitude: float | None) -> float | None:
    """Kilometres to the nearest shop among those found ring by ring; None for no place, or one far from all shops.

    >>> round(shop_distance(10.0, 50.0), 3)
    0.0
    """
    if longitude is None or latitude is None:
        return None
    here, (column, row) = (longitude, latitude), _cell(longitude, latitude)
    nearest: float | None = None
    for ring in range(_MOST_RINGS):
        # Every shop of a later ring is at least so far away: cells are narrowest from west to east.
        if nearest is not None and nearest <= (ring - 1) * _CELL * _KM * math.cos(math.radians(latitude)) * 0.9:
            break
        for x in range(column - ring, column + ring + 1):
            step = 1 if abs(x - column) == ring else max(1, 2 * ring)
            for y in range(row - ring, row + ring + 1, step):
                for shop in _BY_CELL.get((x, y), ()):
                    distance = _apart(here, shop)
                    nearest = distance if nearest is None else min(nearest, distance)
    return nearest
