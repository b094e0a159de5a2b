"""Optional packages: the imports of each extra, and the command that installs packages for this Python."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from lore_etl.core.errors import PackageMissing

EXTRAS = {
    "documents": ("office-oxide", "pypdfium2", "striprtf"),
    "models": ("huggingface-hub", "onnx", "onnxscript", "sentence-transformers", "torch"),
    "eval": ("ir-measures", "scipy"),
    "openai": ("openai",),
}


def require(extra: str, purpose: str) -> None:
    """Check that the packages of an extra are installed, without importing them. Raises PackageMissing."""
    missing = [name for name in EXTRAS[extra] if find_spec(name.replace("-", "_")) is None]
    if missing:
        raise PackageMissing(
            f"{purpose} needs the extra `{extra}`, which is not installed ({', '.join(missing)}).",
            f"Run `{install_command(*missing)}`.",
        )


def install_command(*arguments: str) -> str:
    """Return the command that installs packages into the environment of this process."""
    has_pip = find_spec("pip") is not None  # an environment of uv has none
    tool = [sys.executable, "-m", "pip", "install"] if has_pip else ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*tool, *arguments])
