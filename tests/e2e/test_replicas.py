"""Replicas of a published index: whole snapshots, swapped without a failed request, and never an older one."""

import logging
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lore_etl.config.project import user_state_folder
from lore_etl.config.settings import PublishedSettings, Settings
from lore_etl.core.progress import NOBODY
from lore_etl.index import Index
from lore_etl.pipeline.publish import publish
from lore_etl.pipeline.sync import sync
from lore_server.contract import load_contract
from lore_server.http.access import NamedTokens
from lore_server.owner.replica import Replica
from tests.harness import http_client
from tests.harness.evaluation import commit, git
from tests.harness.interfaces import serving
from tests.harness.owners import wait_until
from tests.harness.ports import free_port
from tests.harness.projects import ROOT, write_project
from tests.harness.published import private, public, target_at

pytestmark = pytest.mark.later

TOKEN = "a-token-for-the-tests-of-replicas"
NAME = "lore.example.com"
PAGES = 8
CLIENTS, EVERY_SECONDS = 15, 0.3  # 50 requests a second


class Origin:
    """A repository whose pages all name its version, and a target to which its commits are published."""

    def __init__(self, folder: Path) -> None:
        self.root, self.target = folder / "ferry", folder / "target"
        self.versions: dict[str, int] = {}
        configuration = f'[published]\ntarget = "{self.target}"\nkeys = ["{public()}"]\n'
        configuration += f'[server]\nallowed_hosts = ["{NAME}"]\n'
        write_project(folder, {"config/lore/config.toml": configuration, "elsewhere/readme": ""})
        write_project(self.root, {})
        self.root.mkdir(exist_ok=True)
        git(self.root, "init", "-b", "main")
        self.publish()

    def publish(self) -> str:
        """Commit and publish the next version; return the commit."""
        version = len(self.versions) + 1
        pages = {f"{n}.md": f"# Ferry {n}\n\nThe ferry {n} sails. version {version}\n" for n in range(PAGES)}
        write_project(self.root, pages)
        git(self.root, "add", ".")
        commit(self.root, f"Write version {version}")
        with closing(Index(self.root, Settings())) as index:
            sync(index)
            sent = publish(index, target_at(self.target), private(), "main", 30, lambda path: True)[0]
        self.versions[sent.commit] = version
        return sent.commit

    @contextmanager
    def replica(self) -> Iterator[str]:
        elsewhere, config = self.root.parent / "elsewhere", self.root.parent / "config"
        with serving(elsewhere, more=["--replica", "main"], LORE_TOKEN=TOKEN, XDG_CONFIG_HOME=str(config)) as url:
            yield url
        assert [file.name for file in elsewhere.iterdir()] == ["readme"]


def ready(url: str) -> dict[str, Any]:
    found: dict[str, Any] = http_client.get(f"{url}/readyz").json()
    return found


def versions_in(reply: dict[str, Any]) -> set[int]:
    return {int(number) for number in re.findall(r"version (\d+)", str(reply["results"]))}


def test_a_replica_names_its_snapshot_and_serves_only_reading(tmp_path: Path) -> None:
    origin = Origin(tmp_path)
    first = next(iter(origin.versions))
    with origin.replica() as url:
        about = ready(url)
        assert (about["ready"], about["branch"], about["commit"]) == (True, "main", first)
        found = http_client.request("POST", f"{url}/api/documents/query", json={"query": "ferry"}).json()
        assert (versions_in(found), found["freshness"]["commit"], found["freshness"]["state"]) == ({1}, first, "fresh")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        sync = {"action": "sync"}
        changed = http_client.request("POST", f"{url}/api/db/data/manage", headers=headers, json=sync)
        assert (changed.status_code, changed.json()["code"]) == (403, "FORBIDDEN")
        families = {one.name: one for one in text_string_to_metric_families(http_client.get(f"{url}/metrics").text)}
        counts = {
            (sample.labels["operation"], sample.labels["outcome"]): sample.value
            for sample in families["lore_call_seconds"].samples
            if sample.name.endswith("_count")
        }
        assert counts[("query_documents", "done")] == 1
        assert counts[("manage_knowledge_base", "FORBIDDEN")] == 1
        limited = NamedTokens(user_state_folder()).add("ferry-only", {"ferry": "read"}, 1)
        own = {"Authorization": f"Bearer {limited}"}
        assert [http_client.get(url + path, headers=own).status_code for path in ("/readyz", "/metrics")] == [200, 403]

        old = (origin.target / "branches/main").read_bytes()
        second = origin.publish()
        wait_until(lambda: ready(url)["commit"] == second)
        (origin.target / "branches/main").write_bytes(old)  # an older one does not come back
        looked = time.monotonic()
        wait_until(lambda: time.monotonic() > looked + 5 and ready(url)["commit"] == second)
        third = origin.publish()
        wait_until(lambda: ready(url)["commit"] == third)
        (origin.target / "branches/main").write_bytes(b"x" * 200)  # a damaged one is refused
        looked = time.monotonic()
        wait_until(lambda: time.monotonic() > looked + 5 and ready(url)["commit"] == third)


def test_a_snapshot_that_ends_while_it_is_served_is_no_longer_called_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = PublishedSettings(target=str(Origin(tmp_path).target), keys=[public()])
    with closing(Replica(Settings(published=published), load_contract(), "main", tmp_path / "served")) as replica:
        before = replica.call("query_documents", {"query": "ferry"}, NOBODY)
        end = replica.published.expires
        monkeypatch.setattr(time, "time", lambda: end + 1)  # the target withholds the newer ones
        after = replica.call("query_documents", {"query": "ferry"}, NOBODY)

    assert (before["freshness"]["state"], after["freshness"]["state"]) == ("fresh", "stale")
    assert after["results"]


@contextmanager
def proxied(folder: Path, urls: list[str]) -> Iterator[str]:
    """Run nginx with the configuration that Lore ships, and other addresses."""
    port, tls = free_port(), folder / "tls"
    tls.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}", "-days", "2",
         "-keyout", tls / "privkey.pem", "-out", tls / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    for number, url in enumerate(urls):
        site = site.replace(f"10.0.0.{number + 11}:7317", url.removeprefix("http://"))
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}").replace("/etc/ssl/lore", str(tls))
    assert "10.0.0." not in site
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body")
    )
    main = f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
    (folder / "nginx.conf").write_text(f"{main}http {{ access_log off; {places}\n{site}\n}}\n")
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"])
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


class Client(threading.Thread):
    """A client at an address of its own that asks at intervals, and notes what it gets."""

    def __init__(self, url: str, number: int, stop: threading.Event) -> None:
        super().__init__(name=f"client {number}")
        self._url, self._number, self._stop_asking = url, number, stop
        self.failed: list[str] = []
        self.seen: list[tuple[str, set[int]]] = []

    def run(self) -> None:
        transport = httpx2.HTTPTransport(local_address=f"127.0.0.{self._number + 2}", verify=False)
        headers = {"Host": NAME, "Authorization": f"Bearer {TOKEN}"}
        due = time.monotonic()
        with httpx2.Client(base_url=self._url, transport=transport, headers=headers, timeout=60) as client:
            while not self._stop_asking.is_set():
                question = {"query": f"ferry {len(self.seen)} client {self._number}"}
                try:
                    reply = client.post("/api/documents/query", json=question)
                    if reply.status_code != 200:
                        raise RuntimeError(reply.text[:200])
                    found = reply.json()
                    self.seen.append((found["freshness"]["commit"], versions_in(found)))
                except Exception as error:  # noqa: BLE001 - each is a finding
                    self.failed.append(repr(error))
                due = max(due + EVERY_SECONDS, time.monotonic() - 1)
                self._stop_asking.wait(max(0.0, due - time.monotonic()))


@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl")
def test_ten_snapshots_under_load_fail_no_request_mix_nothing_and_never_go_back(tmp_path: Path) -> None:
    origin, stop = Origin(tmp_path), threading.Event()
    with ExitStack() as stack:
        urls = [stack.enter_context(origin.replica()) for _ in range(3)]
        url = stack.enter_context(proxied(tmp_path, urls))
        clients = [Client(url, number, stop) for number in range(CLIENTS)]
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            for _ in range(10):
                newest = origin.publish()
                wait_until(lambda newest=newest: {ready(one)["commit"] for one in urls} == {newest})  # type: ignore[misc]
        finally:
            stop.set()
            for client in clients:
                client.join()
        seconds = time.monotonic() - began

    asked = sum(len(client.seen) + len(client.failed) for client in clients)
    logging.getLogger(__name__).warning("%d requests in %.0f s", asked, seconds)
    assert [client.failed for client in clients] == [[]] * CLIENTS
    mixed = [seen for client in clients for seen in client.seen if seen[1] != {origin.versions[seen[0]]}]
    assert mixed == []
    for client in clients:
        seen = [origin.versions[commit] for commit, _ in client.seen]
        assert seen == sorted(seen)
        assert len(set(seen)) > 5
