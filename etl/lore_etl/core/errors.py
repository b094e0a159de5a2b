"""Every error that Lore reports, in one tree.

LoreError                       exit  HTTP
├── UsageError                     2   400   the request is wrong
│   ├── InvalidArgument            2   400   an argument violates the contract
│   │   ├── InvalidInput           2   400   the same, for the project tools
│   │   └── InvalidSearchQuery     2   400
│   ├── UnknownOperation           2   404
│   ├── TokenRequired              2   401   a change over HTTP without the server's token
│   ├── ConfigError                2   500   lore.toml or -c is wrong
│   ├── ConfirmationRequired       2   409   a destructive action without `confirm`
│   ├── InvalidProjectId           2   400   a name that cannot be a project's
│   ├── InvalidFilename            2   400   a name that cannot be a document's
│   ├── InvalidGroupId             2   400   a name that cannot be a group's
│   ├── PathRefused                2   403   a path that the tool may not read
│   └── InvalidContent             2   400   a text that would break its document
├── NotFound                       1   404
│   ├── DocumentNotFound           1   404
│   ├── FrameworkNotFound          1   404   no folder with framework documents
│   ├── JobNotFound                1   404
│   ├── ClassNotFound              1   404
│   ├── ProjectNotFound            1   404
│   ├── ChapterNotFound            1   404
│   ├── SectionNotFound            1   404   of a project's main document
│   ├── MemoryNotFound             1   404
│   └── CommitNotFound             1   404   in the history of the knowledge folder
├── FileExists                     1   409   a document with this name exists
├── SectionExists                  1   409   a section or chapter with this title exists
├── Conflict                       1   409   someone else has changed it
├── IndexMissing                   1   409   nothing has been synced yet
├── GuardTripped                   1   409   a sync would delete too much
├── Cancelled                      1   409   the build was cancelled
├── ModelMismatch                  1   409   the index was built with another model
├── StorageError                  74   500   files, disk, permissions
│   ├── InvalidPath               74   403   a symlink or a device in place of a file
│   ├── AccessDenied              74   403   the system denies access
│   ├── GitError                  74   500   git failed or is not installed
│   ├── FileSystemError           74   500   any other, for the project tools
│   ├── ProjectDeleteFailed       74   500
│   ├── ForeignIndex              74   409   an index folder that this user's Lore did not create
│   ├── DatabaseUnavailable       74   503   Chroma does not respond or denies access
│   └── IndexDamaged              74   500   a store cannot be read; a sync rebuilds it
│       └── CatalogueDamaged      74   500   the same for the catalogue
├── Busy                          75   503   another process owns the index, or too many calls
│   └── Unavailable               75   503   the owner exited during a call that must not be repeated
├── DeadlineExceeded              75   504
├── ProviderError                 74   502   a model or a remote service failed
│   └── ProviderUnavailable       74   502   it does not respond to any request at the moment
└── InternalError                 70   500   a bug in Lore; details are in the log
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LoreError(Exception):
    """The base class of all reported errors, with a message and a hint about the next step."""

    code = "ERROR"
    http_status = 500
    exit_code = 1
    default_hint = "Run `lore status` to find the cause."

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint or self.default_hint
        self.trace_id: str | None = None  # of an error that another process reported
        self.context: Mapping[str, str] | None = None  # of a call whose errors are reported in an envelope


class UsageError(LoreError):
    """The request cannot be understood."""

    code, http_status, exit_code = "USAGE", 400, 2
    default_hint = "Run `lore --help`, or read /api/openapi.yaml."


class InvalidArgument(UsageError):
    """An argument is missing, unknown, of the wrong type or out of range."""

    code = "INVALID_ARGUMENT"
    default_hint = "Correct the argument and call again."


class InvalidInput(InvalidArgument):
    """The same as InvalidArgument, with the code that the project tools use."""

    code = "INVALID_INPUT"


class InvalidSearchQuery(InvalidArgument):
    """A knowledge search without words, or with too many words."""

    code = "INVALID_SEARCH_QUERY"
    default_hint = "Search for a few words."


class UnknownOperation(UsageError):
    """The contract has no operation with this name."""

    code, http_status = "UNKNOWN_OPERATION", 404


class TokenRequired(UsageError):
    """The request makes changes or is remote, and does not carry the server's token."""

    code, http_status = "TOKEN_REQUIRED", 401
    default_hint = (
        "Send `Authorization: Bearer <token>`: the value of LORE_TOKEN on the server, or else the content of the file "
        "`token` in the index folder (.lore)."
    )


class ConfigError(UsageError):
    """The configuration has a wrong key or value."""

    code, http_status = "CONFIG_ERROR", 500
    default_hint = "Correct the named key; docs/configuration.md lists all keys."


class ConfirmationRequired(UsageError):
    """A destructive action was requested without confirmation."""

    code, http_status = "CONFIRMATION_REQUIRED", 409
    default_hint = "To confirm, repeat the call with confirm=true."


class InvalidProjectId(UsageError):
    """The name is not a valid project id."""

    code = "INVALID_PROJECT_ID"
    default_hint = "Use the name of the repository or the folder."


class InvalidFilename(UsageError):
    """The name is not a valid document name."""

    code = "INVALID_FILENAME"
    default_hint = "Use a plain file name such as `api-guide.md`."


class InvalidGroupId(UsageError):
    """The name is not a valid group name."""

    code = "INVALID_GROUP_ID"
    default_hint = "Use a short name such as `learning`."


class PathRefused(UsageError):
    """The path leads outside its folder, or to a file that may not be read."""

    code, http_status = "PATH_REFUSED", 403
    default_hint = "Give a relative path with plain names and slashes, such as `PRPs/executed/PRP-1.md`."


class InvalidContent(UsageError):
    """The text is too long, or would change more of its document than intended."""

    code = "INVALID_CONTENT"
    default_hint = "Correct the text and call again."


class NotFound(LoreError):
    """The requested item is not in the index."""

    code, http_status, exit_code = "NOT_FOUND", 404, 1
    default_hint = "Use `list_documents` to see the indexed chunks."


class DocumentNotFound(NotFound):
    """No chunk has this id."""

    code = "DOCUMENT_NOT_FOUND"


class FrameworkNotFound(NotFound):
    """The project has no folder with framework documents."""

    code = "FRAMEWORK_NOT_FOUND"
    default_hint = 'Set their folder in lore.toml: `[docs]`, then `framework = "folder"`, relative to the project root.'


class JobNotFound(NotFound):
    """No job has this id, or it is no longer stored."""

    code = "JOB_NOT_FOUND"
    default_hint = "`latest` is the last job of this index; older jobs are not stored."


class ClassNotFound(NotFound):
    """No class has this name; the hint names similar classes."""

    code = "CLASS_NOT_FOUND"


class ProjectNotFound(NotFound):
    """No project with this id has knowledge."""

    code = "PROJECT_NOT_FOUND"
    default_hint = "Check the project id. A project is created when its first document is written."


class ChapterNotFound(NotFound):
    """The document has no such chapter."""

    code = "CHAPTER_NOT_FOUND"
    default_hint = "List the chapters of the document: titles are case-sensitive."


class SectionNotFound(NotFound):
    """The main document has no such section."""

    code = "SECTION_NOT_FOUND"
    default_hint = "Read the main document: a section header is a whole line such as `## Build`."


class MemoryNotFound(NotFound):
    """No memory of this project has this id."""

    code = "MEMORY_NOT_FOUND"
    default_hint = "Use the `id` of a search_memories result."


class CommitNotFound(NotFound):
    """The history has no such commit."""

    code = "COMMIT_NOT_FOUND"
    default_hint = "The history lists the commits."


class FileExists(LoreError):
    """A document with this name already exists."""

    code, http_status, exit_code = "FILE_ALREADY_EXISTS", 409, 1
    default_hint = "Change its chapters, or use another name."


class SectionExists(LoreError):
    """A section or chapter with this title already exists."""

    code, http_status, exit_code = "SECTION_ALREADY_EXISTS", 409, 1
    default_hint = "Change the existing one, or use another title."


class Conflict(LoreError):
    """The item has changed since the caller read it."""

    code, http_status, exit_code = "CONFLICT", 409, 1
    default_hint = "Read it again, then repeat the change on the current version."


class IndexMissing(LoreError):
    """There is no index yet, or it is empty."""

    code, http_status, exit_code = "INDEX_MISSING", 409, 1
    default_hint = "Run `lore sync`, or call manage_knowledge_base with action=sync."


class GuardTripped(LoreError):
    """A sync would delete more of the index than seems intended."""

    code, http_status, exit_code = "SYNC_GUARD", 409, 1
    default_hint = "If the files are really gone, repeat with `--allow-mass-delete` (allow_mass_delete=true)."


class Cancelled(LoreError):
    """A build was cancelled; the index is consistent, and the next sync continues from there."""

    code, http_status, exit_code = "CANCELLED", 409, 1
    default_hint = "Run `lore sync` to continue the build."


class ModelMismatch(LoreError):
    """The index contains vectors of another model or input recipe."""

    code, http_status, exit_code = "MODEL_MISMATCH", 409, 1
    default_hint = "Run `lore sync` to build new vectors next to the old ones and then switch."


class StorageError(LoreError):
    """Reading or writing failed."""

    code, http_status, exit_code = "STORAGE_ERROR", 500, 74
    default_hint = "Check the folder's permissions and the free disk space."


class InvalidPath(StorageError):
    """There is a symlink, a device or a folder in place of one of Lore's files."""

    code, http_status = "INVALID_PATH", 403
    default_hint = "Check the named path: symlinks are not followed."


class AccessDenied(StorageError):
    """The system denies reading or writing."""

    code, http_status = "ACCESS_DENIED", 403
    default_hint = "Check its owner and permissions."


class GitError(StorageError):
    """Git failed. The written text is kept, and is committed with the next write."""

    code = "GIT_ERROR"
    default_hint = "Check that `git status` works in the knowledge folder."


class FileSystemError(StorageError):
    """The same as StorageError, with the code that the project tools use."""

    code = "FILE_SYSTEM_ERROR"
    default_hint = "Check the permissions and the free space of the knowledge folder."


class ProjectDeleteFailed(StorageError):
    """The project could not be deleted; it is unchanged, or the next write completes the deletion."""

    code = "PROJECT_DELETE_FAILED"
    default_hint = "Check the permissions of the knowledge folder, then call again."


class ForeignIndex(StorageError):
    """The index folder was created elsewhere, so nothing in it is used."""

    code, http_status = "FOREIGN_INDEX", 409


class DatabaseUnavailable(StorageError):
    """Chroma runs in another process, and does not respond or denies access. Nothing is lost."""

    code, http_status = "DATABASE_UNAVAILABLE", 503
    default_hint = "Check that Chroma runs at the address in `[database]` of your configuration, then try again."


class IndexDamaged(StorageError):
    """A store is unreadable. Stores are derived, so a sync rebuilds it without calling the model."""

    code = "INDEX_DAMAGED"
    default_hint = "Run `lore sync` to rebuild the damaged store from chunks.jsonl and cached vectors."


class CatalogueDamaged(IndexDamaged):
    """The catalogue is unreadable; a sync sets it aside and starts a new one."""

    code = "CATALOGUE_DAMAGED"


class Busy(LoreError):
    """Another process owns the index, or too many calls are running."""

    code, http_status, exit_code = "BUSY", 503, 75
    default_hint = "Wait for it to finish and try again."


class Unavailable(Busy):
    """The process that serves the index exited during the call, which may or may not have completed."""

    code = "UNAVAILABLE"
    default_hint = "Check whether it was done, then call again."


class DeadlineExceeded(LoreError):
    """The operation did not finish in time."""

    code, http_status, exit_code = "DEADLINE_EXCEEDED", 504, 75
    default_hint = "Try again, or request less."


class ProviderError(LoreError):
    """An embedding or answer model failed."""

    code, http_status, exit_code = "PROVIDER_ERROR", 502, 74
    default_hint = "Check the model name, the API key and the network."


class ProviderUnavailable(ProviderError):
    """A model or a remote service does not respond to any request; an immediate retry is useless."""

    code = "PROVIDER_UNAVAILABLE"
    default_hint = "Check the API key and the network, then sync again: finished embeddings are kept."


class InternalError(LoreError):
    """A bug in Lore; the log has the details, with the same trace id."""

    code, http_status, exit_code = "INTERNAL_ERROR", 500, 70
    default_hint = "This is a bug in Lore; the log on stderr has the details for this trace_id."


def from_record(record: Mapping[str, Any]) -> LoreError:
    """Return the error that another process reported as a record, with the class for its code."""
    for kind in (kinds := [LoreError]):
        kinds.extend(kind.__subclasses__())
    kind = next((one for one in kinds if one.code == record["code"]), LoreError)
    error = kind(record["message"], record["hint"])
    error.trace_id, error.context = record.get("trace_id") or None, record.get("context")
    return error
