"""Every error that Lore reports, in one tree. docs/troubleshooting.md explains the codes to users."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


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


class UsageError(LoreError, code="USAGE", http=400, exits=2):
    default_hint = "Run the command with --help, or read /api/openapi.yaml."


class InvalidArgument(UsageError, code="INVALID_ARGUMENT"):
    default_hint = "Correct the argument and call again."


class InvalidInput(InvalidArgument, code="INVALID_INPUT"):
    """The same, with the code of the project tools."""


class InvalidSearchQuery(InvalidArgument, code="INVALID_SEARCH_QUERY"):
    default_hint = "Search for a few words."


class StaleCursor(InvalidArgument, code="STALE_CURSOR", http=409):
    default_hint = "Call again without cursor."


class UnknownOperation(UsageError, code="UNKNOWN_OPERATION", http=404):
    """The contract has no operation with this name."""


class TokenRequired(UsageError, code="TOKEN_REQUIRED", http=401):
    default_hint = (
        "Send `Authorization: Bearer <token>`: the value of LORE_TOKEN on the server, or else the content of the file "
        "`token` in the index folder (.lore)."
    )


class Forbidden(UsageError, code="FORBIDDEN", http=403):
    # the token has no right to this, or there is no such project
    default_hint = "Ask the administrator of this server for a token with this right; `lore token add` creates one."


class LimitReached(UsageError, code="LIMIT_REACHED", http=429):
    default_hint = "Wait for a minute."


class ConfigError(UsageError, code="CONFIG_ERROR", http=500):
    default_hint = "Correct the named key; docs/configuration.md lists all keys."


class PackageMissing(ConfigError, code="PACKAGE_MISSING"):
    default_hint = "Install the named package; docs/install.md lists the extras."


class ConfirmationRequired(UsageError, code="CONFIRMATION_REQUIRED", http=409):
    default_hint = "To confirm, repeat the call with confirm=true."


class InvalidProjectId(UsageError, code="INVALID_PROJECT_ID"):
    default_hint = "Use the name of the repository or the folder."


class InvalidFilename(UsageError, code="INVALID_FILENAME"):
    default_hint = "Use a plain file name such as `api-guide.md`."


class InvalidGroupId(UsageError, code="INVALID_GROUP_ID"):
    default_hint = "Use a short name such as `learning`."


class PathRefused(UsageError, code="PATH_REFUSED", http=403):
    default_hint = "Give a relative path with plain names and slashes, such as `PRPs/executed/PRP-1.md`."


class InvalidContent(UsageError, code="INVALID_CONTENT"):
    # a text that is too long, or would break its document
    default_hint = "Correct the text and call again."


class NotFound(LoreError, code="NOT_FOUND", http=404):
    default_hint = "Use `list_documents` to see the indexed chunks."


class DocumentNotFound(NotFound, code="DOCUMENT_NOT_FOUND"):
    """No chunk has this id."""


class FrameworkNotFound(NotFound, code="FRAMEWORK_NOT_FOUND"):
    default_hint = 'Set their folder in lore.toml: `[docs]`, then `framework = "folder"`, relative to the project root.'


class JobNotFound(NotFound, code="JOB_NOT_FOUND"):
    default_hint = "Only the last job of this index is stored, as `latest`; a sync starts one."


class AnswerNotFound(NotFound, code="ANSWER_NOT_FOUND"):
    default_hint = "Ask the question again without follow_up; the last answers are kept while Lore runs."


class ClassNotFound(NotFound, code="CLASS_NOT_FOUND"):
    """No class has this name; the hint names similar ones."""


class ProjectNotFound(NotFound, code="PROJECT_NOT_FOUND"):
    default_hint = "Check the project id. A project is created when its first document is written."


class ChapterNotFound(NotFound, code="CHAPTER_NOT_FOUND"):
    default_hint = "List the chapters of the document: titles are case-sensitive."


class SectionNotFound(NotFound, code="SECTION_NOT_FOUND"):
    default_hint = "Read the main document: a section header is a whole line such as `## Build`."


class MemoryNotFound(NotFound, code="MEMORY_NOT_FOUND"):
    default_hint = "Use the `id` of a search_memories result."


class CommitNotFound(NotFound, code="COMMIT_NOT_FOUND"):
    default_hint = "get_knowledge_history lists the commits."


class FileExists(LoreError, code="FILE_ALREADY_EXISTS", http=409):
    default_hint = "Change its chapters, or use another name."


class SectionExists(LoreError, code="SECTION_ALREADY_EXISTS", http=409):
    default_hint = "Change the existing one, or use another title."


class Conflict(LoreError, code="CONFLICT", http=409):
    default_hint = "Read it again, then repeat the change on the current version."


class IndexMissing(LoreError, code="INDEX_MISSING", http=409):
    default_hint = "Run `lore sync`, or call manage_knowledge_base with action=sync."


class GuardTripped(LoreError, code="SYNC_GUARD", http=409):
    default_hint = "If the files are really gone, repeat with `--allow-mass-delete` (allow_mass_delete=true)."


class Cancelled(LoreError, code="CANCELLED", http=409):
    # finished work is kept
    default_hint = "Call again."


class ModelMismatch(LoreError, code="MODEL_MISMATCH", http=409):
    default_hint = "Run `lore sync` to build new vectors next to the old ones and then switch."


class StorageError(LoreError, code="STORAGE_ERROR", exits=74):
    default_hint = "Check the folder's permissions and the free disk space."


class InvalidPath(StorageError, code="INVALID_PATH", http=403):
    # a symlink, a device or a folder in place of a file
    default_hint = "Check the named path: symlinks are not followed."


class AccessDenied(StorageError, code="ACCESS_DENIED", http=403):
    default_hint = "Check its owner and permissions."


class GitError(StorageError, code="GIT_ERROR"):
    # the text is kept, and committed with the next write
    default_hint = "Check that `git status` works in the knowledge folder."


class FileSystemError(StorageError, code="FILE_SYSTEM_ERROR"):
    # any other error, for the project tools
    default_hint = "Check the permissions and the free space of the knowledge folder."


class ProjectDeleteFailed(StorageError, code="PROJECT_DELETE_FAILED"):
    # it is unchanged, or the next write completes the deletion
    default_hint = "Check the permissions of the knowledge folder, then call again."


class ForeignIndex(StorageError, code="FOREIGN_INDEX", http=409):
    """An index folder that this user's Lore did not create."""


class DatabaseUnavailable(StorageError, code="DATABASE_UNAVAILABLE", http=503):
    default_hint = "Check that Chroma runs at the address in `[database]` of your configuration, then try again."


class IndexDamaged(StorageError, code="INDEX_DAMAGED"):
    default_hint = "Run `lore sync` to rebuild the damaged store from the files and cached vectors."


class CatalogueDamaged(IndexDamaged, code="CATALOGUE_DAMAGED"):
    """The same for the catalogue, which is set aside."""


class Busy(LoreError, code="BUSY", http=503, exits=75):
    default_hint = "Wait for it to finish and try again."


class Unavailable(Busy, code="UNAVAILABLE"):
    default_hint = "Check whether it was done, then call again."


class DeadlineExceeded(LoreError, code="DEADLINE_EXCEEDED", http=504, exits=75):
    default_hint = "Try again, or request less."


class ProviderError(LoreError, code="PROVIDER_ERROR", http=502, exits=74):
    default_hint = "Check the model name, the API key and the network."


class ProviderUnavailable(ProviderError, code="PROVIDER_UNAVAILABLE"):
    # it does not respond to any request: an immediate retry is useless
    default_hint = "Check the API key and the network, then sync again: finished embeddings are kept."


class InternalError(LoreError, code="INTERNAL_ERROR", exits=70):
    default_hint = "This is a bug in Lore; the log on stderr has the details for this trace_id."


@contextmanager
def os_errors_as(kind: type[LoreError], message: str, hint: str | None = None) -> Iterator[None]:
    """Raise an error of this kind for an OSError: the message, followed by the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{message}: {error.strerror}.", hint) from error


@contextmanager
def explaining(explain: Callable[[BaseException], LoreError | None]) -> Iterator[None]:
    """Raise the error that explains an error of another library; raise others as they are."""
    try:
        yield
    except BaseException as error:
        explained = explain(error)
        if explained is None or explained is error:
            raise
        raise explained from error


def from_record(record: Mapping[str, Any]) -> LoreError:
    """Return the error that another process reported as a record, with the class for its code."""
    for kind in (kinds := [LoreError]):
        kinds.extend(kind.__subclasses__())
    kind = next((kind for kind in kinds if kind.code == record["code"]), LoreError)
    error = kind(record["message"], record["hint"])
    error.trace_id, error.context = record.get("trace_id") or None, record.get("context")
    return error
