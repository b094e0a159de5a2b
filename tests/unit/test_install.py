"""Adding Lore to a client's configuration preserves the existing content exactly."""

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.config.project import merge
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import ConfigError, StorageError
from lore_server.setup import clients, install
from lore_server.setup.clients import Form

ENTRY = {"command": "lore", "args": ["mcp", "-C", "${workspaceFolder}"]}
KEY = "mcpServers"
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
SERVERS = st.dictionaries(st.text(max_size=6).filter(lambda name: name != "lore"), VALUES, max_size=3)
CONFIGURATIONS = st.builds(
    lambda others, servers, is_first: {KEY: servers, **others} if is_first else {**others, KEY: servers},
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != KEY), VALUES, max_size=3), SERVERS, st.booleans(),
) | st.dictionaries(st.text(max_size=6).filter(lambda key: key != KEY), VALUES, max_size=3)  # fmt: skip


@st.composite
def written(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Generate a configuration and a text of it, as programs and people write it."""
    value = draw(CONFIGURATIONS)
    plain = json.dumps(value, indent=draw(st.sampled_from([None, 1, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
    text = plain.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n"]))
    return value, draw(st.sampled_from(["", install.BOM])) + text


def add(text: str, form: Form = "json", key: str = KEY) -> install.Merge:
    return install.added(text, form, key, "lore", ENTRY, "the-file")


@given(written())
def test_all_other_content_is_kept_in_its_order_and_the_entry_is_added_only_once(
    given_: tuple[dict[str, Any], str],
) -> None:
    value, text = given_

    merged = add(text)

    assert merged.status == "added"
    assert merged.text.startswith(install.BOM) == text.startswith(install.BOM)
    left = json.loads(merged.text.removeprefix(install.BOM))
    assert json.dumps(left) == json.dumps(merge(value, {KEY: {"lore": ENTRY}}))
    assert add(merged.text).status == "present"


@given(written())
def test_an_entry_between_others_is_removed_alone(given_: tuple[dict[str, Any], str]) -> None:
    value, text = given_
    last = install.added(add(text).text, "json", KEY, "zz-last", {"command": "other"}, "the-file")

    removed = install.removed(last.text, "json", KEY, "lore", "the-file")

    assert removed.status == "removed"
    left = json.loads(removed.text.removeprefix(install.BOM))
    assert left == merge(value, {KEY: {"zz-last": {"command": "other"}}})


@pytest.mark.parametrize("style", [{"indent": 2}, {"indent": "\t"}, {"indent": 4, "ensure_ascii": False}])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_style_of_a_file_that_a_program_wrote_is_kept(style: dict[str, Any], newline: str) -> None:
    text = (json.dumps({KEY: {"å": {"command": "b"}}}, **style) + "\n").replace("\n", newline)

    with_lore = add(text).text

    assert with_lore == (json.dumps({KEY: {"å": {"command": "b"}, "lore": ENTRY}}, **style) + "\n").replace(
        "\n", newline
    )
    assert install.removed(with_lore, "json", KEY, "lore", "the-file").text == text


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // mine\n  "mcpServers": {}\n}',
        '{"mcpServers": {} /* a, } */}',
        '{"mcpServers": {"a": 1,},}',
        '{"a": "// no comment, }", }',
        '{"mcpServers": {"a": NaN}}',
        '{"a": "\\ud800", "b": "å"}',
        "{,}",
    ],
)
def test_a_file_that_people_write_by_hand_is_read_and_left_to_them(text: str) -> None:
    own = '{ // mine\n"mcpServers": {"lore": {"command": "lore", "args": ["mcp", "-C", "${workspaceFolder}"]},}}'

    assert add(text) == install.Merge("unsafe")
    assert add(own).status == "present"
    assert install.removed(own, "json", KEY, "lore", "the-file") == install.Merge("unsafe", existing=ENTRY)


def test_a_table_of_toml_is_removed_alone() -> None:
    text = '# mine\n[mcp_servers.other]\ncommand = "x" # kept\n'
    with_lore = add(text, "toml", "mcp_servers").text

    removed = install.removed(with_lore, "toml", "mcp_servers", "lore", "the-file")

    assert removed.status == "removed"
    assert tomllib.loads(removed.text) == tomllib.loads(text)
    assert "# mine" in removed.text
    assert "# kept" in removed.text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "absent"),
        ("{}", "absent"),
        ('{"mcpServers": {"lore": {"command": "other", "args": ["mcp"]}}}', "different"),
        ('{"mcpServers": {"lore": {"url": "http://127.0.0.1:7317/mcp"}}}', "different"),
        ('{"mcpServers": {"lore": {"command": ["/opt/bin/lore", "mcp"]}}}', "removed"),
        ('{"mcpServers": {"lore": {"command": "C:\\\\bin\\\\lore.exe", "args": ["mcp"]}}}', "removed"),
        ('{"mcpServers": {"lore": {"command": "python", "args": ["-m", "lore_server.cli.main", "mcp"]}}}', "removed"),
        ('{"mcpServers": {"lore": {"command": "uvx", "args": ["lore-index@0.1.0", "mcp"]}}}', "removed"),
        ('{"mcpServers": {"lore": {"command": "uvx", "args": ["other", "lore", "mcp"]}}}', "different"),
    ],
)
def test_only_an_entry_that_starts_lore_is_removed(text: str, status: str) -> None:
    assert install.removed(text, "json", KEY, "lore", "the-file").status == status


@given(st.dictionaries(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), SCALARS, max_size=4))
def test_other_tables_of_a_toml_file_are_kept(others: dict[str, Any]) -> None:
    kept = {key: value for key, value in others.items() if value is not None and key != "mcp_servers"}
    text = "# mine\n" + tomlkit.dumps({**kept, "mcp_servers": {"other": {"command": "x"}}})

    merged = add(text, "toml", "mcp_servers")

    assert merged.text.startswith(text)
    assert tomllib.loads(merged.text) == {**kept, "mcp_servers": {"other": {"command": "x"}, "lore": ENTRY}}


@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }\n", install.BOM])
def test_an_empty_file_gets_the_entry(text: str) -> None:
    assert json.loads(add(text).text.removeprefix(install.BOM)) == {KEY: {"lore": ENTRY}}


def test_a_different_entry_is_kept_and_shown_and_one_with_additions_is_present_only_in_the_users_file() -> None:
    merged = add('{"mcpServers": {"lore": {"command": "other"}}}')
    text = json.dumps({KEY: {"lore": {**ENTRY, "env": {"GEMINI_API_KEY": "x"}}}})

    assert (merged.status, merged.text, merged.existing) == ("different", "", {"command": "other"})
    assert add(text).status == "different"
    assert install.added(text, "json", KEY, "lore", ENTRY, "the-file", is_users=True).status == "present"


INVALID_JSON = ["{", "[]", '{"mcpServers": []}', '"x"', "{,}x", "[" * 100_000, '{"a": "\n"}', "/* {", "// x"]
INVALID_TOML = ["[mcp_servers", "mcp_servers = 1", "a = 1\na = 2"]


@pytest.mark.parametrize(
    ("text", "form", "key"),
    [*product(INVALID_JSON, ["json"], ["mcpServers"]), *product(INVALID_TOML, ["toml"], ["mcp_servers"])],
)
def test_an_invalid_configuration_is_rejected_with_its_name(text: str, form: Form, key: str) -> None:
    with pytest.raises(ConfigError, match="the-file"):
        add(text, form, key)


@pytest.mark.parametrize(
    "text", ['# mine\nmcp_servers = { other = { command = "x" } }\n', '# mine\nmcp_servers.other.command = "x"']
)
def test_servers_in_an_inline_table_or_under_dotted_keys_are_kept(text: str) -> None:
    merged = add(text, "toml", "mcp_servers")

    assert tomllib.loads(merged.text)["mcp_servers"] == {"other": {"command": "x"}, "lore": ENTRY}
    assert merged.text.startswith("# mine\n")


def test_windows_line_ends_of_a_toml_file_are_kept() -> None:
    merged = add('model = "o"\r\n', "toml", "mcp_servers")

    assert merged.text.startswith('model = "o"\r\n\r\n[mcp_servers.lore]\r\n')
    assert "\n" not in merged.text.replace("\r\n", "")


def test_a_file_keeps_its_permissions_and_a_symlink_stays_a_symlink(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    real.chmod(0o600)
    link.symlink_to(real)

    install.write(link, "new", "link.json")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.json", "real.json"]


def test_a_file_with_secrets_never_gets_wider_permissions(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text("{}")
    file.chmod(0o600)
    modes: list[int] = []

    def parts() -> Iterator[str]:
        modes.extend(one.stat().st_mode & 0o777 for one in tmp_path.glob("created.*.tmp"))
        yield "{}"

    before = os.umask(0)
    try:
        write_atomically(tmp_path / "created", parts(), mode=0o600)
        install.write(file, '{"key": "secret"}', "keys.json")
    finally:
        os.umask(before)

    assert modes == [0o600]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_in_place_of_the_file_and_another_encoding_are_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe{\x00")

    with pytest.raises(ConfigError, match=r"\.mcp\.json"):
        install.read(tmp_path, ".mcp.json")
    with pytest.raises(StorageError, match=r"\.mcp\.json"):
        install.write(tmp_path / "x.json" / ".mcp.json", "", ".mcp.json")
    with pytest.raises(ConfigError, match=r"x\.json is not UTF-8"):
        install.read(tmp_path / "x.json", "x.json")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.cache/uv/archive-v0/LjoKp0t8Pq0", ["uvx", clients.PACKAGE]),
        ("/home/a/.local/pipx/.cache/0123abc", ["pipx", "run", clients.PACKAGE]),
        ("/home/a/.local/share/uv/tools/lore-index", clients.running_command()),
        ("/home/a/.local/share/pipx/venvs/lore-index", clients.running_command()),
    ],
)
def test_an_entry_never_names_an_environment_that_is_deleted(
    monkeypatch: pytest.MonkeyPatch, prefix: str, command: list[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)

    assert clients.lasting_command() == command
