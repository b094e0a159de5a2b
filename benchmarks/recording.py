"""Draw docs/images/terminal.svg: run commands on a copy of the sample project, with their real output.

python -m benchmarks.recording
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
COMMANDS = [
    "lore sync",
    'lore search "graceful shutdown" -n 2',
    'lore ask "what happens to running jobs on SIGTERM?" --limit 1',
    "lore hierarchy Worker",
]
COLUMN, ROW, MARGIN = 7.8, 18, 16
STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3;
           white-space: pre }
    .prompt { fill: #7ee787 } .command { font-weight: 600 } .title { fill: #79c0ff } .note { fill: #d29922 }
"""


def record(project: Path, environment: dict[str, str]) -> list[str]:
    """Run the commands in a project and return the lines of the terminal."""
    lines: list[str] = []
    for command in COMMANDS:
        notes = subprocess.DEVNULL if command == "lore sync" else subprocess.STDOUT  # a sync notes its progress
        done = subprocess.run(
            ["bash", "-c", command], cwd=project, env=environment, text=True, check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=notes,
        )  # fmt: skip
        lines += [f"$ {command}", *done.stdout.rstrip().splitlines(), ""]
    return lines[:-1]


def drawn(lines: list[str]) -> str:
    """Return the lines of a terminal as an SVG image."""
    width, height = round(max(map(len, lines)) * COLUMN + 2 * MARGIN), len(lines) * ROW + 2 * MARGIN
    rows = "\n".join(
        f'  <text x="{MARGIN}" y="{MARGIN + 13 + ROW * number}">{_styled(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"  <title>Lore in a terminal: sync, search, ask and hierarchy in the sample project</title>\n"
        f"  <style>{STYLE}  </style>\n"
        f'  <rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n{rows}\n</svg>\n'
    )


def _styled(line: str) -> str:
    text = escape(line, quote=False)
    if line.startswith("$ "):
        return f'<tspan class="prompt">$</tspan> <tspan class="command">{text[2:]}</tspan>'
    if line.startswith("degraded: "):
        return f'<tspan class="note">{text}</tspan>'
    return f'<tspan class="title">{text}</tspan>' if line[:1].isdigit() or line.startswith("[") else text


def main() -> None:
    """Record the commands in temporary folders."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "ferry"
        shutil.copytree(ROOT / "data" / "sample", project)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"LORE_HOME": f"{folder}/home", "LORE_STATE": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}
        environment = {**os.environ, **own, "PATH": path, "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}
        environment.pop("GEMINI_API_KEY", None)
        try:
            PICTURE.write_text(drawn(record(project, environment)), encoding="utf-8")
        finally:
            subprocess.run(["lore", "stop"], cwd=project, env=environment, check=False)


if __name__ == "__main__":
    main()
