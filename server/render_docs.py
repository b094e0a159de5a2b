"""Results of the toolset `docs` as text."""

from __future__ import annotations

from typing import Any

from server.text import RENDERERS, Text, renders

JSON = dict[str, Any]


@renders("init_project")
def _init(result: JSON) -> Text:
    groups = [f"{count} {name.replace('_', ' ')}" for name, count in result["groups"].items() if count]
    rows = [
        _listed("Found", [one["path"] for one in result["found"]]),
        _listed("Not there", [one["path"] for one in result["missing"]]),
        _listed("Wrote", result["written"]),
        _listed("Kept", result["kept"]),
        _listed("Knowledge", groups),
        _drift(result["drift"]),
    ]
    job = RENDERERS["get_job"](result["job"]) if "job" in result else Text("Next: lore sync")
    warnings = [f"warning: {one}" for one in result["warnings"]]
    return Text("\n".join([*filter(None, rows), job.body]), (*warnings, *job.notes))


def _listed(head: str, names: list[str]) -> str:
    return f"{head}: {', '.join(names)}." if names else ""


def _drift(drift: JSON) -> str:
    if not drift["total"]:
        return ""
    rows = [f"  {one['message']}" for one in drift["violations"]]
    more = [f"  and {drift['total'] - len(rows)} more"] if drift["total"] > len(rows) else []
    return "\n".join([f"Drift: {drift['total']} ({drift['score']:.1%} of what was checked).", *rows, *more])
