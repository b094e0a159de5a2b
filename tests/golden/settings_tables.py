"""Return the tables of keys of the configuration, from the settings and from the policy of what a project may set."""

from __future__ import annotations

import json

from lore_etl.config.policy import RULES
from lore_etl.config.settings import Settings, SettingsTable


def keys(section: str) -> str:
    """Return the keys of a table with default, meaning, and what a project may set."""
    table = Settings.model_fields[section].annotation
    assert isinstance(table, type) and issubclass(table, SettingsTable)
    rows = ["| key | default | meaning | a project may set |", "|---|---|---|---|"]
    for name, field in table.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "–" if default is None else f"`{json.dumps(default)}`"
        rule = RULES[f"{section}.{name}"]
        allowed = rule.project if rule.project == "any value" else f"{rule.project}. {rule.reason}"
        rows.append(f"| `{name}` | {shown} | {field.description} | {allowed} |")
    return "\n".join(rows)
