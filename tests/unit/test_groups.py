"""The group of a file, and the group names of both original systems."""

import pytest

from lore_etl.core.model import KnowledgeType
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_server.framework.view import SOURCES, Group, group_of

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

    assert (source and group_of(path, source.type)) == group


def test_specs_in_another_folder_are_in_the_same_group() -> None:
    assert group_of("specs/one.md", KnowledgeType.PRP) is Group.USER_PRPS


def test_the_group_names_of_the_other_original_are_unions_of_groups() -> None:
    assert SOURCES["framework"] == (Group.SYSTEM_PATTERNS, Group.SYSTEM_PRPS, Group.SYSTEM_RULES)
    assert SOURCES["prp"] == (Group.SYSTEM_PRPS, Group.USER_PRPS)
    assert SOURCES["example"] == (Group.SYSTEM_PATTERNS, Group.USER_PATTERNS)
    assert SOURCES["memory"] == (Group.MEMORIES,)
    assert [SOURCES[group.value] for group in Group] == [(group,) for group in Group]
