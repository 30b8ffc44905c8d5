"""Tile CAQR over many places, predicted: the formulas of Takayanagi's thesis (2021, chapter 6), and two simulations.

A is m x n, in tiles of b x b: p x q of them.  Row i of tiles lies with place i mod P, whose rows are one domain.  Step k
factors column k of tiles: each domain by a flat tree, its first row (its top) against the others; then the tops, row k the
first of them, merge along a tree.  For a merge the lower top's row goes to the upper one's place, which computes, and goes
back.  Row k is R's then.

`formulas` are 6.1 to 6.3 as printed.  `simulate` gives every task to a lane of its place, as soon as what it waits for has
ended and a lane is free.  `by_steps` does so with domains and merges as wholes, for cases with too many tasks.

What none of the three has: a place's memory and caches, which its lanes share; the operating system; more than one message
at a time into a place, or out of it; messages that others delay on their way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from math import ceil
from typing import Optional

KINDS = ("geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr")
TREES = ("binary", "flat", "greedy")


@dataclass(frozen=True)
class Place:
    """A node, a process, or a GPU with the cores that serve it."""

    seconds: dict[str, float]
    """Of each kernel, on one lane."""
    lanes: int
    """That do any task; or factor only, if there are others for the updates."""
    update_lanes: int = 0
    """Others, for larfb, ssrfb and ttmqr alone."""

    @property
    def updating(self) -> int:
        return self.update_lanes or self.lanes


@dataclass(frozen=True)
class Network:
    alpha: float
    """Seconds of a message."""
    beta: float
    """Seconds of a double in it."""

    def seconds(self, doubles: int) -> float:
        return self.alpha + self.beta * doubles


@dataclass(frozen=True)
class Tiles:
    b: int
    p: int
    q: int
    places: int

    @classmethod
    def of(cls, m: int, n: int, b: int, places: int) -> Tiles:
        return cls(b, ceil(m / b), ceil(n / b), places)

    @property
    def steps(self) -> int:
        return min(self.p, self.q)

    def row_doubles(self, k: int) -> int:
        """Of a row of tiles that is merged in step k."""
        return (self.q - k) * self.b**2

    def height(self, top: int) -> int:
        """Rows of the domain from `top` on."""
        return (self.p - top - 1) // self.places + 1


# ---- the formulas


def merges_in_a_row(places: int, tree: str) -> int:
    """N of formulas 6.2 and 6.3."""
    return places - 1 if tree == "flat" else (places - 1).bit_length()


def ssrfbs_in_a_row(tiles: Tiles, cores: int) -> int:
    """The sum of formula 6.1.  It assumes that p is a multiple of P, and d >= q."""
    d = ceil(tiles.p / tiles.places)
    return sum(max(0, d - k // tiles.places) * ceil((tiles.q - k - 1) / cores) for k in range(tiles.steps))


def ttmqrs_in_a_row(tiles: Tiles, cores: int) -> int:
    """Of one merge a step: the sum in formula 6.2."""
    return sum(ceil((tiles.q - k - 1) / cores) for k in range(tiles.steps))


def message_seconds(tiles: Tiles, network: Network) -> float:
    """Of one merge a step, there and back: the sum of formula 6.3."""
    return sum(2 * network.seconds(tiles.row_doubles(k)) for k in range(tiles.steps))


@dataclass(frozen=True)
class Predicted:
    qr: float
    merge: float
    comm: float

    @property
    def seconds(self) -> float:
        return self.qr + self.merge + self.comm


def formulas(tiles: Tiles, place: Place, network: Network, tree: str = "binary") -> Predicted:
    """6.1, 6.2 and 6.3.

    They count all d rows of a domain although its top gets larfb, round each row of updates up to whole rounds of the
    lanes, leave out geqrt, larfb and tsqrt, and let nothing overlap.
    """
    n = merges_in_a_row(tiles.places, tree)
    return Predicted(
        place.seconds["ssrfb"] * ssrfbs_in_a_row(tiles, place.updating),
        n * (tiles.steps * place.seconds["ttqrt"] + place.seconds["ttmqr"] * ttmqrs_in_a_row(tiles, place.updating)),
        n * message_seconds(tiles, network),
    )


# ---- trees


class Merging:
    """Who merges with whom in one step.  Tops are numbered from 0, which is the one that stays."""

    def __init__(self, tree: str, tops: int) -> None:
        self.tree, self.tops = tree, tops
        self.waiting: set[int] = set()
        self.distance: dict[int, int] = {}
        self.next = 1

    def ready(self, x: int) -> Optional[tuple[int, int]]:
        """Top x is a triangle that can be merged (again): the pair that can be merged now, upper one first."""
        if self.tree == "greedy":  # whoever is ready, with whoever waits
            if self.waiting:
                other = self.waiting.pop()
                return min(x, other), max(x, other)
            self.waiting.add(x)
            return None
        if self.tree == "flat":  # the first one with all others in their order
            self.waiting.add(x)
            if not {0, self.next} <= self.waiting:
                return None
            self.waiting -= {0, self.next}
            self.next += 1
            return 0, self.next - 1
        distance = self.distance.get(x, 1)
        while x % (2 * distance) == 0 and x + distance >= self.tops > distance:
            distance *= 2
        self.distance[x] = distance
        if distance >= self.tops:
            return None
        other = x + distance if x % (2 * distance) == 0 else x - distance
        if other not in self.waiting or self.distance[other] != distance:
            self.waiting.add(x)
            return None
        self.waiting.remove(other)
        first, second = min(x, other), max(x, other)
        self.distance[first] = 2 * distance
        return first, second


# ---- ports


class Ports:
    """A place sends one message at a time, and receives one at a time.

    In the order in which they are asked for: a merged row goes back before its place sends its own on, as with MPI_Send.
    """

    def __init__(self, places: int, network: Network) -> None:
        self.out, self.into = [0.0] * places, [0.0] * places
        self.network = network

    def arrival(self, now: float, source: int, target: int, doubles: int) -> float:
        """Of a message that is ready to be sent now."""
        end = max(now, self.out[source], self.into[target]) + self.network.seconds(doubles)
        self.out[source] = self.into[target] = end
        return end


# ---- every task


@dataclass
class Simulated:
    seconds: float
    tasks: Counter = field(default_factory=Counter)
    messages: int = 0


class _Lanes:
    """Tasks that are ready, and how many lanes are free for them."""

    def __init__(self, count: int) -> None:
        self.free, self.ready = count, []


def simulate(tiles: Tiles, place: Place, network: Network, tree: str = "binary") -> Simulated:
    """Every task by itself.  Of those that are ready, merges go first, then factors, then updates, earlier ones first."""
    p, q, places, steps = tiles.p, tiles.q, tiles.places, tiles.steps
    any_lanes = [_Lanes(place.lanes) for _ in range(places)]
    update_lanes = [_Lanes(place.update_lanes) for _ in range(places)] if place.update_lanes else any_lanes
    seconds = place.seconds
    ports = Ports(places, network)
    merging = [Merging(tree, min(places, p - k)) for k in range(steps)]
    columns_left: dict[tuple[int, int], int] = {}  # of (step, top): that the domain still works on
    updates_left: dict[tuple[int, int, int], int] = {}  # of (step, upper, lower): of a merge
    waits: dict[tuple[int, int, int], int] = {}  # of (step, row, column): for how many others
    events: list[tuple] = []
    result = Simulated(0.0)
    changed: dict[_Lanes, None] = {}  # in an order that is the same in every run
    number = 0

    def at(time: float, *event: object) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, *event))

    def start(lanes: _Lanes, urgency: int, kind: str, *task: int) -> None:
        heapq.heappush(lanes.ready, (urgency, task, kind))
        changed[lanes] = None

    def one_less(k: int, row: int, column: int) -> None:
        """One of those that a domain's task waits for has ended: the step before on its tile, the row above, its factor."""
        task = (k, row, column)
        left = waits.pop(task, None)
        if left is None:
            left = (k > 0) + (row >= k + places) + (column > k)
        if left > 1:
            waits[task] = left - 1
        else:
            begin(k, row, column)

    def begin(k: int, row: int, column: int) -> None:
        is_top = row < k + places
        if column == k:
            start(any_lanes[row % places], 1, "geqrt" if is_top else "tsqrt", k, row, column)
        else:
            start(update_lanes[row % places], 2, "larfb" if is_top else "ssrfb", k, row, column)

    def triangle(k: int, top: int) -> None:
        pair = merging[k].ready(top - k)
        if pair:
            upper, lower = pair[0] + k, pair[1] + k
            result.messages += 2
            at(ports.arrival(now, lower % places, upper % places, tiles.row_doubles(k)), "came", k, upper, lower)

    def merged(k: int, upper: int, lower: int) -> None:
        at(ports.arrival(now, upper % places, lower % places, tiles.row_doubles(k)), "back", k, upper, lower)
        triangle(k, upper)

    def ended(kind: str, task: tuple) -> None:
        if kind == "ttqrt":
            k, upper, lower = task
            updates_left[task] = q - k - 1
            for column in range(k + 1, q):
                start(update_lanes[upper % places], 0, "ttmqr", k, upper, lower, column)
            if k + 1 == q:
                merged(*task)
        elif kind == "ttmqr":
            merge = task[:3]
            updates_left[merge] -= 1
            if not updates_left[merge]:
                merged(*merge)
        else:
            k, row, column = task
            if column == k:
                for right in range(k + 1, q):
                    one_less(k, row, right)
            if row + places < p:
                one_less(k, row + places, column)
            else:
                top = k + (row - k) % places
                left = columns_left.pop((k, top), q - k) - 1
                columns_left[k, top] = left
                if not left:
                    triangle(k, top)
            if row >= k + places and column > k and k + 1 < steps:
                one_less(k + 1, row, column)

    now = 0.0
    for row in range(min(places, p)):
        begin(0, row, 0)
    while True:
        for lanes in changed:
            while lanes.free and lanes.ready:
                _, task, kind = heapq.heappop(lanes.ready)
                lanes.free -= 1
                result.tasks[kind] += 1
                at(now + seconds[kind], "ended", kind, task, lanes)
        changed.clear()
        if not events:
            result.seconds = now
            return result
        now = events[0][0]
        while events and events[0][0] == now:
            _, _, what, *rest = heapq.heappop(events)
            if what == "ended":
                kind, task, lanes = rest
                lanes.free += 1
                changed[lanes] = None
                ended(kind, task)
            elif what == "came":
                k, upper, lower = rest
                start(any_lanes[upper % places], 0, "ttqrt", k, upper, lower)
            else:
                k, _, lower = rest
                if k + 1 < steps:
                    for column in range(k + 1, q):
                        one_less(k + 1, lower, column)


# ---- by steps


def domain_seconds(place: Place, rows: int, columns: int) -> float:
    """One step of tile QR in a domain: `rows` with the top, `columns` on the right of the one that is factored."""
    s, below = place.seconds, rows - 1
    chain = s["geqrt"] + below * s["tsqrt"]
    if not columns:
        return chain
    lanes = place.updating
    # A row's updates follow the row's before on the same columns: where there are fewer of them than lanes, some are idle.
    row = s["ssrfb"] * max(1.0, columns / lanes)
    first = s["larfb"] * max(1.0, columns / lanes)
    seconds = max(chain + row if below else s["geqrt"] + first, s["geqrt"] + first + below * row)
    if place.update_lanes:
        return seconds
    work = chain + columns * (s["larfb"] + below * s["ssrfb"])
    # At first one lane makes what the others wait for, and at last not all of them have something left.
    return max(seconds, (work + (lanes - 1) * (s["geqrt"] + s["ssrfb"] / 2 * (below > 0))) / lanes)


def merge_seconds(place: Place, columns: int) -> float:
    return place.seconds["ttqrt"] + place.seconds["ttmqr"] * ceil(columns / place.updating)


def alone_seconds(tiles: Tiles, place: Place) -> float:
    """One place: nothing is merged, and steps overlap.  All lanes at work throughout, or the longest chain of tasks."""
    s, p, q = place.seconds, tiles.p, tiles.q
    factors = updates = 0.0
    for k in range(tiles.steps):
        factors += s["geqrt"] + (p - k - 1) * s["tsqrt"]
        updates += (q - k - 1) * (s["larfb"] + (p - k - 1) * s["ssrfb"])
    # Down the first column, then a row's factor and update for each further step.
    slowest = max(s["tsqrt"], s["ssrfb"] if q > 1 else 0)
    chain = s["geqrt"] + max(0, p - 1) * slowest + (tiles.steps - 1) * (s["tsqrt"] + s["ssrfb"])
    if place.update_lanes:
        return max(chain, factors / place.lanes, s["geqrt"] + updates / place.update_lanes)
    return max(chain, (factors + updates) / place.lanes)


def by_steps(tiles: Tiles, place: Place, network: Network, tree: str = "binary") -> float:
    """Seconds, with each domain's part of a step as one task, and each merge as another one.

    The place that row k's domain is at goes on with the next step while the tops merge, as if merges took none of its lanes
    (they take few of them, and it is ahead of the others); the others wait for their top.
    """
    if tiles.places == 1:
        return alone_seconds(tiles, place)
    p, places, steps = tiles.p, tiles.places, tiles.steps
    ports = Ports(places, network)
    merging = [Merging(tree, min(places, p - k)) for k in range(steps)]
    merges = [merge_seconds(place, tiles.q - k - 1) for k in range(steps)]
    lengths: dict[tuple[int, int], float] = {}  # of a domain's part, by step and rows: two heights a step at most
    events: list[tuple[float, int, int, int]] = []  # when, which step, which top, with whose merge it ends (itself: none)

    def begin(now: float, k: int, top: int) -> None:
        if k < steps and top < p:
            rows = tiles.height(top)
            if (k, rows) not in lengths:
                lengths[k, rows] = domain_seconds(place, rows, tiles.q - k - 1)
            heapq.heappush(events, (now + lengths[k, rows], k, top, top))

    for top in range(min(places, p)):
        begin(0.0, 0, top)
    now = 0.0
    while events:
        now, k, top, lower = heapq.heappop(events)
        if top > lower:  # the row is back
            begin(now, k + 1, top)
            continue
        if top < lower:  # merged: what was sent here goes back
            back = ports.arrival(now, top % places, lower % places, tiles.row_doubles(k))
            heapq.heappush(events, (back, k, lower, -1))
        elif top == k:
            begin(now, k + 1, top + places)
        if pair := merging[k].ready(top - k):
            upper, lower = pair[0] + k, pair[1] + k
            came = ports.arrival(now, lower % places, upper % places, tiles.row_doubles(k))
            heapq.heappush(events, (came + merges[k], k, upper, lower))
    return now
