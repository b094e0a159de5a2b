"""Search projects with little or no text to find."""

import json
from pathlib import Path

from tests.harness.commands import run_lore
from tests.harness.projects import write_project

DOCLETS = [
    {"kind": "class", "longname": "Neo.Button", "augments": ["Neo.core.Base"], "description": "A berth for a click."},
    {"kind": "function", "longname": "Neo.Button#press", "description": "Presses it firmly."},
]


def test_a_project_with_nothing_to_index_gets_no_advice_to_sync_again(tmp_path: Path) -> None:
    write_project(tmp_path, {"data.bin": b"\0\1", "ignored/a.md": "# A\n", ".gitignore": "ignored/\n"})

    synced = run_lore("sync", cwd=tmp_path)
    assert synced.returncode == 0
    for done in (synced, run_lore("search", "zebra", cwd=tmp_path), run_lore("status", cwd=tmp_path)):
        output = done.stdout + done.stderr
        assert "no files to index in this project" in output
        assert "index.include" in output
        assert "lore sync" not in output

    write_project(tmp_path, {"a.md": "# A\n\nOf the zebra.\n"})
    assert "no file" not in run_lore("sync", cwd=tmp_path).stderr
    assert run_lore("search", "zebra", cwd=tmp_path).stdout.startswith("1. a.md")


def test_a_document_without_a_body_is_found_by_its_front_matter(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.md": "---\ntitle: Zebra crossing\ntags: [stripes]\n---\n", "b.md": "# B\n\nOther.\n"})
    run_lore("sync", cwd=tmp_path)

    for word in ("crossing", "stripes"):
        assert run_lore("search", word, cwd=tmp_path).stdout.startswith("1. a.md")


def test_ignored_jsdoc_output_is_indexed_on_request_and_watched_like_any_file(tmp_path: Path) -> None:
    project, options = tmp_path / "project", ("--no-daemon",)
    config = '[index]\ninclude = ["docs/output/"]\n'
    files = {"lore.toml": config, ".gitignore": "docs/output/\n", "a.md": "# A\n"}
    write_project(project, {**files, "docs/output/all.json": json.dumps(DOCLETS)})

    assert json.loads(run_lore("sync", "--json", *options, cwd=project).stdout)["report"]["files"] == 2
    found = json.loads(run_lore("search", "berth for a click", "--json", *options, cwd=project).stdout)["results"][0]
    assert found["source"] == "docs/output/all.json"
    assert "class Neo.Button extends Neo.core.Base\nA berth for a click." in found["excerpt"]
    assert "Neo.Button" in run_lore("hierarchy", "Neo.Button", *options, cwd=project).stdout

    write_project(project, {"docs/output/all.json": json.dumps(DOCLETS[:1])})
    assert "stale: 1 file changed" in run_lore("search", "berth", *options, cwd=project).stderr
