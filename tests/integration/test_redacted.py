"""No secret of a project's files reaches the index, and the next sync removes those of older versions."""

from pathlib import Path

import pytest

import lore_etl.pipeline.extract
from lore_etl.pipeline.sync import sync
from tests.harness.models import HashModel
from tests.harness.projects import open_index, settle, write_project
from tests.harness.secrets import secrets

pytestmark = pytest.mark.later

FORMATS = list(secrets(seed=1))


def files_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    texts = [f"# {one.name}\n\nTo be kept.\n\n    {one.text.replace(chr(10), chr(10) + '    ')}\n" for one in FORMATS]
    files = {f"docs/note{number}.md": text for number, text in enumerate(texts)}
    return write_project(tmp_path / "leaky", {**files, "src/app.py": "\n".join(sample.text for sample in FORMATS)})


@pytest.mark.requirement("UQ-036")
@pytest.mark.promise(21)
def test_no_file_of_the_index_contains_a_secret(project: Path) -> None:
    index = open_index(project, model=HashModel())
    report = sync(index)
    index.close()

    content = files_below(index.folder)
    assert [sample.name for sample in FORMATS if any(line.encode() in content for line in sample.lines)] == []
    assert len([warning for warning in report.warnings if "secrets removed" in warning]) == len(FORMATS) + 1


@pytest.mark.parametrize("others", [0, 600], ids=["everywhere", "in few of many chunks"])
@pytest.mark.promise(21)
def test_secrets_indexed_by_an_older_version_are_removed_by_the_next_sync(
    project: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    plain = (f"## Plain {n}\n\n{'Nothing to hide. ' * 5}\n" for n in range(others))
    write_project(project, {"docs/plain.md": "\n".join(plain)})
    index = open_index(project, model=HashModel())
    with monkeypatch.context() as older:
        older.setattr(lore_etl.pipeline.extract, "redaction_version", lambda: "older")
        older.setattr(lore_etl.pipeline.extract, "redact", lambda text: (text, 0))
        settle(project)
        sync(index)
    assert FORMATS[0].value.encode() in files_below(index.folder)

    sync(index)
    index.close()

    content = files_below(index.folder)
    assert [sample.name for sample in FORMATS if any(line.encode() in content for line in sample.lines)] == []
