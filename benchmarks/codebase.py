"""Count files, lines, loose modules, import cycles, repeated names, uses of `Any` and wide functions.

    python -m benchmarks.codebase [--names]

The figures come from the syntax trees alone, so the script also runs on an older checkout: `--root DIR`.
"""

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

MANY_PARAMETERS = 6
LAYOUTS = (("server", "server"), ("etl", "etl")), (("server/lore_server", "lore_server"), ("etl/lore_etl", "lore_etl"))


def packages(root: Path) -> list[tuple[Path, str]]:
    """Return the import packages of this layout, or of the older layout."""
    new = [(root / folder, name) for folder, name in LAYOUTS[1]]
    return new if new[0][0].is_dir() else [(root / folder, name) for folder, name in LAYOUTS[0]]


def modules(root: Path) -> dict[str, tuple[Path, ast.Module]]:
    """Return each module's file and tree by its dotted name."""
    found = {}
    for folder, name in packages(root):
        for file in sorted(folder.rglob("*.py")):
            parts = [name, *file.relative_to(folder).with_suffix("").parts]
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[dotted] = file, ast.parse(file.read_text("utf-8"))
    return found


def imports(name: str, tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Return the modules of the project that a module imports anywhere, functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                components.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return components


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's parameters without `self` and `cls`."""
    args = node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names that occur in more than one place."""
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def measure(root: Path) -> dict[str, object]:
    """Return the figures of one checkout."""
    found = modules(root)
    classes: dict[str, list[str]] = defaultdict(list)
    files: dict[str, list[str]] = defaultdict(list)
    edges: dict[str, set[str]] = {}
    count: Counter[str] = Counter()
    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    loose: Counter[str] = Counter()
    for name, (file, tree) in found.items():
        edges[name] = set(imports(name, tree, set(found))) - {name}
        parts = name.split(".")
        package = ".".join(parts[:2]) if len(parts) > 2 or file.stem == "__init__" else parts[0]
        sizes[package][0] += 1
        sizes[package][1] += file.read_text("utf-8").count("\n")
        loose[parts[0]] += len(parts) == 2 and file.stem != "__init__"
        if file.stem != "__init__":
            files[file.name].append(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(name)
            elif isinstance(node, ast.Name) and node.id == "Any":
                count["any"] += 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count["functions"] += 1
                count["wide"] += parameters(node) > MANY_PARAMETERS
    return {
        "files": sum(size[0] for size in sizes.values()),
        "lines": sum(size[1] for size in sizes.values()),
        "loose modules": dict(loose),
        "import cycles": cycles(edges),
        "repeated class names": repeated(classes),
        "repeated file names": repeated(files),
        "uses of Any": count["any"],
        "functions": count["functions"],
        f"functions with more than {MANY_PARAMETERS} parameters": count["wide"],
        "files and lines of each package": {name: tuple(size) for name, size in sorted(sizes.items())},
    }


def main() -> None:
    """Print the figures, and the repeated names on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--names", action="store_true", help="list the repeated names and where they stand")
    options = parser.parse_args()
    figures = measure(options.root)
    for label, figure in figures.items():
        is_short = label.startswith("repeated") and not options.names
        print(f"{label}: {len(figure) if is_short and isinstance(figure, dict) else json.dumps(figure, indent=1)}")


if __name__ == "__main__":
    main()
