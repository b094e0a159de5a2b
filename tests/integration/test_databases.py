"""Chroma on a configured server and in Chroma Cloud, with the real client and server."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import DatabaseSettings, Settings
from lore_etl.core.errors import ConfigError, DatabaseUnavailable, IndexDamaged, StorageError
from lore_etl.index import Index
from lore_etl.pipeline.corpus import CorpusRecord, load_records
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import delete_all, sync
from lore_etl.stores.chroma.address import cloud_address, http_address
from lore_etl.stores.chroma.backend import Patience
from lore_etl.stores.chroma.generations import RemoteGenerations, generations_of
from lore_server.evaluation.bench import scratch_index
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from lore_server.services.verification import DatabaseService, Verifier
from tests.harness.chroma import COLLECTIONS, Gate, Running, chroma_running, gate_before, self_signed, silent_server
from tests.harness.indexes import assert_equals_fresh, unfindable
from tests.harness.models import HashModel
from tests.harness.owners import pause
from tests.harness.projects import copy_project, open_index, sync_once, write_project
from tests.harness.refusals import refused
from tests.harness.vectors import rows_of, vectors_of

pytestmark = pytest.mark.later

PAGES = 40
SECRET = "ck-s3cret-T0ken"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a Chroma server with a second tenant and database."""
    with chroma_running(tmp_path_factory.mktemp("somebody") / "chroma") as running:
        running.ask("POST", "/api/v2/tenants", {"name": "acme"})
        running.ask("POST", "/api/v2/tenants/acme/databases", {"name": "team"})
        yield running


@pytest.fixture
def gate(server: Running) -> Iterator[Gate]:
    with gate_before(server.port) as opened:
        yield opened


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(PAGES)}
    return write_project(tmp_path / "project", pages)


def at(port: int, **more: Any) -> Settings:
    values = {"mode": "http", "host": "127.0.0.1", "port": port, "timeout_seconds": 120, **more}
    return Settings.model_validate({"database": values})


def name_of(index: Index, generation: int) -> str:
    assert isinstance(index.generations, RemoteGenerations)
    return index.generations.name(generation)


def mine(server: Running, index: Index, **place: str) -> dict[str, int]:
    """Return the collections of an index on the server."""
    prefix = name_of(index, 0)[:-1]
    return {name: rows for name, rows in server.collections(**place).items() if name.startswith(prefix)}


# --- a configured server -----------------------------------------------------------------------------------------


@pytest.mark.requirement("NEO-048", "NEO-054")
def test_an_index_on_a_server_is_synced_searched_rebuilt_and_deleted(project: Path, server: Running) -> None:
    with closing(open_index(project, at(server.port))) as index:
        sync(index)
        assert_equals_fresh(index, Settings())
        assert mine(server, index) == {name_of(index, 1): PAGES}
        assert not list(index.folder.glob("vectors-*"))

    with closing(open_index(project, at(server.port))) as index:
        assert is_loaded(index)
        found = retrieve(index, parse("subject7 lighthouse"), None, 10)
        assert found.by_meaning[0][0] == found.by_word[0][0]

        write_project(project, {"docs/7.md": "# Page 7\n\nsubject7 is now about owls\n"})
        assert sync(index).embedded == 1
        assert_equals_fresh(index, Settings())

    with closing(open_index(project, at(server.port), HashModel("another"))) as index:
        assert sync(index).rebuilt == "the embedding model or its input has changed"
        assert mine(server, index) == {name_of(index, 2): PAGES}
        assert unfindable(index) == []

        delete_all(index)
        assert mine(server, index) == {}


@pytest.mark.requirement("NEO-063")
def test_two_projects_on_a_server_are_separate(tmp_path: Path, server: Running) -> None:
    left = write_project(tmp_path / "one", {"a.md": "# Alpha\n\nThe zebra text.\n"})
    right = write_project(tmp_path / "two", {"b.md": "# Beta\n\nThe heron text.\n"})
    with closing(open_index(left, at(server.port))) as first, closing(open_index(right, at(server.port))) as second:
        sync(first)
        sync(second)
        delete_all(first)

        assert mine(server, first) == {}
        assert len(mine(server, second)) == 1
        assert_equals_fresh(second, Settings())


def test_a_copied_index_does_not_touch_the_collection_of_the_original(project: Path, server: Running) -> None:
    with closing(open_index(project, at(server.port))) as index:
        sync(index)
    copy_project(project, project.parent / "copy", copy_function=shutil.copyfile)

    with closing(open_index(project.parent / "copy", at(server.port))) as copied:
        assert sync(copied).embedded == 0
        assert mine(server, copied) != mine(server, index)
        delete_all(copied)

    with closing(open_index(project, at(server.port))) as index:
        assert is_loaded(index)
        assert unfindable(index) == []


def test_a_collection_missing_from_the_server_is_detected_and_created_again(project: Path, server: Running) -> None:
    with closing(open_index(project, at(server.port))) as index:
        sync(index)
        name = name_of(index, 1)
        server.ask("DELETE", f"{COLLECTIONS}/{name}")

        with refused(IndexDamaged, match="no longer exists", hint="lore sync"):
            retrieve(index, parse("subject7"), None, 10)
        with pytest.raises(IndexDamaged, match="lost"):
            retrieve(index, parse("subject7"), None, 10)
        report = sync(index)

        assert (report.embedded, report.failed) == (0, [])
        assert_equals_fresh(index, Settings())


def test_a_server_gets_the_headers_with_every_request_and_vectors_types_and_paths_but_never_text(
    project: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMA_TOKEN", SECRET)
    settings = at(gate.port, headers={"Authorization": "Bearer env:CHROMA_TOKEN", "X-Team": "docs"})
    with closing(open_index(project, settings)) as index:
        sync(index)
        retrieve(index, parse("subject7 lighthouse"), None, 10)

    assert len(gate.headers) > 5
    assert {header.get("authorization") for header in gate.headers} == {f"Bearer {SECRET}"}
    assert {header.get("x-team") for header in gate.headers} == {"docs"}
    for path in index.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    bodies = [body for _, _, body in gate.requests if body is not None]
    keys = {key for body in bodies for key, value in body.items() if value is not None}
    assert "lighthouse" not in str(bodies)
    assert "documents" not in keys
    metadatas = [metadata for body in bodies for metadata in body.get("metadatas") or ()]
    assert {key for metadata in metadatas for key in metadata} == {"type", "source"}


def test_only_a_configured_server_is_contacted_and_none_for_the_temporary_index_of_an_evaluation(
    project: Path, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_index(project, Settings())) as index:
        sync(index)
        retrieve(index, parse("subject7"), None, 10)

    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))
    with scratch_index("set", at(gate.port, ef_search=50), HashModel()) as index:
        load_records(index, [CorpusRecord("1", "the zebra"), CorpusRecord("2", "the heron")])

        assert index.vectors.count() == 2
        assert index.settings.database.ef_search == 50
    assert gate.requests == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_token_is_reported_without_being_shown(
    project: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("CHROMA_TOKEN", SECRET)
    gate.refuse = lambda headers: (status, '{"error":"Unauthorized"}')
    settings = at(gate.port, headers={"Authorization": "Bearer env:CHROMA_TOKEN"})
    with closing(open_index(project, settings)) as index, pytest.raises(DatabaseUnavailable) as caught:
        sync(index)

    assert f"denied access (HTTP {status})" in caught.value.message
    assert "database.headers" in caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint + repr(index.generations.__dict__)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (429, '{"error":"RateLimitError","message":"slow down"}', "overloaded"),
        pytest.param(502, "<html>bad gateway</html>", "replied with HTTP 502", marks=pytest.mark.long),
        (302, "", "replied with HTTP 302"),
        (200, "<html>a shop</html>", "is not Chroma"),
        pytest.param(200, '{"shop": true}', "is not Chroma", marks=pytest.mark.long),
        (500, '{"error":"InternalError","message":"broken"}', "reports InternalError: broken"),
        pytest.param(404, '{"error":"elsewhere"}', "replied with HTTP 404", marks=pytest.mark.long),
    ],
)
def test_an_unexpected_server_is_reported_and_the_index_is_kept(
    project: Path, gate: Gate, status: int, body: str, message: str
) -> None:
    sync_once(project, at(gate.port))
    write_project(project, {"docs/7.md": "# Page 7\n\nsubject7 is now about owls\n"})
    gate.refuse = lambda headers: (status, body)
    with closing(open_index(project, at(gate.port))) as index:
        for act in (lambda: sync(index), lambda: index.generations.exists(1)):
            with pytest.raises(DatabaseUnavailable) as caught:
                act()
            assert message in caught.value.message

        gate.refuse = lambda headers: None
        report = sync(index)

        assert (report.rebuilt, report.embedded) == (None, 1)
        assert_equals_fresh(index, Settings())


@pytest.mark.promise(27)
def test_while_a_server_hangs_or_has_ended_keyword_search_works_without_a_long_wait_and_a_sync_fails(
    tmp_path: Path, project: Path
) -> None:
    def found_by_keywords_alone(index: Index, reason: str) -> None:
        candidates = retrieve(index, parse("subject7"), None, 10)
        assert max(candidates.found, key=lambda candidate: candidate.keyword).chunk.source == "docs/7.md"
        assert reason in (candidates.degraded or "")

    with chroma_running(tmp_path / "chroma") as running, closing(open_index(project, at(running.port))) as index:
        sync(index)
        index.patience = Patience(0.3, away_seconds=600)
        pause(running.process.pid)
        try:
            for _ in range(2):
                started = time.monotonic()
                found_by_keywords_alone(index, "did not respond within 0.3 s")
            assert time.monotonic() - started < 0.3  # the second one remembers
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        index.patience = Patience()
        assert retrieve(index, parse("subject7"), None, 10).degraded is None

        running.process.kill()
        running.process.wait(120)
        for _ in range(2):
            found_by_keywords_alone(index, "cannot be reached")
        with pytest.raises(DatabaseUnavailable):
            sync(index)
        assert not index.has_open_vectors()


def test_a_server_that_never_answers_times_out_after_all_words_are_searchable(project: Path) -> None:
    with silent_server() as port, closing(open_index(project, at(port, timeout_seconds=0.3))) as index:
        with pytest.raises(DatabaseUnavailable, match=r"did not respond within 0\.3 s"):
            sync(index)

        found = [index.keywords.search(f"subject{n}", 1) for n in range(PAGES)]
        assert len({chunk_id for ((chunk_id, _),) in found}) == index.catalogue.waiting() == PAGES


def test_a_configured_tenant_and_database_are_used_and_reported_by_name_if_they_are_missing(
    project: Path, server: Running
) -> None:
    for key, name in (("tenant", "nobody"), ("database", "nothing")):
        with (
            closing(open_index(project, at(server.port, **{key: name}))) as index,
            refused(DatabaseUnavailable, message=name, hint="database.tenant"),
        ):
            sync(index)

    with closing(open_index(project, at(server.port, tenant="acme", database="team"))) as index:
        sync(index)
        assert mine(server, index) == {}
        assert list(mine(server, index, tenant="acme", database="team").values()) == [PAGES]


def test_tls_is_used_and_the_certificate_checked(tmp_path: Path, server: Running) -> None:
    certificate = self_signed(tmp_path)
    with gate_before(server.port, certificate) as gate:
        trusted = DatabaseSettings(mode="http", host="127.0.0.1", port=gate.port, ssl=True, ca_file=str(certificate))
        with closing(generations_of(tmp_path, trusted).open(1)) as store:
            store.add(rows_of(3), vectors_of(3))
            assert store.count() == 3

        for settings in (
            trusted.model_copy(update={"ca_file": ""}),
            trusted.model_copy(update={"ca_file": "", "ssl": False}),
        ):
            with pytest.raises(DatabaseUnavailable):
                generations_of(tmp_path, settings).open(1)
    with pytest.raises(DatabaseUnavailable, match="Cannot read the certificates"):
        generations_of(tmp_path, trusted.model_copy(update={"ca_file": str(tmp_path / "absent.pem")})).open(1)


# --- Chroma Cloud, simulated by a local server -------------------------------------------------------------------


def cloud(port: int, **more: Any) -> Settings:
    values = {"mode": "cloud", "host": "127.0.0.1", "port": port, "ssl": False, **more}
    return Settings.model_validate({"database": values})


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> str:
    """Let requests through the gate if they carry the key as Chroma Cloud expects it."""
    monkeypatch.setenv("CHROMA_API_KEY", SECRET)
    refused = (403, '{"error":"AuthError","message":"Forbidden"}')
    gate.refuse = lambda headers: None if headers.get("x-chroma-token") == SECRET else refused
    return SECRET


def test_the_cloud_gets_the_key_with_every_request_which_decides_about_tenant_and_database_unless_configured(
    project: Path, server: Running, gate: Gate, key: str
) -> None:
    with closing(open_index(project, cloud(gate.port, tenant="acme", database="team"))) as index:
        sync(index)
        found = retrieve(index, parse("subject7 lighthouse"), None, 10)

        assert found.by_meaning[0][0] == found.by_word[0][0]
        assert {header.get("x-chroma-token") for header in gate.headers} == {key}
        assert {path.split("/")[4:7:2] == ["acme", "team"] for _, path, _ in gate.requests if "/databases/" in path}
        assert list(mine(server, index, tenant="acme", database="team").values()) == [PAGES]
        created = [body for _, path, body in gate.requests if path.endswith("/collections") and body]
        assert {request["configuration"]["spann"]["space"] for request in created} == {"cosine"}
        delete_all(index)

    with closing(open_index(project, cloud(gate.port))) as index:
        sync(index)
        assert any(path.endswith("/auth/identity") for _, path, _ in gate.requests)
        assert list(mine(server, index).values()) == [PAGES]


def test_the_quotas_of_the_cloud_are_respected(tmp_path: Path, gate: Gate, key: str) -> None:
    settings = cloud(gate.port).database
    rows, vectors = [*rows_of(1_300)[:200], *rows_of(1_300, "ticket")[200:]], vectors_of(1_300)
    tickets = [row[0] for row in rows[200:]]
    with closing(generations_of(tmp_path, settings).open(1)) as store:
        store.add(rows, vectors)
        store.heal(rows[:400], vectors[:400])
        store.update(rows)

        assert len(store.rows()) == 1_300
        assert len(store.search(vectors[0], 1_000)) == 300
        before = len(gate.requests)
        found = store.search(vectors[0], 300, tickets, "ticket")
        assert len(found) == 300 and {row_id for row_id, _ in found} <= set(tickets)
        assert len(gate.requests) == before + 2  # a request for each portion of the rows would take seconds
        assert len(store.similarities(vectors[0], [row[0] for row in rows])) == 1_300
        assert store.missing([row[0] for row in rows], vectors) == []
        store.delete(row[0] for row in rows)
        assert store.count() == 0

    bodies = [body for _, _, body in gate.requests if body]
    assert max(len(body["ids"]) for body in bodies if body.get("ids")) <= 300
    assert max(body[key] for body in bodies for key in ("limit", "n_results") if body.get(key)) <= 300


def test_a_wrong_key_is_reported_without_being_shown(
    project: Path, gate: Gate, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMA_API_KEY", "ck-wrong")
    with closing(open_index(project, cloud(gate.port))) as index, pytest.raises(DatabaseUnavailable) as caught:
        sync(index)

    assert "CHROMA_API_KEY" in caught.value.hint
    assert "ck-wrong" not in caught.value.message + caught.value.hint


# --- starting and stopping it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["embedded", "server", "http", "cloud"])
@pytest.mark.requirement("NEO-005", "NEO-006")
def test_the_database_is_started_and_stopped_in_every_mode(
    project: Path, server: Running, gate: Gate, key: str, mode: str
) -> None:
    settings = {
        "embedded": Settings(),
        "server": Settings.model_validate({"database": {"mode": "server"}}),
        "http": at(server.port),
        "cloud": cloud(gate.port),
    }[mode]
    with closing(open_index(project, settings)) as index:
        sync(index)
        index.release_vectors()
        service = DatabaseService(index, Verifier(index, lambda: None))
        states = [service.manage(action=action) for action in ("start", "start", "stop", "stop")]

        assert [state["status"] for state in states] == ["started", "already_running", "stopped", "not_running"]
        assert {state["mode"] for state in states} == {mode}
        assert f"{PAGES} vectors" in states[0]["detail"]
        found = retrieve(index, parse("subject7 lighthouse"), None, 10)
        assert found.by_meaning[0][0] == found.by_word[0][0]
    assert server.collections() is not None  # Lore does not stop servers of others


# --- the configuration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "key", "fix"),
    [
        ({"host": "example.org"}, "database.host", "Remove it"),
        ({"mode": "server", "port": 8000}, "database.port", "Remove it"),
        ({"headers": {"X-A": "b"}}, "database.headers", "Remove it"),
        ({"mode": "http"}, "database.host", "Set the host"),
        ({"mode": "http", "host": "http://example.org"}, "database.host", "only the host"),
        ({"mode": "http", "host": "example.org:8000"}, "database.host", "only the host"),
        ({"mode": "http", "host": "a", "ca_file": "x.pem"}, "database.ca_file", "ssl = true"),
        ({"mode": "http", "host": "a", "headers": {"Authorization": "Bearer abc"}}, "Authorization", "env:CHROMA_"),
        ({"mode": "http", "host": "a", "headers": {"X-A": "env:GEMINI_API_KEY"}}, "GEMINI_API_KEY", "CHROMA_"),
        ({"mode": "http", "host": "a", "headers": {"X-A": "env:CHROMA_ABSENT"}}, "CHROMA_ABSENT", "Set CHROMA_ABSENT"),
        ({"mode": "http", "host": "a", "headers": {"X A": "b"}}, "database.headers.X A", "letters"),
        ({"mode": "http", "host": "a", "headers": {"X-A": "b\r\nX-B: c"}}, "database.headers.X-A", "ASCII"),
        ({"mode": "http", "host": "a", "collection": "c" * 200}, "database.collection", "shorter"),
        ({"mode": "cloud"}, "CHROMA_API_KEY", "environment only"),
        ({"mode": "cloud", "host": "evil.example"}, "database.host", "Remove it"),
        ({"mode": "cloud", "host": "eviltrychroma.com"}, "database.host", "Remove it"),
        ({"mode": "cloud", "ssl": False}, "database.ssl", "Remove it"),
        ({"mode": "cloud", "headers": {"X-A": "b"}}, "database.headers", "Remove it"),
    ],
)
def test_conflicting_settings_are_reported_at_the_start_with_key_and_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], key: str, fix: str
) -> None:
    monkeypatch.delenv("CHROMA_API_KEY", raising=False)
    with refused(ConfigError, message=key, hint=fix):
        Index(tmp_path, Settings.model_validate({"database": values}), HashModel())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("NEO-054")
def test_addresses_have_default_ports_and_do_not_show_their_secrets() -> None:
    environment = {"CHROMA_API_KEY": SECRET, "CHROMA_TOKEN": SECRET}
    plain = DatabaseSettings(mode="http", host="a.example", headers={"Authorization": "env:CHROMA_TOKEN"})

    assert http_address(plain, environment).port == 8000
    assert http_address(plain.model_copy(update={"ssl": True}), environment).port == 443
    assert http_address(plain, environment).headers == {"Authorization": SECRET}
    found = cloud_address(DatabaseSettings(mode="cloud"), environment)
    assert (found.host, found.port, found.ssl, found.tenant) == ("api.trychroma.com", 443, True, None)
    eu = DatabaseSettings(mode="cloud", host="europe-west1.gcp.trychroma.com", tenant="t", database="d")
    assert (cloud_address(eu, environment).tenant, cloud_address(eu, environment).database) == ("t", "d")
    assert SECRET not in repr((found, http_address(plain, environment)))


def test_the_key_of_the_environment_is_sent_only_to_a_server_configured_for_it(
    project: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHROMA_API_KEY", "CHROMA_CLIENT_AUTH_CREDENTIALS", "CHROMA_SERVER_HEADERS"):
        monkeypatch.setenv(name, SECRET if name != "CHROMA_SERVER_HEADERS" else f'{{"X-Secret": "{SECRET}"}}')
    monkeypatch.setenv("CHROMA_CLIENT_AUTH_PROVIDER", "chromadb.auth.token_authn.TokenAuthClientProvider")
    sync_once(project, at(gate.port))

    assert SECRET not in str(gate.headers)


def test_an_unwritable_index_folder_is_reported(tmp_path: Path, server: Running) -> None:
    with pytest.raises(StorageError):
        generations_of(tmp_path / "absent", at(server.port).database).open(1)
