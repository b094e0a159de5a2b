"""A path counts by the words that it shares with the question, and by the version in it."""

import pytest

from lore_server.query import hybrid
from lore_server.query.parse import parse
from lore_server.query.path_words import (
    SAME_BEGINNING,
    file_name_matches,
    name_words,
    path_sureness,
    set_aside,
    topic_matches,
)
from lore_server.query.ranking import HYBRID
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import make_chunk

LONG = "the dbshell command now supports the optional authority setting of the database for certificates"


def sureness(question: str, source: str) -> float:
    return path_sureness(question, [source])[source]


def test_one_word_of_a_short_question_is_enough_and_of_a_long_one_counts_less_than_several() -> None:
    one, two = sureness(LONG, "docs/settings.txt"), sureness(LONG, "docs/command/settings.txt")

    assert sureness("settings", "docs/ref/settings.txt") == 1
    assert sureness("how are settings read from files", "docs/ref/setting.txt") == 1
    assert 0 < one < two < sureness(LONG, "docs/database/command/settings.txt") == 1


def test_words_are_compared_as_the_index_has_them() -> None:
    assert sureness("Fix RetryPolicy", "ferry/retries/policy.py") == 1
    assert sureness("the of a to", "docs/of.md") == 1
    assert sureness("schedules", "docs/retry.md") == 0
    assert path_sureness("", ["a.md"]) == {"a.md": 0}


def test_the_best_path_of_a_long_question_has_all_points_only_if_it_has_several_of_its_words() -> None:
    def points(question: str, source: str) -> float:
        candidate = Candidate(make_chunk(source, text="x"), 0.5, 1.0, 3.0)
        [passage] = hybrid.score(parse(question), Candidates([candidate]), None, HYBRID)
        return dict(passage.why)["sourcePathMatch"]

    assert points("settings", "docs/settings.md") == HYBRID["sourcePathMatch"]
    assert points(LONG, "docs/settings.md") < HYBRID["sourcePathMatch"] / 2


@pytest.mark.parametrize(
    ("question", "source", "match"),
    [
        ("how does the retry policy work", "ferry/retry_policy.py", 1),
        ("how does the retry policy work", "src/RetryPolicy.swift", 1),
        ("how does the retry policy work", "ferry/policy.py", 1),
        ("how does the retry policy work", "ferry/retry_policy_test.go", 0),
        ("what changed in 11.20.0", "release/11.20.0.md", 1),
        ("what changed in 11.20.0", "release/11.19.0.md", 0),
        ("how does the retry policy work", "retry/policies/store.py", 0),
        ("positional argument validators", "args.go", SAME_BEGINNING),
        ("logging middleware", "logger.go", SAME_BEGINNING),
        ("how is it done", "do.py", 0),
        ("", "args.go", 0),
        ("settings", ".gitignore", 0),
        ("リトライ 方針", "docs/リトライ.md", 1),
    ],
)
def test_a_file_matches_if_the_question_spells_out_its_name(question: str, source: str, match: float) -> None:
    assert file_name_matches(name_words(question), [source]) == {source: match}


@pytest.mark.parametrize(
    ("question", "source", "match"),
    [
        ("state provider", "learn/StateProviders.md", 1),
        ("state provider", "src/state/Provider.mjs", 0.8),
        ("state provider", "src/view/MainContainerStateProvider.mjs", 0.4),
        ("state provider", "examples/stateProvider/index.mjs", 0.9),
        ("state provider", "examples/stateProvider/Panel.mjs", 0.5),
        ("state provider", "examples/stateProvider/inline/Panel.mjs", 0),
        ("grid", "src/grid/Base.mjs", 0.9),
        ("grid", "src/grid/column/Tree.mjs", 0),
        ("log buffer", "pkg/logbuffer/logbuffer.go", 1),
        ("log buffer", "pkg/logbuffer/reader.go", 0.5),
        ("log buffer", "pkg/log/reader.go", 0),
        ("waypoint up", "commands/up.mdx", 0),
        ("how do I install the runner in kubernetes clusters", "runner/install.md", 0),
    ],
)
def test_a_short_question_names_the_place_with_all_of_its_words(question: str, source: str, match: float) -> None:
    assert topic_matches(question, [source]).get(source, 0) == pytest.approx(match)


VERSIONS = {"src/v1/parse.ts", "src/v3/types.ts", "src/v4/parse.ts", "api/v1/routes.ts", "legacy/parse.ts", "v2.md"}
BESIDE_FILES = {"lib/V1/fields.py", "lib/fields.py", "v1/main.py", "main.py", "v1/other.py"}
TRANSLATIONS = {"docs/zh/a.md", "docs/zh/api/b.md", "site/pt-br/a.md", "README.zh-CN.md", "guide_fr.md"}
WITH_ORIGINALS = {
    *TRANSLATIONS, "docs/a.md", "site/en/a.md", "README.md", "guide.md",
    "es/only.md", "src/it/Test.java", "notes_de.md", "log.is.md",
}  # fmt: skip
MANUALS = {
    *(f"manual/{name}/n.md" for name in ("v1.8", "v1.9", "v1.10", "dev")),
    "docs/version-2.4/n.md", "docs/version-3.0/n.md",
}  # fmt: skip
TWINS = {
    "src/win/tty.c", "src/unix/tty.c", "term_windows.go", "term_linux.go",
    "src/win/pipe.c", "ui/windows.py", "src/winner/tty.c", "unix/tty.c",
}  # fmt: skip
ASIDE: dict[str, tuple[set[str], list[tuple[str, set[str]]]]] = {
    "a folder of an earlier version beside a later one": (VERSIONS, [
        ("how are values parsed", {"src/v1/parse.ts", "src/v3/types.ts", "legacy/parse.ts"}),
        ("how are values parsed in v3", {"src/v1/parse.ts", "legacy/parse.ts"}),
        ("in v3, how are values parsed?", {"src/v1/parse.ts", "legacy/parse.ts"}),
        ("the legacy parser", {"src/v1/parse.ts", "src/v3/types.ts"}),
    ]),
    "a folder v1 beside a file of the same name": (BESIDE_FILES, [
        ("how fields are declared", {"lib/V1/fields.py", "v1/main.py"}),
        ("how fields are declared in v1", set()),
    ]),
    "not a folder v2, because in Go the files beside it are the older ones": ({"main.go", "v2/main.go"}, [
        ("how fields are declared", set()),
    ]),
    "a version with several numbers, which are compared one by one": (MANUALS, [
        ("how are numbers rounded", {"manual/v1.8/n.md", "manual/v1.9/n.md", "docs/version-2.4/n.md"}),
        ("how are numbers rounded in 1.9", {"manual/v1.8/n.md", "docs/version-2.4/n.md"}),
        ("how are numbers rounded in v1.8?", {"manual/v1.9/n.md", "docs/version-2.4/n.md"}),
        ("what changed between 2.4 and 3.0", {"manual/v1.8/n.md", "manual/v1.9/n.md"}),
    ]),
    "a translation beside its original, for an English question": (WITH_ORIGINALS, [
        ("how do I write a plugin", TRANSLATIONS),
        ("how do I write a zh plugin", TRANSLATIONS - {"docs/zh/a.md", "docs/zh/api/b.md"}),
        ("如何编写插件", set()),
    ]),
    "a file for Windows beside its twin, unless the question names Windows": (TWINS, [
        ("size of the terminal window", {"src/win/tty.c", "term_windows.go"}),
        ("size of the terminal on Windows", set()),
        ("win32 terminal size", set()),
    ]),
}  # fmt: skip
"""The files that are set aside: all sources, and for each question those that count less."""


@pytest.mark.parametrize(("sources", "questions"), ASIDE.values(), ids=ASIDE)
def test_files_that_others_beside_them_replace_are_set_aside_unless_the_question_names_them(
    sources: set[str], questions: list[tuple[str, set[str]]]
) -> None:
    assert [(question, set_aside(question, sources)) for question, _ in questions] == questions


@pytest.mark.parametrize("folder", ["vendor", "lib/third_party", "node_modules"])
def test_the_code_of_other_projects_is_set_aside_unless_the_question_names_its_folder(folder: str) -> None:
    sources = {f"{folder}/decimal/round.c", "src/round.c", "src/vendors.c"}

    assert set_aside("how are numbers rounded", sources) == {f"{folder}/decimal/round.c"}
    assert set_aside(f"how are numbers rounded in {folder}", sources) == set()


@pytest.mark.parametrize(("words", "counts"), [(3, True), (30, False)])
def test_a_long_text_spells_out_names_of_files_by_chance(words: int, counts: bool) -> None:
    text = " ".join(["the retry policy", *["fails"] * (words - 3)])
    candidate = Candidate(make_chunk("ferry/retry_policy.py", "src", text="x"), 0.5, 1.0, 3.0)
    [passage] = hybrid.score(parse(text), Candidates([candidate]), None, HYBRID)

    assert ("fileNameMatch" in dict(passage.why)) is counts
