"""A line of input is a valid message or is answered with an error."""

import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lore_server.mcp.lines import Malformed, read_message
from tests.harness.trying import trying

PARSE, REQUEST, PARAMS = types.PARSE_ERROR, types.INVALID_REQUEST, types.INVALID_PARAMS
DEEP = b"[" * 50_000
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    "jsonrpc": st.just("2.0") | ANY, "id": st.integers() | st.text(max_size=3) | ANY,
    "method": st.sampled_from(["tools/call", "ping", ""]) | ANY, "params": st.dictionaries(st.text(), ANY) | ANY,
    "result": ANY, "error": ANY,
}  # fmt: skip
VALUES = st.fixed_dictionaries({}, optional=FIELDS) | ANY


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"{", PARSE, None), (b"\x00\x01", PARSE, None), (b"\xff\xfe{\x00", PARSE, None), (DEEP, PARSE, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"n": NaN}}', PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"n": -Infinity}}', PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"n": 1e999}}', PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"n": ' + b"9" * 5000 + b"}}", PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"q": "\\ud800"}}', PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"q": "\xe9"}}', PARSE, 1),
        (b'{"jsonrpc": "2.0", "id": "\\udfff", "method": "x"}', PARSE, None),
        (b"42", REQUEST, None), (b'"text"', REQUEST, None), (b"null", REQUEST, None), (b"{}", REQUEST, None),
        (b"[]", REQUEST, None), (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', REQUEST, 1), (b'{"jsonrpc": "2.0", "id": "a"}', REQUEST, "a"),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', REQUEST, 1),
        (b'{"id": 1, "method": "ping"}', REQUEST, 1),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', REQUEST, None),
        (b'{"jsonrpc": "2.0", "method": 1, "params": "bar"}', REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": []}', PARAMS, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": 5}', PARAMS, 1),
        (b'{"id": 1, "id": 2, "jsonrpc": "2.0", "method": 5}', REQUEST, 2),
    ],
)  # fmt: skip
def test_an_invalid_message_is_answered_with_the_json_rpc_error(
    line: bytes, code: int, number: int | str | None
) -> None:
    with pytest.raises(Malformed) as caught:
        read_message(line)

    assert (caught.value.reply.error.code, caught.value.reply.id) == (code, number)


@pytest.mark.parametrize("line", [b'{"jsonrpc": "2.0", "id": 1, "result": 5}', b'{"error": [], "id": null}', b" \r\n"])
def test_a_broken_reply_and_a_blank_line_get_no_answer(line: bytes) -> None:
    assert read_message(line) is None


def test_a_byte_order_mark_is_ignored_and_a_request_with_the_fields_of_a_reply_is_a_request() -> None:
    message = read_message(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1, "method": "ping"}\r\n')
    line = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "error": {"code": 1, "message": "x"}, "result": {}}'

    assert message == types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    assert isinstance(read_message(line), types.JSONRPCRequest)


@trying(300)
@given(VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
@example(b'{"id": 1e400}')
def test_every_line_is_a_message_or_gets_a_serializable_error(line: bytes) -> None:
    try:
        message = read_message(line)
    except Malformed as malformed:
        sent: dict[str, Any] = json.loads(malformed.reply.model_dump_json(by_alias=True))
        assert sent["error"]["code"] in (PARSE, REQUEST, PARAMS)
        return
    if message is not None:
        message.model_dump_json()
        asked = json.loads(line)
        assert isinstance(message, types.JSONRPCRequest) == ("id" in asked and "method" in asked)
