"""Chroma's settings come only from Lore's configuration, never from the environment or the project."""

import json
from pathlib import Path

import pytest

from tests.harness.commands import start_lore
from tests.harness.projects import write_project
from tests.harness.trying import often

pytestmark = pytest.mark.later

HOSTILE = {
    "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
    "CHROMA_SERVER_HOST": "127.0.0.1",
    "CHROMA_SERVER_HTTP_PORT": "9",
    "PERSIST_DIRECTORY": "elsewhere",
    "CHROMA_SYSDB_IMPL": "no.such.Class",
    "ALLOW_RESET": "true",
    "MIGRATIONS": "none",
}


NONSENSE = {"CHROMA_SERVER_HTTP_PORT": "in words", "CHROMA_HTTP_KEEPALIVE_SECS": "never", "ANONYMIZED_TELEMETRY": "?"}


@pytest.mark.parametrize("mode", often(["embedded", "server"], {"server"}))
def test_unknown_settings_for_chroma_do_not_stop_lore(tmp_path: Path, mode: str) -> None:
    """Chroma reads both the environment and the file when it is imported."""
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n", "lore.toml": f"[database]\nmode = '{mode}'\n"})
    (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in NONSENSE.items()))

    synced = start_lore("sync", "--json", cwd=tmp_path, **NONSENSE)

    assert synced.returncode == 0, synced.stderr


@pytest.mark.parametrize("through", often(["the environment", "a .env in the project"], {"a .env in the project"}))
@pytest.mark.requirement("NEO-056")
def test_external_chroma_settings_have_no_effect(tmp_path: Path, through: str) -> None:
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n"})
    environment = HOSTILE if through == "the environment" else {}
    if not environment:
        (tmp_path / ".env").write_text("".join(f"{key}={value}\n" for key, value in HOSTILE.items()))

    synced = start_lore("sync", "--json", cwd=tmp_path, **environment)
    found = start_lore("search", "zebra", "--json", cwd=tmp_path, **environment)

    assert synced.returncode == 0, synced.stderr
    assert json.loads(found.stdout)["results"][0]["source"] == "a.md"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".env") == [".lore", "a.md"]
    assert (tmp_path / ".lore" / "vectors-1" / "chroma.sqlite3").exists()
