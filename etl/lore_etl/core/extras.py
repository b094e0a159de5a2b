"""Optional packages: the imports of each extra, and how to install it."""

from importlib.util import find_spec

from lore_etl.core.errors import PackageMissing

EXTRAS = {
    "documents": ("office-oxide", "pypdfium2"),
    "models": ("huggingface-hub", "onnx", "onnxscript", "sentence-transformers", "torch"),
    "eval": ("ir-measures", "scipy"),
    "openai": ("openai",),
    "team": ("cryptography", "fsspec", "obstore", "prometheus-client"),
    "ray": ("ray",),
}


def require(extra: str, purpose: str) -> None:
    """Check that the packages of an extra are installed, without importing them. Raises PackageMissing."""
    if missing := missing_packages(extra):
        message = f"{purpose} needs the extra `{extra}`, which is not installed ({', '.join(missing)})."
        raise PackageMissing(message, f"{install_advice(extra)}.")


def install_advice(extra: str) -> str:
    """Return how to add an extra to those that are installed: uv removes what its last command did not name."""
    names = ",".join(name for name in EXTRAS if name == extra or not missing_packages(name))
    return f"Repeat the command that installed Lore, with `'.[{names}]'` instead of `.`"


def missing_packages(extra: str) -> list[str]:
    return [name for name in EXTRAS[extra] if find_spec(name.replace("-", "_")) is None]
