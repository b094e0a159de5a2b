"""Find the file that a script imports: by a relative path, the paths of a `tsconfig.json`, or a package's name."""

from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from lore_etl.core.model import FileFacts

_ALIASES = ("@/", "~/")  # npm packages cannot have such names
_ENDINGS = (
    "", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".d.ts",
    "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.d.ts",
)  # fmt: skip


class ScriptModules:
    """The scripts of a project and the manifests that name them."""

    def __init__(self, facts: Mapping[str, FileFacts]) -> None:
        self._scripts = {path for path, file in facts.items() if not file.family}
        self._packages = [(dirname(path), file) for path, file in facts.items() if file.family == "manifest:node"]
        configs = [(dirname(path), file) for path, file in facts.items() if file.family == "manifest:tsconfig"]
        self._configs = sorted(configs, key=lambda config: -len(config[0]))  # the nearest first

    def files_of(self, path: str, module: str) -> list[str]:
        """Return the files of the project that the script at `path` may import as `module`, the likeliest first.

        A declaration file may describe a script. Unconfigured `@/x` and `~/x` mean the only path that ends with `/x`.
        """
        if module.startswith("."):
            return self._existing(join(dirname(path), module))
        places = (*self._by_paths(path, module), *self._by_package(module))
        found = [file for place in places for file in self._existing(place)]
        return found or (self._ending(module[2:]) if module.startswith(_ALIASES) else [])

    def _existing(self, target: str) -> list[str]:
        """Return the scripts at a path that may lack its ending; TypeScript imports `x.ts` as `x.js`."""
        target = normpath(target)
        stems = (target, target.rpartition(".")[0]) if target.endswith("js") else (target,)
        return [candidate for stem in stems for end in _ENDINGS if (candidate := stem + end) in self._scripts]

    def _ending(self, name: str) -> list[str]:
        ends = tuple(f"/{name}{end}" for end in _ENDINGS)
        found = [path for path in self._scripts if f"/{path}".endswith(ends)]
        return found if len(found) == 1 else []

    def _by_paths(self, path: str, module: str) -> Iterator[str]:
        """Yield the places that the `paths` and `baseUrl` of the configurations above a script name."""
        for folder, config in self._configs:
            if folder and not path.startswith(folder + "/"):
                continue
            for pattern, (target, base) in config.imports.items():
                before, star, after = pattern.partition("*")
                if module == pattern:
                    yield join(folder, base or ".", target)
                elif star and module.startswith(before) and module.endswith(after):
                    inner = module[len(before) : len(module) - len(after)]
                    yield join(folder, base or ".", target.replace("*", inner))
            if config.package:
                yield join(folder, config.package, module)

    def _by_package(self, module: str) -> Iterator[str]:
        """Yield the places of a package of this project, or of a file in it."""
        for folder, package in self._packages:
            name = package.package
            if module == name:
                yield from (join(folder, main) for main, _ in package.exports.values())
                yield from (join(folder, "src/index"), join(folder, "index"))
            elif module.startswith(name + "/"):
                inner = module[len(name) + 1 :]
                yield from (join(folder, inner), join(folder, "src", inner))
