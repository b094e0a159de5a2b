"""The configuration as a checked model; `project` merges its files, `policy` defines who may set each key."""

import difflib
import ipaddress
import re
import socket
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from lore_etl.config.project import INDEX_NAME, read_layers
from lore_etl.core.errors import ConfigError

HOST = r"^([a-zA-Z0-9_]([a-zA-Z0-9._-]{0,251}[a-zA-Z0-9])?|[0-9a-fA-F]{0,4}:[0-9a-fA-F:.]{0,40}:[0-9a-fA-F.]{0,15})$"
HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class SettingsTable(BaseModel):
    """A table of the configuration. An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class IndexSettings(SettingsTable):
    """The location of the index and the files it covers."""

    path: str = Field(INDEX_NAME, description="folder of the index, relative to the project")
    exclude: list[str] = Field([], description="patterns of files to leave out, beside `.gitignore`")
    include: list[str] = Field(
        [], description="patterns of files to index even if git ignores them or a program wrote them"
    )
    max_file_bytes: int = Field(2_000_000, ge=1_000, description="larger files are reported and left out")
    guard_share: float = Field(
        0.3, gt=0, le=1, description="a sync that would delete a larger share of the index is refused"
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address. Names other than `localhost` may belong to any machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def is_this_machine(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname or "")


def _accepted(url: str | None, owner: str, variable: str) -> str | None:
    """Accept only addresses of the owner and of this machine, because the owner's API key is sent there."""
    if url is None or is_this_machine(url):
        return url
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" and (host == owner or host.endswith(f".{owner}")):
        return url
    raise ValueError(f"{host or url} would receive the key: to allow it, set {variable} in the environment")


def _googles(url: str | None) -> str | None:
    return _accepted(url, "googleapis.com", "GOOGLE_GEMINI_BASE_URL")


class EmbeddingSettings(SettingsTable):
    """The embedding model."""

    provider: Literal["local", "gemini"] = Field("local", description="`gemini` needs `GEMINI_API_KEY`")
    model: str = Field(
        "", description="name or folder of a model; empty: `all-MiniLM-L6-v2`, for Gemini `gemini-embedding-001`"
    )
    threads: int = Field(0, ge=0, le=1024, description="number of cores for embedding; 0: all")
    base_url: Annotated[str | None, AfterValidator(_googles)] = Field(
        None, description="another endpoint of Google, or on this machine"
    )
    cache_mb: int = Field(500, ge=0, le=1_000_000, description="megabytes of the cache of all projects; 0: off")
    shared: str = Field(
        "", max_length=2_000, description="folder or address of vectors that machines share: `s3://bucket/lore`"
    )
    shared_writes: bool = Field(False, description="add the vectors computed here to `shared`")


class DatabaseSettings(SettingsTable):
    """Where Chroma runs (docs/databases.md), and its HNSW settings (benchmarks/results.md); see `chroma.address`."""

    mode: Literal["embedded", "server", "http", "cloud"] = Field("embedded", description="where Chroma runs")
    host: str = Field("", description="name or address, without scheme and port; in the cloud, another region")
    port: int = Field(0, ge=0, le=65535, description="0: 8000, or 443 with TLS")
    ssl: bool | None = Field(None, description="TLS; always on in the cloud")
    ca_file: str = Field("", description="PEM file of the authority that signed the server's certificate")
    headers: dict[str, str] = Field({}, description="`env:CHROMA_NAME` stands for that variable")
    tenant: str = Field("", description="empty: Chroma's default, in the cloud that of the key")
    database: str = Field("", description="empty: Chroma's default, in the cloud that of the key")
    timeout_seconds: float = Field(30, gt=0, le=600, description="for one request to `http` or `cloud`")
    collection: str = Field(
        "lore",
        pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]$",
        description="the collection, or with `http` and `cloud` the beginning of its name",
    )
    ef_search: int = Field(
        200, ge=10, le=10_000, description="HNSW, for 20,000 chunks: doubles whenever they quadruple"
    )
    ef_construction: int = Field(200, ge=10, le=10_000, description="HNSW: recall against time")
    max_neighbors: int = Field(32, ge=4, le=256, description="HNSW: recall against memory")

    def in_this_process(self) -> Self:
        """Return settings for a temporary index that is embedded in this process, for measurements."""
        kept = {"collection", "ef_search", "ef_construction", "max_neighbors"}
        return type(self)(**self.model_dump(include=kept))


class QuerySettings(SettingsTable):
    """The ranking. `weights` overrides single weights of the chosen ranking."""

    ranking: Literal["hybrid", "classic"] = Field(
        "hybrid", description="`classic` is the formula of Neo.mjs's knowledge base"
    )
    nResults: int = Field(100, ge=10, le=1000, description="number of candidates of each leg")
    weights: dict[str, float] = Field({}, description="single weights by name")
    reranker: str = Field("", description="name or folder of a cross-encoder; empty: none")
    rerank_depth: int = Field(20, ge=2, le=200, description="number of best results that it reads")


class DocsSettings(SettingsTable):
    """The folder of a framework's documents, and the ranking of `knowledge_search` (docs/unified.md)."""

    framework: str = Field("", description="folder of the framework's pages; empty: `.ce/docs`, else `.ce`")
    tag_weight: float = Field(0.2, ge=0, le=10, description="maximum bonus for words in the tags")
    title_weight: float = Field(0.3, ge=0, le=10, description="maximum bonus for words in the title")
    recent_weight: float = Field(0.1, ge=0, le=10, description="bonus for a recent change")
    recent_days: int = Field(30, ge=0, le=36_500, description="days that count as recent")


class AnswerSettings(SettingsTable):
    """The model that writes answers. Without one, answers are passages."""

    provider: Literal["auto", "gemini", "openai", "none"] = Field(
        "auto", description="`auto`: Gemini if `GEMINI_API_KEY` is set; `none`: always passages"
    )
    model: str = Field("", max_length=200, description="empty: `gemini-2.5-flash`; `openai` has no default")
    base_url: str | None = Field(None, description="another endpoint of the provider, or on this machine")
    timeout_seconds: float = Field(20, gt=0, le=600, description="for each attempt")
    attempts: int = Field(3, ge=1, le=10, description="number of attempts on 408, 429 and 5xx")
    context_tokens: int = Field(6000, ge=200, le=200_000, description="size of the passages for the model")
    requests_per_minute: int = Field(60, ge=0, le=100_000, description="in all projects; 0: no limit")
    tokens_per_day: int = Field(2_000_000, ge=0, description="in all projects, by UTC; 0: no limit")

    @field_validator("base_url")
    @classmethod
    def _belongs_to_the_provider(cls, url: str | None, info: ValidationInfo) -> str | None:
        is_openai = info.data.get("provider") == "openai"
        return _accepted(url, "openai.com", "OPENAI_BASE_URL") if is_openai else _googles(url)


class ServerSettings(SettingsTable):
    """The address of `lore serve`. If other machines can reach it, every request needs a token."""

    host: str = Field("127.0.0.1", pattern=HOST, description="the address to listen on")
    port: int = Field(7317, ge=0, le=65535, description="0: a free one")
    allowed_hosts: list[Annotated[str, Field(pattern=HOST)]] = Field(
        [], description="further host names, without port; they need the token"
    )
    webhooks: dict[str, list[Annotated[str, Field(pattern=r"^(github|gitlab) \w[\w.-]*(/\w[\w.-]*)+$")]]] = Field(
        {}, description="trackers to pull at a delivery for a project: project -> `github OWNER/REPO`"
    )


class AuthSettings(SettingsTable):
    """The OpenID provider whose tokens `lore serve` accepts beside its own."""

    issuer: str = Field("", pattern=r"^(https?://\S+)?$", description="its address; empty: none")
    audience: str = Field(
        "", pattern=r"^(https?://\S+)?$", description="the public address of MCP, for which tokens are made"
    )
    groups_claim: str = Field("groups", description="the claim with the groups of the user")
    groups: dict[str, dict[str, Literal["read", "write", "admin"]]] = Field(
        {}, description="rights of each group: project or `*` -> `read`, `write` or `admin`"
    )


class PublishedSettings(SettingsTable):
    """The published indexes that `lore fetch` and `lore serve --replica` start from."""

    target: str = Field("", max_length=1000, description="folder or object store of the snapshots")
    keys: list[str] = Field([], description="accepted public keys, Ed25519 in base64 of DER")


class OwnerSettings(SettingsTable):
    """The background process that owns an index, and its reaction to changed files."""

    idle_minutes: float = Field(30, gt=0, le=10_080, description="time without clients after which it ends")
    transport: Literal["unix", "loopback"] = Field(
        "unix" if HAS_UNIX_SOCKETS else "loopback", description="how clients reach it: a Unix socket or a local port"
    )
    watch: bool = Field(True, description="notice changed files immediately")
    auto_sync_files: int = Field(50, ge=0, description="most changed files that are synced by themselves; 0: never")


class InsightsSettings(SettingsTable):
    """The log of questions for `lore insights`, on this machine only."""

    log: bool = Field(True, description="keep questions and searches")
    days: int = Field(90, ge=1, le=3650, description="maximum age of a question")
    max_questions: int = Field(10_000, ge=10, le=1_000_000, description="maximum number of questions")


class HookSettings(SettingsTable):
    """The files that `lore hook session-start` sends. Only the command line and the environment can name the server."""

    memory_dirs: list[str] = Field([], description="empty: `LORE_MEMORY_DIR`, else `~/.claude/MEMORY`")


class Settings(SettingsTable):
    """The whole configuration."""

    index: IndexSettings = IndexSettings()
    sources: dict[str, list[str]] = Field({})
    embedding: EmbeddingSettings = EmbeddingSettings()
    database: DatabaseSettings = DatabaseSettings()
    query: QuerySettings = QuerySettings()
    docs: DocsSettings = DocsSettings()
    answer: AnswerSettings = AnswerSettings()
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    published: PublishedSettings = PublishedSettings()
    owner: OwnerSettings = OwnerSettings()
    hook: HookSettings = HookSettings()
    insights: InsightsSettings = InsightsSettings()


def load_settings(project: Path, extra: Path | None = None) -> Settings:
    """Read, merge and validate all layers of a project's configuration. Raises ConfigError."""
    try:
        return Settings.model_validate(read_layers(project, extra).merged)
    except ValidationError as error:
        raise _explained(error) from error


def _explained(error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(re.sub(r"[^\w.:-]", "?", str(part)[:80], flags=re.ASCII) for part in first["loc"])  # untrusted
    if first["type"] != "extra_forbidden":
        return ConfigError(f"Configuration key `{key}`: {first['msg']}.")
    model: type[BaseModel] = Settings
    for part in first["loc"][:-1]:
        model = type(model.model_fields[str(part)].default)
    known = sorted(model.model_fields)
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"Known keys here: {', '.join(known)}."
    return ConfigError(f"Unknown configuration key `{key}`.", hint)
