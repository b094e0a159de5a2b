"""Adding Lore to a client's configuration preserves the existing content exactly."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.config.layers import merge
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import ConfigError, StorageError
from lore_server.setup import install, jsonc
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
    """Generate a configuration and a text of it in any style."""
    value = draw(CONFIGURATIONS)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    lines = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans())).split("\n")
    before, after = st.sampled_from(["", "/* a, } */ "]), st.sampled_from(["", ' // b: {"', " /* , */ "])
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = newline.join(draw(before) + line + draw(after) for line in lines)
    return value, draw(st.sampled_from(["", install.BOM])) + text + draw(st.sampled_from(["", newline]))


def is_within(old: str, new: str) -> bool:
    """Report whether `new` is `old` with additions, but without removals or moves."""
    rest = iter(new)
    return all(character in rest for character in old)


def add(text: str, form: Form = "json", key: str = KEY) -> install.Merge:
    return install.added(text, form, key, "lore", ENTRY, "the-file")


@given(written())
def test_all_other_content_comments_and_layout_are_kept(given_: tuple[dict[str, Any], str]) -> None:
    value, text = given_

    merged = add(text)

    assert merged.status == "added"
    assert jsonc.loads(merged.text.removeprefix(install.BOM)) == merge(value, {KEY: {"lore": ENTRY}})
    assert is_within(text, merged.text)
    assert ("\r\n" in text) <= ("\n" not in merged.text.replace("\r\n", ""))


@given(written())
def test_removing_the_entry_restores_the_values_and_keeps_the_comments(given_: tuple[dict[str, Any], str]) -> None:
    value, text = given_

    removed = install.removed(add(text).text, "json", KEY, "lore", "the-file")

    assert removed.status == "removed"
    left = jsonc.loads(removed.text.removeprefix(install.BOM))
    assert left in (value, {**value, KEY: {}})
    assert all(removed.text.count(comment) == text.count(comment) for comment in ("/* a, } */", "/* , */"))


@given(written())
def test_an_entry_between_others_is_removed_alone(given_: tuple[dict[str, Any], str]) -> None:
    value, text = given_
    last = install.added(add(text).text, "json", KEY, "zz-last", {"command": "other"}, "the-file")

    removed = install.removed(last.text, "json", KEY, "lore", "the-file")

    assert removed.status == "removed"
    left = jsonc.loads(removed.text.removeprefix(install.BOM))
    assert left == merge(value, {KEY: {"zz-last": {"command": "other"}}})


def test_a_removed_entry_leaves_no_blank_line() -> None:
    text = '{\n  "mcpServers": {\n    "a": {"command": "b"}\n  }\n}\n'

    assert install.removed(add(text).text, "json", KEY, "lore", "the-file").text == text


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
    ],
)
def test_only_an_entry_that_starts_lore_is_removed(text: str, status: str) -> None:
    assert install.removed(text, "json", KEY, "lore", "the-file").status == status


@given(written())
def test_adding_the_entry_is_idempotent(given_: tuple[dict[str, Any], str]) -> None:
    once = add(given_[1])

    assert add(once.text).status == "present"


@given(st.dictionaries(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), SCALARS, max_size=4))
def test_other_tables_of_a_toml_file_are_kept(others: dict[str, Any]) -> None:
    kept = {key: value for key, value in others.items() if value is not None and key != "mcp_servers"}
    text = "# mine\n" + tomlkit.dumps({**kept, "mcp_servers": {"other": {"command": "x"}}})

    merged = add(text, "toml", "mcp_servers")

    assert merged.text.startswith(text)
    assert tomllib.loads(merged.text) == {**kept, "mcp_servers": {"other": {"command": "x"}, "lore": ENTRY}}


def test_the_entry_follows_the_style_of_the_file() -> None:
    text = '{\n\t// mine\n\t"mcpServers": {\n\t\t"one": {"command": "x"} // the first\n\t}\n}\n'

    assert add(text).text == (
        '{\n\t// mine\n\t"mcpServers": {\n\t\t"one": {"command": "x"}, // the first\n'
        '\t\t"lore": {\n\t\t\t"command": "lore",\n\t\t\t"args": [\n\t\t\t\t"mcp",\n\t\t\t\t"-C",\n'
        '\t\t\t\t"${workspaceFolder}"\n\t\t\t]\n\t\t}\n\t}\n}\n'
    )


def test_a_single_line_file_stays_on_a_single_line() -> None:
    assert add('{"mcpServers": {}}').text == '{"mcpServers": {' + json.dumps({"lore": ENTRY})[1:-1] + "}}"


@pytest.mark.parametrize("text", ["", "\n", "// nothing yet\n", "{}", "{ }\n", install.BOM])
def test_an_empty_file_gets_the_entry(text: str) -> None:
    merged = add(text)

    assert jsonc.loads(merged.text.removeprefix(install.BOM)) == {KEY: {"lore": ENTRY}}
    assert is_within(text, merged.text)


@pytest.mark.parametrize(
    "text", ['{"mcpServers": {"a": 1,},}', '{"mcpServers": {"a": 1, /* b */ }\n}', '{\n"a": 1,\n}']
)
def test_a_trailing_comma_is_accepted(text: str) -> None:
    merged = add(text)

    before = jsonc.loads(text)
    assert isinstance(before, dict)
    assert jsonc.loads(merged.text) == merge(before, {KEY: {"lore": ENTRY}})


def test_an_entry_with_additions_counts_as_present_only_in_the_users_file() -> None:
    text = json.dumps({KEY: {"lore": {**ENTRY, "env": {"GEMINI_API_KEY": "x"}}}})

    assert install.added(text, "json", KEY, "lore", ENTRY, "the-file", is_users=True).status == "present"
    assert add(text).status == "different"


def test_a_different_entry_is_kept_and_shown() -> None:
    merged = add('{"mcpServers": {"lore": {"command": "other"}}}')

    assert (merged.status, merged.text, merged.existing) == ("different", "", {"command": "other"})


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '"x"', "{,}x", "[" * 100_000, '{"a": "\n"}', "/* {"])
def test_an_invalid_configuration_is_rejected_with_its_name(text: str) -> None:
    with pytest.raises(ConfigError, match="the-file"):
        add(text)


@pytest.mark.parametrize("text", ["[mcp_servers", "mcp_servers = 1", "a = 1\na = 2"])
def test_invalid_toml_is_rejected_with_its_name(text: str) -> None:
    with pytest.raises(ConfigError, match="the-file"):
        add(text, "toml", "mcp_servers")


def test_servers_in_an_inline_table_stay_there() -> None:
    merged = add('# mine\nmcp_servers = { other = { command = "x" } }\n', "toml", "mcp_servers")

    assert tomllib.loads(merged.text)["mcp_servers"] == {"other": {"command": "x"}, "lore": ENTRY}
    assert merged.text.startswith("# mine\n")


def test_servers_under_dotted_keys_are_kept() -> None:
    merged = add('mcp_servers.other.command = "x"', "toml", "mcp_servers")

    assert tomllib.loads(merged.text)["mcp_servers"] == {"other": {"command": "x"}, "lore": ENTRY}


def test_a_file_that_cannot_be_edited_safely_is_left_to_the_user() -> None:
    assert add("{,}") == install.Merge("unsafe")


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


def test_a_folder_in_place_of_the_file_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.mcp\.json"):
        install.read(tmp_path, ".mcp.json")
    with pytest.raises(StorageError, match=r"\.mcp\.json"):
        (tmp_path / "file").write_text("")
        install.write(tmp_path / "file" / ".mcp.json", "", ".mcp.json")


def test_a_file_that_is_not_utf8_is_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe{\x00")

    with pytest.raises(ConfigError, match=r"x\.json is not UTF-8"):
        install.read(tmp_path / "x.json", "x.json")
