"""The projects of one server have different names, also where their folders have the same."""

from pathlib import Path

import pytest

from lore_etl.core.errors import UsageError
from lore_server.http.guard import chosen
from lore_server.owner.projects import named_apart, read_projects
from tests.harness.permissions import without_permission


def test_projects_of_one_name_are_told_apart_by_their_paths_in_names_that_can_be_listed_and_sent() -> None:
    roots = [Path("/a/x/app"), Path("/b/x/app"), Path("/c/app"), Path("/lib")]
    same_in_full = named_apart([Path("/a/b"), Path("/a.b"), Path("/c/a.b")])
    of_any_bytes = named_apart([Path("/caf\udce9"), Path("/caf\udce8"), Path("/x")])

    assert named_apart(roots) == {"a.x.app": roots[0], "b.x.app": roots[1], "c.app": roots[2], "lib": roots[3]}
    assert len(same_in_full) == len(of_any_bytes) == 3
    assert all(name.encode("utf-8") for name in of_any_bytes)
    assert list(named_apart([Path("/a,b")])) == ["a_b"]  # a comma separates names


def test_a_folder_that_cannot_be_read_hides_no_project(tmp_path: Path) -> None:
    for name in ("app/.git", "lost+found/.git"):
        (tmp_path / name).mkdir(parents=True)

    with without_permission(tmp_path / "lost+found", tmp_path):
        assert list(read_projects(tmp_path)) == ["app"]


def test_a_file_lists_projects_each_once_by_paths_from_its_folder_of_any_encoding_and_user(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# team\n\none\n./one\n/elsewhere/two\n", encoding="utf-8")
    (tmp_path / "odd").write_bytes(b"caf\xe9\n~nobody-here/app\n")

    assert read_projects(tmp_path / "list") == {"one": tmp_path / "one", "two": Path("/elsewhere/two")}
    assert list(read_projects(tmp_path / "odd")) == ["caf?", "app"]


def test_a_folder_lists_the_projects_in_it(tmp_path: Path) -> None:
    for name in ("one/.git", "two/.lore", "notes", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "lore.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "one")

    assert list(read_projects(tmp_path)) == ["one", "three", "two"]


@pytest.mark.parametrize("text", ["", "# nothing\n", None])
def test_a_list_without_projects_is_an_error(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "list").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError):
        read_projects(tmp_path / "list")


@pytest.mark.parametrize(
    ("path", "names", "route"),
    [
        ("/", (), "/projects"),
        ("/mcp", (), "/mcp"),
        ("/mcp/a", ("a",), "/mcp"),
        ("/mcp/a/", ("a",), "/mcp"),
        ("/mcp/a,b", ("a", "b"), "/mcp"),
        ("/mcp/a,a", ("a",), "/mcp"),
        ("/projects/a/", ("a",), "/"),
        ("/projects/a/api/sources", ("a",), "/api/sources"),
        ("/projects/a,b/api/documents/query", ("a", "b"), "/api/documents/query"),
        ("/api/documents/query", (), "/api/documents/query"),
        ("/projects/c/api/sources", (), "/projects/c/api/sources"),
        ("/mcp/c", (), "/mcp/c"),
        ("/mcp/a,c", (), "/mcp/a,c"),
        ("/mcp/a/b", (), "/mcp/a/b"),
        ("/projects/a", ("a",), "/"),
    ],
)
def test_a_path_chooses_projects(path: str, names: tuple[str, ...], route: str) -> None:
    assert chosen(path, {"a", "b"}) == (names, route)
