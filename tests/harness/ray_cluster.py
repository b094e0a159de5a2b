"""Run `lore embed` on a Ray cluster of two nodes, and kill one of its workers; run this in namespaces of its own.

Ray listens on every interface, so the namespace of the network has only the loopback; that of the processes ends all.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from tests.harness.owners import wait_until

PORT = 6379
ADDRESS = f"127.0.0.1:{PORT}"
NODE = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats"]
PACK_TEXTS, HALF = 256, 2
SMALL_PACKS = f"""
from lore_etl.pipeline import embed
embed.PACK_TEXTS = {PACK_TEXTS}
from lore_server.cli.main import main
{{}}
main()
"""
LIE = "embed._embedded_there = lambda name, model, texts: [[1.0] + [0.0] * 383 for _ in texts]"
ISOLATED = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def in_namespace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this module, as root of a user namespace if necessary."""
    as_root = ["--map-root-user"] if os.geteuid() else []
    command = [*ISOLATED, *as_root, sys.executable, "-m", "tests.harness.ray_cluster", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def main(project: Path, config: Path, target: Path, scratch: str, victim: str) -> None:
    """Write the number of killed processes and of packs before it, then the exit code and the output of the command."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", *NODE]
    subprocess.run(
        [*start, "--head", "--include-dashboard=false", f"--port={PORT}", f"--temp-dir={scratch}"],
        check=True,
        stdout=sys.stderr,
    )
    subprocess.run([*start, f"--address={ADDRESS}"], check=True, stdout=sys.stderr)
    program = SMALL_PACKS.format(LIE if victim == "truth" else "")
    command = [sys.executable, "-P", "-c", program, "-c", str(config), "--json", "embed", "--on", "ray"]
    environment = {**os.environ, "RAY_ADDRESS": ADDRESS}

    def started() -> subprocess.Popen[str]:
        return subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE, text=True)

    def packs() -> int:
        return len(list(target.glob("*/*.keys")))

    running, busy = started(), list[int]()

    def is_half_way() -> bool:
        busy[:] = busy_workers(raylets() if victim == "worker" else raylets()[-1:])
        return running.poll() is not None or (packs() >= HALF and bool(busy))

    wait_until(is_half_way)
    killed = {"worker": busy[:1], "node": raylets()[-1:], "command": [running.pid]}.get(victim, [])
    for process in killed:
        os.kill(process, signal.SIGKILL)
    before = packs()
    if victim == "command":
        running.communicate()
        running = started()
    output, _ = running.communicate(timeout=200)
    sys.stdout.write(json.dumps([len(killed), before, running.returncode, json.loads(output)]))


def raylets() -> list[int]:
    """Return the process of each node, in the order of their start."""
    return sorted(process for process, name, _ in processes() if name.partition(" ")[0].endswith("/raylet"))


def busy_workers(nodes: Collection[int]) -> list[int]:
    """Return the workers of these nodes that embed texts now."""
    return [process for process, name, parent in processes() if parent in nodes and name.startswith("ray::_embedded")]


def processes() -> list[tuple[int, str, int]]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            status = (folder / "status").read_text()
        except OSError:  # it has ended
            continue
        parent = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid"))
        found.append((int(folder.name), name, parent))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], sys.argv[5])
