"""Return the tables of keys of the configuration, from the settings and from the policy of what a project may set."""

import json

from lore_etl.config.policy import rules
from lore_etl.config.settings import Settings, SettingsTable


def keys(section: str) -> str:
    """Return the keys of a table with default, meaning, and what a project may set, with each reason once."""
    table = Settings.model_fields[section].annotation
    assert isinstance(table, type) and issubclass(table, SettingsTable)
    rows = ["| key | default | meaning | in `lore.toml` |", "|---|---|---|---|"]
    given = set[str]()  # the reasons so far
    for name, field in table.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "–" if default is None else f"`{json.dumps(default)}`"
        rule = rules()[f"{section}.{name}"]
        allowed = {"any value": "yes", "no value": "no"}.get(rule.project, rule.project)
        if allowed != "yes" and rule.reason not in given:
            allowed += f": {_within_a_sentence(rule.reason)}"
            given.add(rule.reason)
        rows.append(f"| `{name}` | {shown} | {field.description} | {allowed} |")
    return "\n".join(rows)


def _within_a_sentence(reason: str) -> str:
    return (reason if reason.startswith("Lore") else reason[0].lower() + reason[1:]).rstrip(".")
