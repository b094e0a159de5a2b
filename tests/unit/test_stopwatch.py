"""The stopwatch divides the time of a search among its steps."""

from lore_server.query.retrieve import Stopwatch


def test_a_step_lasts_from_the_end_of_the_step_before_and_a_repeated_step_is_added_up() -> None:
    moments = iter((10.0, 11.0, 13.0, 17.0))
    watch = Stopwatch(lambda: next(moments))

    for step in ("keywords", "vectors", "keywords"):
        watch.end(step)

    assert watch.seconds == {"keywords": 5.0, "vectors": 2.0}
