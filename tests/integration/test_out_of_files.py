"""A process at its limit of open files reports that; nothing counts as damaged or is rebuilt."""

import json
from pathlib import Path

from tests.harness.processes import run
from tests.harness.projects import sync_once, write_project
from tests.harness.trying import is_long

PAGES = 1_200  # more than Chroma keeps in its log, so that its HNSW files exist
WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk
CODE = """
import json, os, resource, sys
from contextlib import closing
from pathlib import Path
from lore_etl.core.errors import IndexDamaged, LoreError
from lore_etl.pipeline.sync import sync
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.projects import open_index

def work(index):
    retrieve(index, parse("lighthouse"), None, 20)
    index.hierarchy
    sync(index)

project = Path(sys.argv[1])
with closing(open_index(project)) as index:
    work(index)  # what Python loads later needs no file any more
resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
found = []
for spare in map(int, sys.argv[2:]):
    fillers = []
    try:
        while True:
            fillers.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    for _ in range(spare):
        os.close(fillers.pop())
    index = open_index(project)
    try:
        work(index)
        found.append("")
    except (LoreError, OSError) as error:  # `problem` makes a StorageError of the latter
        found.append(f"{type(error).__name__}: {error}")
    finally:
        for descriptor in fillers:
            os.close(descriptor)
        index.close()
print(json.dumps(found))
"""


def test_a_process_without_free_file_descriptors_reports_it_without_damage(tmp_path: Path) -> None:
    pages = (f"## Page {n}\n\nsubject{n} lighthouse {WORDS}\n" for n in range(PAGES))
    project = write_project(tmp_path / "project", {"docs/pages.md": "\n".join(pages)})
    sync_once(project)

    done = run(CODE, project, *range(0, 40, 1 if is_long() else 3))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [error for error in found if error and not error.startswith(("StorageError", "OSError"))] == []
    assert "" in found
    reasons = ("too many open files", "unable to open database file")
    assert [error for error in found if error and not any(reason in error.lower() for reason in reasons)] == []
    report = sync_once(project)
    assert (report.rebuilt, report.embedded, report.warnings, report.failed) == (None, 0, [], [])
