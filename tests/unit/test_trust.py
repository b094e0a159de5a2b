"""The settings that a project's `lore.toml` may decide, and those that only the user may."""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from lore_etl.config.policy import is_inside, rules
from lore_etl.config.project import MAX_BYTES, approvals_file, place_of, read_layers, revoke_approval, user_config
from lore_etl.config.settings import Settings, load_settings
from lore_etl.core.errors import ConfigError
from lore_etl.models.model_cache import ModelKind, origin
from tests.golden.pages import TABLES
from tests.golden.settings_tables import keys
from tests.harness.trust import approve, configured_user

HOSTILE: dict[str, list[Any]] = {
    "index.path": [*"/tmp/x ../x a/../../x ~/x . link link/x .git .GIT/hooks a\\..\\x C:x".split(), "", "a\0b"],
    "index.max_file_bytes": [10**12, "1000000000000"],
    "embedding.provider": ["gemini"],
    "embedding.model": ["someone/model", "./model", "/tmp/model", "~/model"],
    "embedding.base_url": ["https://x.googleapis.com", "http://127.0.0.1:9"],
    "embedding.cache_mb": [0, 1, 1_000_000],
    "embedding.shared": ["s3://bucket/vectors", "https://evil.example/v", "/tmp/x", "../x", "shared"],
    "embedding.shared_writes": [True],
    "published.target": ["s3://bucket/index", "https://evil.example/i", "/tmp/x", "../x", "published"],
    "published.keys": [["MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="]],
    "auth.issuer": ["https://evil.example", "http://127.0.0.1:9"],
    "auth.audience": ["https://lore.example/mcp"],
    "auth.groups": [{"everyone": {"*": "admin"}}],
    "auth.groups_claim": ["name"],
    "database.mode": ["http", "cloud"],
    "database.host": ["evil.example", "127.0.0.1"],
    "database.port": [9],
    "database.ssl": [False],
    "database.ca_file": ["ca.pem"],
    "database.headers": [{"X-Key": "env:CHROMA_API_KEY"}],
    "database.tenant": ["t"],
    "database.database": ["d"],
    "database.timeout_seconds": [600],
    "database.collection": ["other"],
    "query.reranker": ["someone/model", "./model"],
    "docs.framework": ["../x", "/etc", "link"],
    "answer.provider": ["gemini", "openai"],
    "answer.requests_per_minute": [0, 1, 100_000],
    "answer.tokens_per_day": [0, 1, 10**9],
    "answer.model": ["gemini-2.5-pro"],
    "answer.base_url": ["http://localhost:9"],
    "answer.timeout_seconds": [600],
    "answer.attempts": [10],
    "answer.context_tokens": [200_000],
    "server.host": ["0.0.0.0", "::"],
    "server.allowed_hosts": [["evil.example"]],
    "server.webhooks": [{"everyone": ["github evil/harbour"]}],
    "owner.idle_minutes": [10_080],
    "owner.transport": ["loopback"],
    "insights.log": [True, 0],
    "insights.days": [91, 3650],
    "insights.max_questions": [10_001],
    "hook.memory_dirs": [["~/.claude"], ["notes", "/etc"], ["../x"], ["link"]],
}
"""A value that each restricted key must not get from a project -> examples of every kind."""
HARMLESS = {
    "index.path": "data/index", "index.max_file_bytes": 5_000, "embedding.provider": "local", "embedding.model": "",
    "database.mode": "server", "database.timeout_seconds": 5, "query.reranker": "", "docs.framework": "docs/framework",
    "answer.provider": "none", "answer.timeout_seconds": 5, "answer.attempts": 1, "answer.context_tokens": 1000,
    "server.host": "127.0.0.1", "owner.idle_minutes": 5, "owner.transport": "unix", "hook.memory_dirs": ["notes"],
    "insights.log": False, "insights.days": 7, "insights.max_questions": 100,
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    root = (tmp_path / "project").resolve()
    (root / "notes").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path)
    yield root
    revoke_approval(root)


def write(project: Path, values: dict[str, Any]) -> None:
    """Write a `lore.toml` with these keys; except for tables, JSON and TOML write these values alike."""
    lines, left = list[str](), list(values.items())
    while left:
        name, value = left.pop(0)
        if isinstance(value, dict):
            left += [(f"{name}.{json.dumps(key)}", inner) for key, inner in value.items()]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    (project / "lore.toml").write_text("\n".join(lines), encoding="utf-8")


def value_of(settings: Settings, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(settings, section), key)


def keys_of_the_model() -> set[str]:
    """Return every key that needs a rule: `section.key`, or a section that is not a table of fixed keys."""
    found: set[str] = set()
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for key, inner in model.model_fields.items():
                kinds = get_args(inner.annotation) if isinstance(inner.annotation, UnionType) else (inner.annotation,)
                assert not any(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in kinds)
                found.add(f"{section}.{key}")
        else:
            found.add(section)
    return found


def test_every_key_declares_who_may_set_it_is_documented_and_has_hostile_examples_if_restricted() -> None:
    """The other columns of the documented tables are generated from the same rules."""
    free = {key for key, rule in rules().items() if rule.project == "any value"}
    documented = {f"{table}.{key}" for table in TABLES for key in re.findall(r"^\| `(\w+)`", keys(table), re.MULTILINE)}

    assert set(rules()) == keys_of_the_model()
    assert documented == set(rules()) - {"sources"}
    assert set(HOSTILE) == set(rules()) - free


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in HOSTILE.items() for value in values])
def test_restricted_settings_of_a_project_are_ignored_and_reported(project: Path, name: str, value: Any) -> None:
    if "\0" in str(value):
        (project / "lore.toml").write_text('[index]\npath = "a\\u0000b"\n', encoding="utf-8")
    else:
        write(project, {name: value})

    layers = read_layers(project)

    assert value_of(load_settings(project), name) == value_of(Settings(), name)
    assert list(layers.requested) == [name]
    assert name in layers.warning
    assert "lore trust" in layers.warning


@pytest.mark.parametrize(("name", "value"), HARMLESS.items())
def test_a_project_may_set_harmless_settings(project: Path, name: str, value: Any) -> None:
    write(project, {name: value})

    assert value_of(load_settings(project), name) == value
    assert read_layers(project).warning == ""


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_the_same_value_is_accepted_in_the_users_files(project: Path, tmp_path: Path, name: str) -> None:
    value = next(value for value in HOSTILE[name] if not isinstance(value, str) or value.isprintable())
    wanted = 10**12 if name == "index.max_file_bytes" else value
    write(tmp_path, {name: value})

    assert value_of(load_settings(project, tmp_path / "lore.toml"), name) == _resolved(name, wanted, tmp_path)
    if name != "index.path":
        with configured_user((tmp_path / "lore.toml").read_text(encoding="utf-8")):
            folder = user_config(os.environ).parent
            assert value_of(load_settings(project), name) == _resolved(name, wanted, folder)


def _resolved(name: str, value: Any, folder: Path) -> Any:
    return str(folder / value) if str(value).startswith("./") or name == "database.ca_file" else value


def test_an_approval_applies_to_exactly_the_shown_values(project: Path) -> None:
    write(project, {"database.mode": "http", "database.host": "kb.example"})
    ignored = place_of(project).digest
    approve(project)

    assert load_settings(project).database.host == "kb.example"
    assert read_layers(project).warning == ""
    assert place_of(project).digest != ignored  # an owner with the former configuration is replaced

    write(project, {"database.mode": "http", "database.host": "kb.example", "query.nResults": 50})
    assert load_settings(project).database.host == "kb.example"

    for changed in (
        {"database.mode": "http", "database.host": "evil.example"},
        {"database.mode": "http", "database.host": "kb.example", "database.tenant": "x"},
        {"database.host": "kb.example"},
    ):
        write(project, changed)
        assert load_settings(project).database == Settings().database


def test_an_approval_applies_to_a_single_project_and_can_be_withdrawn(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (project, other):
        write(folder, {"server.host": "0.0.0.0"})
    approve(project)

    assert load_settings(project).server.host == "0.0.0.0"
    assert load_settings(other.resolve()).server.host == "127.0.0.1"
    assert revoke_approval(project) is True
    assert revoke_approval(project) is False
    assert load_settings(project).server.host == "127.0.0.1"


def test_approvals_are_stored_outside_the_project_readable_only_by_the_user(project: Path) -> None:
    write(project, {"server.host": "0.0.0.0"})
    before = sorted(project.rglob("*"))
    approve(project)
    file = approvals_file()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(project.rglob("*")) == before
    assert not file.is_relative_to(project)


@pytest.mark.parametrize("damage", ["{", "[]", '{"projects": 3}', "[" * 100_000])
def test_a_damaged_file_of_approvals_approves_nothing(project: Path, damage: str) -> None:
    write(project, {"server.host": "0.0.0.0"})
    approve(project)
    approvals_file().write_text(damage, encoding="utf-8")

    assert load_settings(project).server.host == "127.0.0.1"
    approve(project)
    assert load_settings(project).server.host == "0.0.0.0"


def test_later_layers_override_earlier_ones(project: Path, tmp_path: Path) -> None:
    write(project, {"query.ranking": "classic", "query.nResults": 10, "query.rerank_depth": 10})
    write(tmp_path, {"query.rerank_depth": 30})

    with configured_user("[query]\nnResults = 20\nrerank_depth = 20\n"):
        found = load_settings(project, tmp_path / "lore.toml").query

    assert (found.ranking, found.nResults, found.rerank_depth) == ("classic", 20, 30)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[querry]\n", "querry"), ("[index\n", r"config\.toml"), ("x = 1\n", "`x`"),
     ("[index]\npath = '/tmp/shared'\n", "all projects")],
)  # fmt: skip
def test_a_mistake_and_one_index_folder_for_all_projects_in_the_users_file_are_reported(
    project: Path, text: str, problem: str
) -> None:
    with configured_user(text), pytest.raises(ConfigError, match=problem):
        load_settings(project)


def test_the_path_of_the_users_file_follows_the_xdg_specification() -> None:
    home = Path("~").expanduser()

    assert user_config({"XDG_CONFIG_HOME": "/x"}) == Path("/x/lore/config.toml")
    assert user_config({"XDG_CONFIG_HOME": "relative"}) == user_config({}) == Path(home, ".config/lore/config.toml")


def test_a_project_file_that_is_not_a_small_regular_file_is_not_read(project: Path, tmp_path: Path) -> None:
    file, secret = project / "lore.toml", tmp_path / "secret.toml"
    secret.write_text("[canary-of-the-user]\n", encoding="utf-8")

    for make in (
        lambda: file.symlink_to(secret),
        lambda: file.symlink_to("/dev/zero"),
        lambda: os.mkfifo(file),
        lambda: file.write_bytes(b"#" * (MAX_BYTES + 1)),
    ):
        make()
        with pytest.raises(ConfigError, match=r"Cannot read lore\.toml: ") as caught:
            read_layers(project)
        assert "canary" not in caught.value.message
        file.unlink()


def test_an_untrusted_key_is_printed_safely(project: Path) -> None:
    (project / "lore.toml").write_text('"`touch x`\\n\\u001b]0;x\\u0007" = 1\n', encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        load_settings(project)

    assert caught.value.message == "Unknown configuration key `?touch?x????0?x?`."


def test_a_model_is_a_folder_only_if_it_is_written_as_a_path(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a project could contain a folder named like the user's model, with code in it."""
    (project / "someone" / "model").mkdir(parents=True)
    monkeypatch.chdir(project)
    kind = ModelKind("x", "1", "embedding.model")

    assert origin("someone/model", kind) == "someone/model"
    assert origin("./someone/model", kind) == str(project / "someone" / "model")


def test_a_path_in_the_users_file_is_relative_to_that_file(project: Path) -> None:
    with configured_user("[query]\nreranker = './models/x'\n[embedding]\nmodel = '~/x'\n") as file:
        found = load_settings(project)

    assert found.query.reranker == str(file.parent / "models" / "x")
    assert found.embedding.model == "~/x"


@pytest.mark.parametrize("path", ["a", "a/b", "./a", "a/./b/", ".lore", "a..b", "...", "notes"])
def test_relative_paths_in_the_project_stay_inside_it(project: Path, path: str) -> None:
    assert is_inside(path, project)
