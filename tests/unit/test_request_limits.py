"""A server that sends slowly or without an end cannot make a request last longer or take more memory than allowed."""

import time

import httpx
import pytest

from lore_etl.system.request_limits import limit_requests
from tests.harness.neighbours import Behaviour, huge, misbehaving, rubbish, silent, slow_body, slow_head

SIZE = 5_000_000


@pytest.fixture
def client() -> httpx.Client:
    client = httpx.Client(timeout=60, trust_env=False)
    limit_requests(client, lambda: 0.5, SIZE)
    return client


@pytest.mark.parametrize("behaviour", [silent, slow_head, slow_body])
def test_a_request_ends_in_time(client: httpx.Client, behaviour: Behaviour) -> None:
    with misbehaving(behaviour) as port, client:
        began = time.monotonic()
        with pytest.raises(httpx.TimeoutException):
            client.get(f"http://127.0.0.1:{port}")

    assert time.monotonic() - began < 30


def test_a_reply_without_an_end_is_not_read_beyond_the_limit(client: httpx.Client) -> None:
    with misbehaving(huge) as port, client, pytest.raises(httpx.HTTPError):
        client.get(f"http://127.0.0.1:{port}")


def test_a_request_after_a_late_one_has_its_own_time(client: httpx.Client) -> None:
    with misbehaving(silent) as late, misbehaving(rubbish) as port, client:
        with pytest.raises(httpx.TimeoutException):
            client.get(f"http://127.0.0.1:{late}")

        assert client.get(f"http://127.0.0.1:{port}").status_code == 200
