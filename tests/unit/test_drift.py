"""The group of a file, PRPs that name missing files, and files changed since they were read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.model import KnowledgeType
from lore_etl.digest import Spec
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_server.framework.index_file import drift
from lore_server.framework.view import SOURCES, Group, ViewEntry, group_of, references
from lore_server.replies.records import DriftRecord

PATHS = st.sampled_from(["a.py", "b.py", "ce/c.py", "../d.py"])


def entry(path: str, group: Group = Group.USER_PATTERNS, spec: Spec | None = None, key: str = "") -> ViewEntry:
    return ViewEntry(key or path.rpartition("/")[2].partition(".")[0], group, path, "Title", "Text", (), spec=spec)


def prp(key: str, path: str = "", **about: object) -> ViewEntry:
    return entry(path or f"PRPs/executed/{key}.md", Group.USER_PRPS, Spec.model_validate(about), key)


def violations(found: DriftRecord) -> list[tuple[str, str, str]]:
    return [(violation["type"], violation["source"], violation["target"]) for violation in found["violations"]]


def test_an_empty_project_has_no_drift() -> None:
    assert drift([], lambda path: False, ()) == {"score": 0.0, "total": 0, "violations": []}


@pytest.mark.requirement("KM-006")
def test_a_missing_file_named_by_a_prp_is_drift() -> None:
    entries = [
        prp("PRP-1", implementations=["ce/there.py", "ce/gone.py"]),
        entry("examples/patterns/api.md"),
        prp("PRP-2", examples=["examples/patterns/api.md", "examples/patterns/gone.md", "examples/other.md"]),
    ]

    found = drift(entries, lambda path: path in ("ce/there.py", "examples/other.md"), {"examples/patterns/api.md"})

    assert violations(found) == [
        ("missing_implementation", "PRPs/executed/PRP-1.md", "ce/gone.py"),
        ("missing_pattern", "PRPs/executed/PRP-2.md", "examples/patterns/gone.md"),
        ("changed_since_index", "examples/patterns/api.md", "examples/patterns/api.md"),
    ]
    assert found["score"] == 0.375
    assert found["violations"][0] == {
        "type": "missing_implementation",
        "source": "PRPs/executed/PRP-1.md",
        "target": "ce/gone.py",
        "message": "PRP-1 names the implementation ce/gone.py, which does not exist.",
    }


def test_a_missing_file_named_by_an_open_prp_is_not_drift() -> None:
    about = {"implementations": ["ce/new.py"], "examples": ["examples/new.md"]}
    waiting = prp("PRP-1", "PRPs/feature-requests/PRP-1.md", status="draft", **about)
    done = prp("PRP-2", "PRPs/PRP-2.md", status="Executed", **about)

    assert violations(drift([waiting], lambda path: False, ())) == []
    assert len(violations(drift([done], lambda path: False, ()))) == 2


def test_a_file_with_many_rules_is_checked_once() -> None:
    rules = [entry(".ce/RULES.md", Group.SYSTEM_RULES, key=key) for key in ("a", "b")]

    found = drift(rules, lambda path: True, {".ce/RULES.md"})

    assert (found["score"], violations(found)) == (1.0, [("changed_since_index", ".ce/RULES.md", ".ce/RULES.md")])


@given(st.lists(st.lists(PATHS, max_size=3), max_size=5), st.sets(PATHS), st.sets(st.integers(0, 4)))
@pytest.mark.requirement("KM-006")
def test_the_drift_score_is_the_share_of_failed_checks(
    named: list[list[str]], there: set[str], edited: set[int]
) -> None:
    entries = [prp(f"PRP-{n}", implementations=paths) for n, paths in enumerate(named)]
    changed = {f"PRPs/executed/PRP-{n}.md" for n in edited}

    found = drift(entries, there.__contains__, changed)

    missing = sum(path not in there for paths in named for path in paths)
    stale = sum(entry.path in changed for entry in entries)
    checked = sum(map(len, named)) + len(entries)
    assert len(found["violations"]) == missing + stale
    assert found["score"] == (round((missing + stale) / checked, 4) if entries else 0.0)
    assert 0 <= found["score"] <= 1
    assert drift(entries, lambda path: True, ())["violations"] == []


@pytest.mark.requirement("KM-025")
def test_29_3_cross_references_match_a_pattern_by_path_file_name_or_whole_word() -> None:
    patterns = [
        entry(".ce/examples/system/patterns/error-recovery.py", Group.SYSTEM_PATTERNS),
        entry("examples/patterns/retry.md"),
        entry("examples/patterns/README.md"),
    ]
    texts = {
        "PRP-1": "error-recovery",
        "PRP-2": "error-recovery.py other",
        "PRP-3": "patterns/error-recovery",
        "PRP-4": ".ce/examples/system/patterns/error-recovery.py error-recovery",
        "PRP-5": "my-error-recovery error-recovery-2 src/error-recovery.py error-recovery.md",
        "PRP-6": "retry",
        "PRP-7": "README README.md docs/README.md",
        "PRP-8": "patterns/README.md",
        "PRP-9": "",
    }

    found = references(patterns, [prp(key, names=names) for key, names in texts.items()])

    assert found == {
        ".ce/examples/system/patterns/error-recovery.py": ("PRP-1", "PRP-2", "PRP-3", "PRP-4"),
        "examples/patterns/retry.md": ("PRP-6",),
        "examples/patterns/README.md": ("PRP-8",),
    }


LAYOUT = {
    ".ce/examples/system/patterns/error-recovery.py": "system_patterns",
    ".ce/examples/system/patterns/test_plan.py": "system_patterns",
    ".ce/examples/overview.md": "system_patterns",
    "sub/.ce/examples/a.md": "system_patterns",
    "examples/patterns/api.py": "user_patterns",
    "examples/api-errors.md": "user_patterns",
    "context-engineering/examples/a.md": "user_patterns",
    ".ce/PRPs/system/executed/PRP-1.md": "system_prps",
    ".ce/PRPs/system/PRP-2.md": "system_prps",
    "PRPs/executed/PRP-29.md": "user_prps",
    "PRPs/feature-requests/PRP-30.md": "user_prps",
    "context-engineering/PRPs/PRP-8.6.md": "user_prps",
    ".serena/memories/guide.md": "memories",
    ".ce/memories/guide.md": "memories",
    ".ce/RULES.md": "system_rules",
    ".ce/rules/python.md": "system_rules",
    "CLAUDE.md": None,
    ".cefoo/PRPs/PRP-1.md": "user_prps",
    ".ce": None,
    "src/app.py": None,
    "docs/guide.md": None,
}


@pytest.mark.parametrize(("path", "group"), LAYOUT.items())
@pytest.mark.requirement("KM-014")
def test_the_group_of_a_file_depends_on_its_path(path: str, group: str | None) -> None:
    source = SourceSet(SourceContext((), lambda _: None), {}).owner(path)

    assert (source and group_of(path, source.kind.type)) == group


def test_specs_in_another_folder_are_in_the_same_group() -> None:
    assert group_of("specs/one.md", KnowledgeType.PRP) is Group.USER_PRPS


def test_the_group_names_of_the_other_original_are_unions_of_groups() -> None:
    assert SOURCES["framework"] == (Group.SYSTEM_PATTERNS, Group.SYSTEM_PRPS, Group.SYSTEM_RULES)
    assert SOURCES["prp"] == (Group.SYSTEM_PRPS, Group.USER_PRPS)
    assert SOURCES["example"] == (Group.SYSTEM_PATTERNS, Group.USER_PATTERNS)
    assert SOURCES["memory"] == (Group.MEMORIES,)
    assert [SOURCES[group.value] for group in Group] == [(group,) for group in Group]
