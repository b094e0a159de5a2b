"""The address of `lore serve`, its consequences, and the settings that the page receives."""

from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.applications import Starlette

from lore_etl.config.settings import Settings, is_loopback, is_this_machine
from lore_etl.core.errors import ConfigError
from lore_server.contract import load_contract
from lore_server.http.guard import Crowd, Guard
from lore_server.http.page import filled, page_routes, page_settings
from lore_server.http.site import listening, site_of

LONG = "0123456789abcdef0123456789abcdef"


def settings(**server: object) -> Settings:
    return Settings.model_validate({"server": server})


def test_a_loopback_address_is_local_and_any_other_is_public() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"]))
    public = ["0.0.0.0", "::", "192.168.1.5", "kb.example", "localhost.example", "10.0.0.1", "::2"]
    assert not any(map(is_loopback, public))
    assert is_this_machine("http://127.1.2.3:11434/v1")
    assert not any(map(is_this_machine, ["http://127.0.0.1.example/", "http://127.0.0.1@kb.example/", "nowhere"]))


def test_the_command_line_overrides_the_configuration() -> None:
    server = listening(settings(host="192.168.1.5", port=1, allowed_hosts=["kb.example"]), "127.0.0.1", 0)

    assert (server.host, server.port, server.allowed_hosts) == ("127.0.0.1", 0, ["kb.example"])
    assert listening(settings(port=5)).port == 5


@pytest.mark.parametrize(
    ("host", "port", "problem"),
    [
        *((host, None, "is not a valid host")
          for host in ("", "http://x", "a:80", "a/b", "a b", "-x", "*", "x" * 300, "é.example")),
        *((None, port, "is not a valid port") for port in (-1, 65536)),
    ],
)  # fmt: skip
def test_an_invalid_address_or_port_is_rejected(host: str | None, port: int | None, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        listening(Settings(), host, port)


def test_a_public_site_requires_a_token_reports_it_and_accepts_only_its_host_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no token yet"):
        site_of(tmp_path, Settings(), "0.0.0.0")
    monkeypatch.setenv("LORE_TOKEN", LONG)
    site = site_of(tmp_path, settings(allowed_hosts=["KB.example"]), "0.0.0.0")

    assert site.is_open
    assert site.hosts == {"127.0.0.1", "localhost", "::1", "kb.example"}
    assert "OPEN TO OTHER MACHINES" in site.notice
    assert LONG not in site.notice + repr(site)
    assert site_of(tmp_path, Settings(), "192.168.1.5").hosts >= {"192.168.1.5"}


def test_a_local_page_receives_the_token_and_a_public_page_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LORE_TOKEN", LONG)

    assert page_settings(site_of(tmp_path, Settings()), "localhost")["token"] == LONG
    page = page_settings(site_of(tmp_path, Settings(), "0.0.0.0"), "localhost")
    assert (page["token"], page["project"], page["root"]) == ("", "", "")


def test_a_host_name_allowed_by_the_projects_configuration_does_not_receive_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a project could admit its author's page, whose host name may resolve to this machine at any time."""
    monkeypatch.setenv("LORE_TOKEN", LONG)
    site = site_of(tmp_path, settings(allowed_hosts=["evil.example"]))
    (tmp_path / "index.html").write_text('<meta name="lore-token" content="">')
    app = Guard(Starlette(routes=page_routes(site, load_contract(), tmp_path)), site, Crowd())

    async def get(url: str, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as client:
            return await client.get(url, headers=headers)

    assert LONG in anyio.run(get, "http://localhost:7317/").text
    assert LONG not in anyio.run(get, "http://evil.example:7317/").text
    assert anyio.run(get, "http://localhost:7317/api/x").status_code == 404
    assert anyio.run(get, "http://evil.example:7317/api/x").status_code == 401


def test_the_name_of_a_project_stays_text() -> None:
    page = '<meta name="lore-project" content="x"><meta name="lore-root" content=""><meta name="other" content="y">'
    hostile = '"><script>alert(1)</script><meta name="lore-token" content="'

    shown = filled(page, {"project": hostile, "root": r"\1 \g<0> {path}"})

    assert "<script>" not in shown
    assert shown.count("<meta") == 3
    assert "&quot;&gt;&lt;script&gt;" in shown
    assert r'content="\1 \g<0> {path}"'.replace("<", "&lt;").replace(">", "&gt;") in shown
    assert 'name="other" content="y"' in shown
