"""A project is identified by its whole remote or path, and a claimed remote grants no access."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lore_server.knowledge.registry import Identity, Registry, identity_of, normalised_remote, read_registry, spelled
from tests.harness.knowledge import git

REMOTE = "github.com/finance/backend"
OURS = Identity("~/work/backend", REMOTE, "backend")
EVIL = Identity("~/Downloads/backend", "github.com/evil/backend", "backend")
FORGED = Identity("~/Downloads/backend", REMOTE, "backend")
LOCAL = Identity("~/notes/backend", "", "backend")


SPELLINGS = [
    "https://github.com/finance/backend",
    "https://github.com/finance/backend.git",
    "https://GitHub.com:443/finance/backend.git/",
    "https://user:secret@github.com/finance//backend/",
    "http://github.com./finance/backend",
    "ssh://git@github.com/finance/backend.git",
    "ssh://git@github.com:22/finance/backend",
    "git://github.com/finance/backend.git",
    "git+ssh://git@github.com/finance/backend",
    "git@github.com:finance/backend.git",
    "git@GITHUB.com:/finance/backend.git/",
    "github.com:finance/backend",
    " github.com:finance/backend\n",
]


@pytest.mark.parametrize(
    ("remote", "other"),
    [
        ("git@github.com:finance/backend", "git@github.com:evil/backend"),
        ("git@github.com:finance/backend", "git@gitlab.com:finance/backend"),
        ("git@github.com:finance/backend", "git@github.com:finance/Backend"),
        ("git@github.com:a/finance/backend", "git@github.com:finance/backend"),
        ("/srv/github.com/finance/backend", "github.com:finance/backend"),
        ("git@[::1]:app", "git@[::2]:app"),
    ],
)
def test_different_repositories_have_different_identities(remote: str, other: str) -> None:
    assert normalised_remote(remote) != normalised_remote(other)


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        *((spelling, REMOTE) for spelling in SPELLINGS),
        ("/srv/git/app.git", "file:///srv/git/app"),
        ("file:///srv/git/app.git/", "file:///srv/git/app"),
        ("ssh://git@[::1]:22/app", "::1/app"),
        ("https://host/a%20b", "host/a b"),
        ("../app", ""),
        ("app", ""),
        ("", ""),
        ("https://host", ""),
        ("https://host:port/app", ""),
        ("https://host/%ff", ""),
        ("https://host/a\nb", ""),
        ("host:" + "x" * 600, ""),
    ],
)
def test_all_spellings_of_a_remote_have_the_same_identity_and_unusable_remotes_have_none(
    address: str, identity: str
) -> None:
    assert normalised_remote(address) == identity


def test_a_clone_is_identified_by_its_remote_and_a_plain_folder_by_its_path(tmp_path: Path) -> None:
    clone, plain = tmp_path / "clone", tmp_path / "My App"
    plain.mkdir()
    git(tmp_path, "init", "-q", str(clone))
    git(clone, "remote", "add", "origin", "git@github.com:finance/backend.git")

    assert identity_of(clone) == Identity(spelled(clone), REMOTE, "backend")
    assert identity_of(plain) == Identity(spelled(plain), "", "My App")


def test_a_folder_in_the_home_folder_has_the_same_identity_on_all_machines() -> None:
    assert spelled(Path.home() / "work" / "app") == "~/work/app"
    assert spelled(Path("/srv/app")) == "/srv/app"
    assert spelled(Path("/srv/a\nb")) == "/srv/a%0Ab"
    assert spelled(Path(os.fsdecode(b"/srv/\xff"))) == "/srv/%FF"


@pytest.mark.parametrize("kind", ["fifo", "device", "link", "folder", "include", "huge", "link to .git"])
def test_a_hostile_git_folder_neither_claims_an_identity_nor_hangs(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    git(tmp_path, "init", "-q", str(outside))
    git(outside, "remote", "add", "origin", "git@github.com:finance/backend.git")
    config = tmp_path / "evil" / ".git" / "config"
    config.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(config)
    elif kind == "device":
        config.symlink_to("/dev/zero")
    elif kind == "link":
        config.symlink_to(outside / ".git" / "config")
    elif kind == "folder":
        config.mkdir()
    elif kind == "include":
        config.write_text(f"[include]\n\tpath = {outside}/.git/config\n[x]\n\torigin = 1\n")
    elif kind == "huge":
        config.write_text('[remote "origin"]\n\turl = github.com:finance/backend\n' + "#" * 2_000_000)
    else:
        config.parent.rmdir()
        config.parent.symlink_to(outside / ".git")

    assert identity_of(tmp_path / "evil").remote == ""


def test_a_linked_worktree_of_a_known_repository_is_the_same_folder_and_a_forged_one_a_separate_one(
    tmp_path: Path,
) -> None:
    main, linked, forged = (tmp_path / name for name in ("main", "linked", "forged"))
    git(tmp_path, "init", "-q", str(main))
    git(main, "remote", "add", "origin", "git@github.com:finance/backend.git")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(linked))
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {main}/.git/worktrees/linked\n")

    assert identity_of(linked, {spelled(main)}) == identity_of(main)
    assert identity_of(linked) == Identity(spelled(linked), "", "linked")
    assert identity_of(forged, {spelled(main)}) == Identity(spelled(forged), "", "forged")


# --- the project of a folder -----------------------------------------------------------------------------------------


EMPTY = read_registry(None, None)


def added(registry: Registry, name: str) -> Registry:
    """Return the registry with a project, as its index lists it."""
    return replace(registry, projects={**registry.projects, name: f"folder-of-{name}"})


def begun(*identities: Identity, registry: Registry = EMPTY) -> Registry:
    """Return the registry after the first write in each of these folders, as it is read back."""
    for identity in identities:
        name = registry.project_of(identity)
        registry = added(registry, name).using(name, identity)
    return replace(read_registry(None, registry.record()), projects=registry.projects)


def test_folders_with_the_same_name_are_different_projects() -> None:
    registry = begun(OURS, EVIL, LOCAL)
    used = [registry.project_of(identity) for identity in (OURS, EVIL, LOCAL)]

    assert used[0] == "backend"
    assert len(set(used)) == 3
    assert all(name.startswith("backend-") for name in used[1:])
    assert [registry.candidates(identity) for identity in (OURS, EVIL, LOCAL)] == [[], [], []]


def test_a_forged_remote_grants_no_access_until_the_user_confirms_it() -> None:
    before = begun(OURS)
    name = before.project_of(FORGED)
    written = begun(FORGED, registry=before)
    confirmed = before.using("backend", FORGED)

    assert name != "backend"
    assert before.candidates(FORGED) == ["backend"]
    assert (written.project_of(FORGED), written.project_of(OURS)) == (name, "backend")
    assert written.candidates(FORGED) == ["backend"]
    assert (confirmed.project_of(FORGED), confirmed.candidates(FORGED)) == ("backend", [])
    assert confirmed.project_of(OURS) == "backend"


def test_another_repository_at_the_same_path_and_a_changed_remote_do_not_inherit_the_project_unconfirmed() -> None:
    first = EVIL._replace(remote="github.com/finance/api")
    pushed = LOCAL._replace(remote="github.com/me/backend")
    there, registry = begun(first), begun(LOCAL)

    assert there.project_of(EVIL) != there.project_of(first)
    assert there.project_of(EVIL._replace(remote="")) != there.project_of(first)
    assert registry.candidates(pushed) == ["backend"]
    registry = registry.using("backend", pushed)
    assert registry.project_of(pushed) == "backend"
    assert registry.candidates(pushed._replace(remote="gitlab.com/me/backend")) == ["backend"]


def test_a_project_without_an_origin_is_offered_but_never_used_without_confirmation() -> None:
    registry = added(EMPTY, "backend")
    assert registry.project_of(OURS) != "backend"
    registry = begun(OURS, registry=registry)
    assert registry.candidates(OURS) == ["backend"]

    registry = registry.using("backend", OURS)

    assert (registry.project_of(OURS), registry.candidates(OURS)) == ("backend", [])
    assert registry.origins["backend"] == REMOTE
    assert registry.candidates(EVIL) == []
    assert registry.candidates(FORGED) == ["backend"]


@pytest.mark.parametrize(
    "name", ["Back End", "back-end", "BACK END", "git@github.com:finance/api", "https://github.com/finance/api"]
)
def test_an_old_project_whose_name_or_remote_fits_is_offered(name: str) -> None:
    identity = Identity("~/work/Back End", "github.com/finance/api", "api")

    assert added(EMPTY, name).candidates(identity) == [name]
    assert added(EMPTY, f"{name}-x").candidates(identity) == []


def test_a_remote_is_confirmed_once_for_all_its_clones() -> None:
    second = FORGED._replace(folder="~/ci/backend")
    registry = begun(OURS, second)
    separate = registry.project_of(second)
    registry = registry.using("backend", OURS, all_clones=True)
    registry = read_registry(None, registry.record())

    assert separate != "backend"
    assert {registry.project_of(clone) for clone in (OURS, FORGED, second)} == {"backend"}
    assert registry.candidates(FORGED) == []
    assert registry.project_of(EVIL) != "backend"
    assert registry.project_of(FORGED._replace(remote="")) != "backend"
    registry = registry.using(separate, second)  # one folder can still differ
    assert (registry.project_of(second), registry.project_of(FORGED)) == (separate, "backend")


def test_the_name_of_a_deleted_project_stays_reserved() -> None:
    registry = replace(begun(OURS), projects={})

    assert registry.project_of(OURS) == "backend"
    assert registry.project_of(EVIL) != "backend"
    assert registry.project_of(FORGED) != "backend"


def test_invalid_values_in_the_record_are_dropped_and_the_others_kept() -> None:
    data = b'{"projects": {"a": "a"}, "origins": {"a": 1, "b": "x"}, "folders": {"f": 1, "g": {"project": "a"}}}'

    assert read_registry(data, data) == Registry({"a": "a"}, {"b": "x"}, {}, {})
    assert read_registry(None, b'{"origins": [], "folders": 3, "remotes": [{}]}') == EMPTY
