import json
from pathlib import Path

import pytest

from lore_etl.config.project import find_project, merge, place_of
from lore_etl.config.settings import Settings, load_settings
from lore_etl.core.errors import ConfigError


def settings(folder: Path, toml: str, extra: str | None = None, name: str = "extra.json") -> Settings:
    (folder / "lore.toml").write_text(toml, encoding="utf-8")
    if extra is None:
        return load_settings(folder)
    (folder / name).write_text(extra, encoding="utf-8")
    return load_settings(folder, folder / name)


@pytest.mark.requirement("NEO-052", "NEO-055")
def test_a_second_file_of_json_or_toml_overrides_the_projects_file_and_that_the_defaults_table_by_table(
    tmp_path: Path,
) -> None:
    toml = "[index]\npath = 'x'\nexclude = ['a', 'b']\n[query.weights]\nguideMatch = 1\nagePenalty = 2\n"
    extra = json.dumps({"index": {"exclude": ["c"]}, "query": {"weights": {"guideMatch": 5}}})

    assert load_settings(tmp_path) == Settings()
    found = settings(tmp_path, toml, extra)

    assert (found.index.path, found.index.exclude) == ("x", ["c"])
    assert found.query.weights == {"guideMatch": 5, "agePenalty": 2}
    assert settings(tmp_path, "", "[server]\nport = 0\n", "extra.toml").server.port == 0


def test_equivalent_configurations_are_equal(tmp_path: Path) -> None:
    """An owner with another configuration is replaced, but comments do not make it another configuration."""
    files = {"bare": None, "comments": "# index\n[index]\n# path = 'x'\n[query]\n", "other": "[index]\npath = 'x'\n"}
    digests = {}
    for name, text in files.items():
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "lore.toml").write_text(text, encoding="utf-8")
        digests[name] = place_of(tmp_path / name).digest

    assert digests["bare"] == digests["comments"] != digests["other"]


def test_merging_modifies_neither_input() -> None:
    base, over = {"a": {"b": 1}, "c": {"d": 2}}, {"a": {"e": 3}, "c": 4}

    assert merge(base, over) == {"a": {"b": 1, "e": 3}, "c": 4}
    assert (base, over) == ({"a": {"b": 1}, "c": {"d": 2}}, {"a": {"e": 3}, "c": 4})


@pytest.mark.parametrize(
    ("toml", "message", "hint"),
    [
        ("[indx]\n", "Unknown configuration key `indx`.", "Did you mean `index`?"),
        ("[index]\nexclud = []\n", "Unknown configuration key `index.exclud`.", "Did you mean `exclude`?"),
        (
            "[server]\nzzz = 1\n",
            "Unknown configuration key `server.zzz`.",
            "Known keys here: allowed_hosts, host, port, webhooks.",
        ),
        ("x = 1\n[index]\n", "Unknown configuration key `x`.", None),
        ("[server]\nport = 'a'\n", "Configuration key `server.port`: ", None),
        ("[server]\nhost = 'http://a'\n", "Configuration key `server.host`: ", None),
        ("[answer]\nbase_url = 'https://collector.example'\n", "Configuration key `answer.base_url`: ", None),
        ("[embedding]\nbase_url = 'http://x.googleapis.com'\n", "Configuration key `embedding.base_url`: ", None),
        ("[answer]\nbase_url = 'https://googleapis.com.evil.example'\n", "Configuration key `answer.base_url`: ", None),
        ("[index]\nguard_share = 0\n", "Configuration key `index.guard_share`: ", None),
        ("index = 3\n", "Configuration key `index`: ", None),
        ("[query]\nrerank_depth = 1\n", "Configuration key `query.rerank_depth`: ", None),
        ("[query]\nrerank_depth = 201\n", "Configuration key `query.rerank_depth`: ", None),
        ("[sources]\nguides = 'a'\n", "Configuration key `sources.guides`: ", None),
        ("[database]\ncollection = 'a b'\n", "Configuration key `database.collection`: ", None),
        ("[index\n", "lore.toml is not valid: ", None),
    ],
)
def test_a_wrong_key_or_value_is_reported_by_name(tmp_path: Path, toml: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as found:
        settings(tmp_path, "", toml, "lore.toml")

    assert found.value.message.startswith(message)
    assert hint is None or found.value.hint == hint


INVALID = ["{", "[" * 100_000, "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"), ""]


@pytest.mark.parametrize(
    ("text", "problem"),
    [*((text, "is not valid: ") for text in INVALID), ("[1]", r"must contain a table at the top level\.")],
)
def test_an_invalid_second_file_is_reported_by_name(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"extra\.json {problem}"):
        settings(tmp_path, "", text)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()

    with pytest.raises(ConfigError, match=r"Cannot read absent\.toml: No such file"):
        load_settings(tmp_path, tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match=r"Cannot read folder\.toml: Is a directory"):
        load_settings(tmp_path, tmp_path / "folder.toml")


@pytest.mark.parametrize("mark", ["lore.toml", ".git"])
def test_the_project_is_the_nearest_marked_parent_folder(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / mark).write_text("", encoding="utf-8")

    assert find_project(inner) == find_project(tmp_path / "a") == (tmp_path / "a").resolve()


def test_without_a_marked_folder_the_project_is_the_current_folder(tmp_path: Path) -> None:
    outside = [
        folder
        for folder in (tmp_path, *tmp_path.parents)
        if (folder / ".git").exists() or (folder / "lore.toml").exists()
    ]

    assert find_project(tmp_path) == (outside[0] if outside else tmp_path.resolve())
