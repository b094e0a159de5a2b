"""What the retry policies promise in docs/retries.md."""

import pytest

from ferry.errors import ConfigError
from ferry.retry import NO_RETRY, ConstantBackoff, ExponentialBackoff, JitteredBackoff


class TestExponentialBackoff:
    def test_waits_double_from_two_seconds(self):
        assert ExponentialBackoff().preview() == [2.0, 4.0, 8.0, 16.0]

    def test_the_cap_holds(self):
        policy = ExponentialBackoff(max_attempts=12)
        assert policy.delay(8) == 256.0
        assert policy.delay(9) == 300.0

    def test_a_huge_attempt_number_does_not_overflow(self):
        assert ExponentialBackoff().delay(5_000) == 300.0

    @pytest.mark.parametrize("wrong", [{"base": 0}, {"factor": 0.5}, {"cap": 1.0}, {"max_attempts": 0}])
    def test_nonsense_is_refused(self, wrong):
        with pytest.raises(ConfigError):
            ExponentialBackoff(**wrong)


class TestJitteredBackoff:
    @pytest.mark.parametrize(("draw", "expected"), [(min, 7.2), (max, 8.8)])
    def test_a_wait_of_eight_seconds_is_spread_by_a_tenth(self, draw, expected):
        policy = JitteredBackoff(uniform=lambda low, high: draw(low, high))
        assert policy.delay(3) == pytest.approx(expected)

    def test_the_cap_holds_after_jitter(self):
        assert JitteredBackoff(uniform=lambda low, high: high).delay(30) == 300.0

    def test_jobs_that_failed_together_part(self):
        policy = JitteredBackoff()
        assert len({policy.delay(4) for _ in range(50)}) > 40


def test_constant_backoff_is_constant():
    assert ConstantBackoff(max_attempts=3, seconds=10).preview() == [10, 10]


def test_no_retry_allows_one_attempt():
    assert NO_RETRY.preview() == []
