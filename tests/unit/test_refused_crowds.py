"""Refused clients return no faster than the server can answer them."""

import heapq
import random
from itertools import pairwise

from lore_server.http.guard import LONGEST_SECONDS, Crowd


class Clock:
    """A clock that shows the time of the current event."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def refusals_per_second(clients: int, answers_per_second: int, seconds: int) -> list[int]:
    """Simulate clients that come back exactly when they are told to; return the refusals of each second."""
    clock, chance = Clock(), random.Random(7)
    crowd, refused = Crowd(clock, chance), [0] * seconds
    arrivals = [(chance.random(), client) for client in range(clients)]
    heapq.heapify(arrivals)
    free_at = 0.0
    while arrivals and arrivals[0][0] < seconds:
        clock.time, client = heapq.heappop(arrivals)
        if clock.time >= free_at:
            free_at = clock.time + 1 / answers_per_second
            crowd.count_answer()
            heapq.heappush(arrivals, (free_at, client))  # it asks again at once
        else:
            refused[int(clock.time)] += 1
            heapq.heappush(arrivals, (clock.time + crowd.count_refusal(), client))
    return refused


def test_a_crowd_that_obeys_causes_far_fewer_refusals_than_it_has_clients() -> None:
    refused = refusals_per_second(clients=1_000, answers_per_second=40, seconds=120)

    assert sum(refused[30:]) / 90 < 200  # 960 if each were told to return after a second


def test_a_larger_crowd_waits_longer_but_never_more_than_a_minute() -> None:
    waits = []
    for size in (1, 10, 100, 1_000):
        crowd = Crowd(lambda: 0.0, random.Random(7))
        for _ in range(100):
            crowd.count_answer()
        waits.append([crowd.count_refusal() for _ in range(size)][-1])

    assert waits[0] == 1
    assert all(less <= more for less, more in pairwise(waits))
    assert waits[-1] <= LONGEST_SECONDS


def test_an_hour_later_a_crowd_is_forgotten() -> None:
    clock = Clock()
    crowd = Crowd(clock)
    for _ in range(1_000):
        crowd.count_refusal()
    clock.time = 3_600.0

    assert crowd.count_refusal() <= 8
