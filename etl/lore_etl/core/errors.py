"""Every error that Lore reports, in one tree. docs/troubleshooting.md explains the codes to users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar


class LoreError(Exception):
    """The base class of all reported errors, with a message and a hint about the next step."""

    code = "ERROR"
    http_status = 500
    exit_code = 1
    default_hint = "Run `lore status` to find the cause."

    def __init_subclass__(cls, code: str = "", http: int = 0, exits: int = 0) -> None:
        cls.code = code or cls.code
        cls.http_status = http or cls.http_status
        cls.exit_code = exits or cls.exit_code

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint or self.default_hint
        self.trace_id: str | None = None  # of an error that another process reported
        self.context: Mapping[str, str] | None = None  # of a call whose errors are reported in an envelope


Kind = TypeVar("Kind", bound=LoreError)


def _error(base: type[Kind], code: str, hint: str = "", http: int = 0, exits: int = 0) -> type[Kind]:
    """Return the class of the errors with this code, which are of a kind."""
    values = {"default_hint": hint or base.default_hint}
    return type(code.title().replace("_", ""), (base,), values, code=code, http=http, exits=exits)


class UsageError(LoreError, code="USAGE", http=400, exits=2):
    default_hint = "Run `lore --help`, or read /api/openapi.yaml."


class InvalidArgument(UsageError, code="INVALID_ARGUMENT"):
    default_hint = "Correct the argument and call again."


# the same, with the code of the project tools
InvalidInput = _error(InvalidArgument, "INVALID_INPUT")
InvalidSearchQuery = _error(InvalidArgument, "INVALID_SEARCH_QUERY", "Search for a few words.")
StaleCursor = _error(InvalidArgument, "STALE_CURSOR", "Call again without cursor.", http=409)
# the contract has no operation with this name
UnknownOperation = _error(UsageError, "UNKNOWN_OPERATION", http=404)
TokenRequired = _error(
    UsageError,
    "TOKEN_REQUIRED",
    "Send `Authorization: Bearer <token>`: the value of LORE_TOKEN on the server, or else the content of the file "
    "`token` in the index folder (.lore).",
    http=401,
)
# the token has no right to this, or there is no such project
Forbidden = _error(
    UsageError,
    "FORBIDDEN",
    "Ask the administrator of this server for a token with this right; `lore token add` creates one.",
    http=403,
)
LimitReached = _error(UsageError, "LIMIT_REACHED", "Wait for a minute.", http=429)


class ConfigError(UsageError, code="CONFIG_ERROR", http=500):
    default_hint = "Correct the named key; docs/configuration.md lists all keys."


PackageMissing = _error(ConfigError, "PACKAGE_MISSING", "Install the named package; docs/install.md lists the extras.")
ConfirmationRequired = _error(
    UsageError, "CONFIRMATION_REQUIRED", "To confirm, repeat the call with confirm=true.", http=409
)
InvalidProjectId = _error(UsageError, "INVALID_PROJECT_ID", "Use the name of the repository or the folder.")
InvalidFilename = _error(UsageError, "INVALID_FILENAME", "Use a plain file name such as `api-guide.md`.")
InvalidGroupId = _error(UsageError, "INVALID_GROUP_ID", "Use a short name such as `learning`.")
PathRefused = _error(
    UsageError,
    "PATH_REFUSED",
    "Give a relative path with plain names and slashes, such as `PRPs/executed/PRP-1.md`.",
    http=403,
)
# a text that is too long, or would break its document
InvalidContent = _error(UsageError, "INVALID_CONTENT", "Correct the text and call again.")


class NotFound(LoreError, code="NOT_FOUND", http=404):
    default_hint = "Use `list_documents` to see the indexed chunks."


class DocumentNotFound(NotFound, code="DOCUMENT_NOT_FOUND"):
    """No chunk has this id."""


FrameworkNotFound = _error(
    NotFound,
    "FRAMEWORK_NOT_FOUND",
    'Set their folder in lore.toml: `[docs]`, then `framework = "folder"`, relative to the project root.',
)
JobNotFound = _error(NotFound, "JOB_NOT_FOUND", "`latest` is the last job of this index; older jobs are not stored.")
AnswerNotFound = _error(
    NotFound, "ANSWER_NOT_FOUND", "Ask the question again without follow_up; the last answers are kept while Lore runs."
)
# no class has this name; the hint names similar ones
ClassNotFound = _error(NotFound, "CLASS_NOT_FOUND")
ProjectNotFound = _error(
    NotFound, "PROJECT_NOT_FOUND", "Check the project id. A project is created when its first document is written."
)
ChapterNotFound = _error(NotFound, "CHAPTER_NOT_FOUND", "List the chapters of the document: titles are case-sensitive.")
SectionNotFound = _error(
    NotFound, "SECTION_NOT_FOUND", "Read the main document: a section header is a whole line such as `## Build`."
)
MemoryNotFound = _error(NotFound, "MEMORY_NOT_FOUND", "Use the `id` of a search_memories result.")
CommitNotFound = _error(NotFound, "COMMIT_NOT_FOUND", "The history lists the commits.")
FileExists = _error(LoreError, "FILE_ALREADY_EXISTS", "Change its chapters, or use another name.", http=409)
SectionExists = _error(LoreError, "SECTION_ALREADY_EXISTS", "Change the existing one, or use another title.", http=409)
Conflict = _error(LoreError, "CONFLICT", "Read it again, then repeat the change on the current version.", http=409)


class IndexMissing(LoreError, code="INDEX_MISSING", http=409):
    default_hint = "Run `lore sync`, or call manage_knowledge_base with action=sync."


GuardTripped = _error(
    LoreError,
    "SYNC_GUARD",
    "If the files are really gone, repeat with `--allow-mass-delete` (allow_mass_delete=true).",
    http=409,
)
# finished work is kept
Cancelled = _error(LoreError, "CANCELLED", "Call again.", http=409)
ModelMismatch = _error(
    LoreError, "MODEL_MISMATCH", "Run `lore sync` to build new vectors next to the old ones and then switch.", http=409
)


class StorageError(LoreError, code="STORAGE_ERROR", exits=74):
    default_hint = "Check the folder's permissions and the free disk space."


# a symlink, a device or a folder in place of a file
InvalidPath = _error(StorageError, "INVALID_PATH", "Check the named path: symlinks are not followed.", http=403)
AccessDenied = _error(StorageError, "ACCESS_DENIED", "Check its owner and permissions.", http=403)
# the text is kept, and committed with the next write
GitError = _error(StorageError, "GIT_ERROR", "Check that `git status` works in the knowledge folder.")
# any other error, for the project tools
FileSystemError = _error(
    StorageError, "FILE_SYSTEM_ERROR", "Check the permissions and the free space of the knowledge folder."
)
# it is unchanged, or the next write completes the deletion
ProjectDeleteFailed = _error(
    StorageError, "PROJECT_DELETE_FAILED", "Check the permissions of the knowledge folder, then call again."
)


class ForeignIndex(StorageError, code="FOREIGN_INDEX", http=409):
    """An index folder that this user's Lore did not create."""


class DatabaseUnavailable(StorageError, code="DATABASE_UNAVAILABLE", http=503):
    default_hint = "Check that Chroma runs at the address in `[database]` of your configuration, then try again."


class IndexDamaged(StorageError, code="INDEX_DAMAGED"):
    default_hint = "Run `lore sync` to rebuild the damaged store from the files and cached vectors."


# the same for the catalogue, which is set aside
CatalogueDamaged = _error(IndexDamaged, "CATALOGUE_DAMAGED")


class Busy(LoreError, code="BUSY", http=503, exits=75):
    default_hint = "Wait for it to finish and try again."


Unavailable = _error(Busy, "UNAVAILABLE", "Check whether it was done, then call again.")
DeadlineExceeded = _error(LoreError, "DEADLINE_EXCEEDED", "Try again, or request less.", http=504, exits=75)


class ProviderError(LoreError, code="PROVIDER_ERROR", http=502, exits=74):
    default_hint = "Check the model name, the API key and the network."


class ProviderUnavailable(ProviderError, code="PROVIDER_UNAVAILABLE"):
    # it does not respond to any request: an immediate retry is useless
    default_hint = "Check the API key and the network, then sync again: finished embeddings are kept."


InternalError = _error(
    LoreError, "INTERNAL_ERROR", "This is a bug in Lore; the log on stderr has the details for this trace_id.", exits=70
)


@contextmanager
def os_errors_as(kind: type[LoreError], message: str, hint: str | None = None) -> Iterator[None]:
    """Raise an error of this kind for an OSError: the message, followed by the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{message}: {error.strerror}.", hint) from error


def from_record(record: Mapping[str, Any]) -> LoreError:
    """Return the error that another process reported as a record, with the class for its code."""
    for kind in (kinds := [LoreError]):
        kinds.extend(kind.__subclasses__())
    kind = next((kind for kind in kinds if kind.code == record["code"]), LoreError)
    error = kind(record["message"], record["hint"])
    error.trace_id, error.context = record.get("trace_id") or None, record.get("context")
    return error
