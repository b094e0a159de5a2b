"""Reading filters, phrases and excluded words in a query, and leaving everything else as text."""

import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lore_etl.chunking.code_languages import code_languages
from lore_etl.core.errors import InvalidArgument
from lore_etl.sources.source import SYNTAXES
from lore_server.query.filters import NO_FILTERS, Filters, by_age, by_suffix, pattern_of
from lore_server.query.syntax import read_request

DAY = datetime.date


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        ("retry type:guide", "retry", Filters(types=("guide",))),
        ("type:src,guide retry", "retry", Filters(types=("guide", "src"))),
        ("type:guide retry type:test backoff", "retry backoff", Filters(types=("guide", "test"))),
        ("retry type:all", "retry", NO_FILTERS),
        ("retry -type:ticket", "retry", Filters(without_types=("ticket",))),
        ("retry path:docs/**", "retry", Filters(paths=("docs/**",))),
        ("retry path:docs/ path:./src", "retry", Filters(paths=("docs", "/src"))),
        ("retry path:. path:./", "retry", NO_FILTERS),
        (r"retry path:docs\adr", "retry", Filters(paths=("docs/adr",))),
        ('retry path:"my docs/**"', "retry", Filters(paths=("my docs/**",))),
        ("retry -path:tests/**", "retry", Filters(without_paths=("tests/**",))),
        ("retry lang:Python", "retry", Filters(langs=("python",))),
        ("retry -lang:md,py", "retry", Filters(without_langs=("md", "py"))),
        ("retry after:2025-01-01", "retry", Filters(after=DAY(2025, 1, 1))),
        ("retry after:2025 before:2025-07", "retry", Filters(after=DAY(2025, 1, 1), before=DAY(2025, 7, 1))),
        ("retry after:2024-01-01 after:2025-01-01?", "retry", Filters(after=DAY(2025, 1, 1))),
        ('what is "exactly  once"?', "what is exactly once?", Filters(phrases=("exactly once",))),
        ('"std::vector"', "std::vector", Filters(phrases=("std::vector",))),
        ('"say ""hi"" now"', 'say "hi" now', Filters(phrases=('say "hi" now',))),
        ('"-verbose"', "-verbose", Filters(phrases=("-verbose",))),
        ("retry -jitter", "retry", Filters(without=("jitter",))),
        ('retry -"full jitter"', "retry", Filters(without=("full jitter",))),
        ("-jitter retry, -Neo.button.Base", "retry,", Filters(without=("jitter", "Neo.button.Base"))),
    ],
)
def test_filters_phrases_and_excluded_words_are_taken_out_of_the_text(query: str, text: str, filters: Filters) -> None:
    request = read_request(query)

    assert (request.text, request.filters) == (text, filters)


@pytest.mark.parametrize(
    "query",
    [
        "std::vector", "http://host:80/path:x", "a -> b", r"C:\dir", r"open C:\dir\file.txt", "Neo.button.Base",
        "foo-bar", "what does the -turn-off flag do",
        "--flag", "git log --oneline", "note: this", "type: guide", "the path: docs", "a - b", "- item",
        "pip install -r requirements.txt", "java -Dkey=value", "-5 degrees", "x -1", "Content-Type:application/json",
        '{"type": "guide", "path": "docs"}', '"type": "module",', '["a", "b"]', '{ "a" : "b" }',
        '[2025-01-01 10:00:00] ERROR open "foo bar" failed', '2025-01-01T10:00:00Z msg type:guide "a b"',
        '127.0.0.1 - - [10/Oct/2000] "GET /apache.gif HTTP/1.0" 200', "ERROR -retry type:job", "<a path:x>",
        'level=info msg="retry failed"', 'error open "foo bar": no such file', "it's 5\" long", '""', '" a "',
        '"' * 1500 + " text",
        "Traceback\n  File \"x.py\" type:guide", "how are jobs retried?", "v2.0.0", "#8156", "-x", "std::a<-b>",
        "subtype:guide", "type::guide x"[:4], "a:b", "::", "->", "C# -", "x-type:guide", "key:value", "since:2025",
    ],
)  # fmt: skip
def test_text_that_only_looks_like_syntax_is_left_as_it_is(query: str) -> None:
    request = read_request(query)

    assert (request.text, request.filters) == (query, NO_FILTERS)


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("retry type:guides", "`type` cannot be 'guides'", "Did you mean `guide`?"),
        ("retry -type:tickets", "`type` cannot be 'tickets'", "Did you mean `ticket`?"),
        ("retry type:source", "`type` cannot be 'source'", "Valid values: all, guide"),
        ("retry lang:pyton", "`lang` cannot be 'pyton'", "Did you mean `python`?"),
        ("retry after:yesterday", "`after` cannot be 'yesterday': this is not a date", "`after:2025-01-01`"),
        ("retry before:2025-02-30", "`before` cannot be '2025-02-30'", "`before:2025-01-01`"),
        ("retry -after:2025-01-01", "`-after:` is not a filter", "Use `before:`"),
        ("retry path:", "`path:` has no value", "`path:docs/**`"),
        ('retry path:""', "`path:` has no value", "`path:docs/**`"),
        ('retry type:","', "`type` cannot be ''", "Valid values"),
        ('retry "exact phrase', 'The quote in `"exact phrase` is not closed', "Add a quote at its end"),
        ('retry -"exact phrase', 'The quote in `-"exact phrase` is not closed', "Add a quote at its end"),
        ('retry path:"my docs', 'The quote in `path:"my` is not closed', 'path:"…"'),
        ("path:docs/** type:guide", "The query has only filters", "Add words to search for"),
        ("path:docs/** -jitter", "The query only excludes words", "Add a word to look for"),
        ("-verbose -quiet", "needs at least one to look for", '`-verbose`, quote it: `"-verbose"`'),
        ('-"so verbose"', "needs at least one to look for", 'quote it: `"-so verbose"`'),
    ],
)
def test_wrong_syntax_is_reported_with_the_part_and_the_fix(query: str, message: str, hint: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_request(query)

    assert message in caught.value.message
    assert hint in caught.value.hint


def test_ages_count_everything_newer_than_their_day_and_languages_are_suffixes_in_any_case() -> None:
    days = ["2026-03-31", "2026-03-31T09:00:00Z", "2026-03-25", "2026-03-24", "2025-04-01", "2024-01-01", "", "soon"]

    assert by_age(days, datetime.date(2026, 3, 31)) == [
        ("2026-03-31", 2), ("2026-03-25", 3), ("2026-03-01", 4), ("2025-03-31", 5)
    ]  # fmt: skip
    assert by_suffix(["a.py", "b.PY", "c.mjs", "Makefile", "d.unheard"]) == [("py", 2), ("mjs", 1)]


def test_arguments_are_filters_too_and_values_of_one_filter_are_alternatives() -> None:
    request = read_request("retry type:guide", ["src"], "docs/**", ["py", "md"], "2025-01-01", "2026-01-01")

    assert request.text == "retry"
    assert request.filters == Filters(
        types=("guide", "src"), paths=("docs/**",), langs=("py", "md"), after=DAY(2025, 1, 1), before=DAY(2026, 1, 1)
    )


@pytest.mark.parametrize(
    "arguments", [{"paths": ""}, {"paths": ["docs", " "]}, {"langs": ""}, {"after": ""}, {"types": ["guides"]}]
)
def test_wrong_arguments_are_reported(arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument):
        read_request("retry", **arguments)


def test_every_language_with_a_grammar_is_a_filter() -> None:
    for name, language in code_languages().items():
        for file in language.files:
            path = f"src/a{file}" if file.startswith(".") else f"src/{file}"
            assert read_request(f"x lang:{name}").filters.accept_file(path, "src"), file
            assert read_request("x", langs=file).filters.accept_file(path, "src"), file


def test_every_file_of_a_known_syntax_belongs_to_a_language() -> None:
    for file in SYNTAXES:
        path = f"docs/a{file}" if file.startswith(".") else f"docs/{file}"
        assert read_request("x", langs=file).filters.accept_file(path, "guide"), file
    for path in ("a.Rmd", "a.qmd", "README", ".cursor/rules/a.mdc"):
        assert read_request("x lang:markdown").filters.accept_file(path, "guide"), path
    assert read_request("x lang:document").filters.accept_file("manual.pdf", "guide")
    assert not read_request("x lang:document").filters.accept_file("manual.md", "guide")


SIGNS = st.sampled_from([" ", *'type: path: lang: after: before: - " guide 2025-01-01 \\ :'.split()])
PIECES = st.lists(st.text(max_size=12) | SIGNS, max_size=12).map("".join)


@given(PIECES)
@example('"' * 7)
@example("path:**/**/***")
def test_any_text_is_read_or_refused_with_a_hint(text: str) -> None:
    try:
        request = read_request(text)
    except InvalidArgument as error:
        assert error.message and error.hint
    else:
        assert isinstance(request.text, str)
        request.filters.accept_file("docs/a.md", "guide")


@given(st.text(min_size=1).map(str.strip).filter(lambda text: "\n" not in text.strip() and text.strip('" ') != ""))
def test_any_text_in_quotes_is_searched_literally(text: str) -> None:
    literal = " ".join(text.split())
    quoted = '"' + literal.replace('"', '""') + '"'

    assert read_request(f"x {quoted}").filters == Filters(phrases=(literal,))


GLOBS = [
    ("docs", "docs/a/b.md", True),
    ("docs", "src/docs/b.md", True),
    ("/docs", "docs/a/b.md", True),
    ("/docs", "src/docs/b.md", False),
    ("/a.md", "a.md", True),
    ("./a.md", "docs/a.md", False),
    ("docs/**", "docs/a/b.md", True),
    ("docs/**", "src/docs/b.md", False),
    ("docs/*.md", "docs/a.md", True),
    ("docs/*.md", "docs/a/b.md", False),
    ("docs/**/*.md", "docs/a.md", True),
    ("docs/**/*.md", "docs/a/b/c.md", True),
    ("**/adr/*", "docs/adr/1.md", True),
    ("**/adr", "adr/1.md", True),
    ("*.md", "docs/a.md", True),
    ("*.md", "docs/a.mdx", False),
    ("a?.md", "docs/ab.md", True),
    ("docs/a", "docs/ab.md", False),
    ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
    ("DOCS/**", "docs/a.md", True),
    ("docs/retries.md", "docs/retries.md", True),
]


@pytest.mark.parametrize(("pattern", "path", "matches"), GLOBS)
def test_a_path_is_a_file_a_folder_or_a_pattern(pattern: str, path: str, matches: bool) -> None:
    filters = read_request("x", paths=pattern).filters

    assert filters.accept_file(path, "guide") is matches
    assert read_request(f'x -path:"{pattern}"').filters.accept_file(path, "guide") is not matches


@pytest.mark.parametrize(
    ("phrase", "text", "matches"),
    [
        ("exactly once", "delivered\n  Exactly\tONCE.", True),
        ("once", "concerning", False),
        ("retry", "retry_policy", False),
        ("std::vector", "a std::vector<int>", True),
        ("->", "a->b", True),
        ("连接池", "数据库连接池的配置", True),
        ("größe", "Die GRÖßE", True),
        ("--flag", "use --flag now", True),
        ("foo.bar", "x.foo.bar.baz", True),
    ],
)
def test_a_phrase_matches_whole_words_in_any_case_and_with_any_white_space(
    phrase: str, text: str, matches: bool
) -> None:
    assert bool(pattern_of(phrase).search(text)) is matches
