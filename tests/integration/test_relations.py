"""What implements a class, through the replies that show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.operations.table import OPERATIONS
from tests.harness.models import HashModel
from tests.harness.projects import write_project

FILES: dict[str, str | bytes] = {
    "go.mod": "module example.com/port\n",
    "dock/dock.go": "package dock\n\ntype Dock interface {\n\tMoor(name string) error\n}\n",
    "quay/quay.go": "package quay\n\ntype Quay struct{}\n\nfunc (q *Quay) Moor(n string) error { return nil }\n",
    "raft/raft.go": "package raft\n\ntype Raft struct{}\n\nfunc (r *Raft) Float() error { return nil }\n",
}


@pytest.fixture
def app(tmp_path: Path, contract: Contract) -> Iterator[App]:
    root = write_project(tmp_path / "project", FILES)
    app = App(root.resolve(), Settings(), contract, HashModel(), home=tmp_path / "home")
    sync(app)
    yield app
    app.close()


def sync(app: App) -> None:
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})


def below(app: App, root: str) -> list[str]:
    found: dict[str, Any] = app.call("get_class_hierarchy", {"root": root})
    return [row["class"] for row in found["classes"][1:]]


def test_the_types_that_implement_an_interface_are_below_it_also_after_an_edit(app: App) -> None:
    assert below(app, "dock.Dock") == ["quay.Quay"]
    shown = app.call("get_class_hierarchy", {"root": "Quay"})
    assert shown["classes"][0]["implements"] == ["dock.Dock"]
    assert "implements dock.Dock" in OPERATIONS["get_class_hierarchy"].text(shown).body

    write_project(
        app.index.root, {"raft/moor.go": "package raft\n\nfunc (r Raft) Moor(name string) error { return nil }\n"}
    )
    sync(app)

    assert below(app, "dock.Dock") == ["quay.Quay", "raft.Raft"]
