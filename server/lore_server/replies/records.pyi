"""The objects in the replies of the contract. Generated from openapi.yaml by `make golden`: do not edit.

At run time they are JSON objects, see `records.py`.
"""

from typing import NotRequired, TypedDict

class OutdatedRecord(TypedDict):
    superseded_by: NotRequired[str]
    valid_until: NotRequired[str]

class FurtherPassageRecord(TypedDict):
    id: str
    heading: str
    lines: list[int]
    excerpt: str
    cut: NotRequired[bool]

class ReasonRecord(TypedDict):
    term: str
    value: float

class ResultRecord(TypedDict):
    id: str
    project: NotRequired[str]
    source: str
    origin: str
    type: str
    title: str
    heading: str
    lines: list[int]
    excerpt: str
    cut: NotRequired[bool]
    score: float
    state: NotRequired[str]
    library: NotRequired[str]
    changed: NotRequired[bool]
    outdated: NotRequired[OutdatedRecord]
    relations: NotRequired[str]
    similar: NotRequired[int]
    similar_sources: NotRequired[list[str]]
    passages: NotRequired[list[FurtherPassageRecord]]
    why: NotRequired[list[ReasonRecord]]

class FacetsTypesRecord(TypedDict):
    type: str
    files: int

class FacetsFoldersRecord(TypedDict):
    path: str
    files: int

class FacetsLangsRecord(TypedDict):
    lang: str
    files: int

class FacetsAgesRecord(TypedDict):
    after: str
    files: int

class FacetsRecord(TypedDict):
    types: list[FacetsTypesRecord]
    folders: list[FacetsFoldersRecord]
    langs: list[FacetsLangsRecord]
    ages: list[FacetsAgesRecord]

class FreshnessRecord(TypedDict):
    state: str
    synced_at: NotRequired[str | None]
    age_seconds: NotRequired[int | None]
    changed_files: NotRequired[int]
    pending_vectors: NotRequired[int]
    vectors_ready: NotRequired[float]
    branch: NotRequired[str | None]
    commit: NotRequired[str | None]
    synced_commit: NotRequired[str]
    job: NotRequired[str]

class TimingsRecord(TypedDict):
    parse: float
    embed: float
    filter: float
    keywords: float
    vectors: float
    passages: float
    scores: float
    rank: float
    copies: float
    rerank: NotRequired[float]
    reply: float

class QueryResultRecord(TypedDict):
    query: str
    total: int
    results: list[ResultRecord]
    facets: NotRequired[FacetsRecord]
    suggestion: NotRequired[str]
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    confidence: float
    doubt: NotRequired[str]
    degraded: NotRequired[str]
    freshness: FreshnessRecord
    timings: NotRequired[TimingsRecord]

class ErrorRecord(TypedDict):
    error: bool
    code: str
    message: str
    hint: str
    trace_id: str

class CitationRecord(TypedDict):
    n: int
    id: str
    project: NotRequired[str]
    source: str
    origin: str
    type: str
    heading: str
    lines: list[int]
    quote: str
    changed: NotRequired[bool]
    state: NotRequired[str]
    library: NotRequired[str]
    date: NotRequired[str]
    outdated: NotRequired[OutdatedRecord]

class ReferenceRecord(TypedDict):
    project: NotRequired[str]
    source: str
    origin: str
    type: str
    title: str
    lines: list[int]
    score: float
    outdated: NotRequired[OutdatedRecord]
    relations: NotRequired[str]

class ModelUseRecord(TypedDict):
    name: str
    input_tokens: NotRequired[int]
    output_tokens: NotRequired[int]
    dropped: NotRequired[int]

class AnswerRecord(TypedDict):
    id: str
    searched: NotRequired[str]
    answer: str
    found: bool
    mode: str
    confidence: float
    citations: list[CitationRecord]
    references: list[ReferenceRecord]
    doubt: NotRequired[str]
    degraded: NotRequired[str]
    model: NotRequired[ModelUseRecord]
    truncated: NotRequired[str]
    freshness: FreshnessRecord

class MemberRecord(TypedDict):
    name: str
    kind: str
    id: str
    lines: list[int]
    source: NotRequired[str]

HierarchyNodeRecord = TypedDict(
    "HierarchyNodeRecord",
    {
        "class": str,
        "parent": str | None,
        "bases": list[str],
        "source": str | None,
        "lines": list[int] | None,
        "implements": NotRequired[list[str]],
        "mixins": NotRequired[list[str]],
        "deeper": NotRequired[int],
    },
)

class HierarchyResultRecord(TypedDict):
    root: str | None
    total: int
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    freshness: FreshnessRecord
    members: NotRequired[list[MemberRecord]]
    users: NotRequired[int]
    used_by: NotRequired[list[str]]
    not_covered: NotRequired[str]
    chain: NotRequired[list[str]]
    classes: list[HierarchyNodeRecord]

class DocumentRowRecord(TypedDict):
    id: str
    type: str
    source: str
    title: str
    lines: list[int]
    hash: str
    group: NotRequired[int]

class DocumentListRecord(TypedDict):
    total: int
    compared: NotRequired[int]
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    freshness: FreshnessRecord
    documents: list[DocumentRowRecord]

DocumentChainRecord = TypedDict(
    "DocumentChainRecord",
    {
        "class": str,
        "source": str | None,
    },
)

DocumentRecord = TypedDict(
    "DocumentRecord",
    {
        "id": str,
        "content_hash": NotRequired[str],
        "metadata_hash": NotRequired[str],
        "type": str,
        "kind": str,
        "source": str,
        "title": str,
        "heading": list[str],
        "lines": list[int],
        "columns": NotRequired[list[int] | None],
        "symbols": list[str],
        "class": NotRequired[str | None],
        "chain": list[DocumentChainRecord],
        "tags": list[str],
        "created": NotRequired[str | None],
        "updated": NotRequired[str | None],
        "valid_until": NotRequired[str | None],
        "superseded_by": NotRequired[str | None],
        "state": NotRequired[str | None],
        "library": NotRequired[str | None],
        "text": str,
        "changed": NotRequired[bool],
        "freshness": FreshnessRecord,
        "truncated": NotRequired[str],
        "next_cursor": NotRequired[str],
    },
)

class SourceRowRecord(TypedDict):
    source: str
    type: str
    title: str
    chunks: int
    lines: int
    change: NotRequired[str]

class SourceListRecord(TypedDict):
    total: int
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    freshness: FreshnessRecord
    sources: list[SourceRowRecord]

class SourceTextChunksRecord(TypedDict):
    id: str
    kind: str
    heading: str
    lines: list[int]

class NamedTicketRecord(TypedDict):
    name: str
    closes: NotRequired[bool]
    via: NotRequired[str]
    source: NotRequired[str]
    title: NotRequired[str]
    state: NotRequired[str]

class FileChangeRecord(TypedDict):
    origin: str
    commit: str
    date: str
    author: str
    subject: str
    body: NotRequired[str]
    tickets: list[NamedTicketRecord]

class SourceTextOthersRecord(TypedDict):
    source: str
    origin: str
    type: str
    lines: list[int]
    text: str
    changed: NotRequired[bool]
    history: NotRequired[list[FileChangeRecord]]
    history_note: NotRequired[str]

class SourceTextRecord(TypedDict):
    source: str
    origin: str
    type: str
    title: str
    lines: list[int]
    text: str
    changed: NotRequired[bool]
    chunks: list[SourceTextChunksRecord]
    history: NotRequired[list[FileChangeRecord]]
    history_note: NotRequired[str]
    others: NotRequired[list[SourceTextOthersRecord]]
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    freshness: FreshnessRecord

class ProblemRecord(TypedDict):
    source: str
    reason: str

class InventoryFoundRecord(TypedDict):
    type: str
    language: str
    files: int

class InventoryLeftOutRecord(TypedDict):
    extension: str
    reason: str
    files: int
    example: str

class InventoryRecord(TypedDict):
    found: list[InventoryFoundRecord]
    left_out: list[InventoryLeftOutRecord]

class SyncResultRecord(TypedDict):
    action: str
    created: int
    updated: int
    unchanged: int
    deleted: int
    embedded: int
    files: int
    failed: list[ProblemRecord]
    skipped: list[ProblemRecord]
    warnings: list[str]
    known: NotRequired[int]
    rebuilt: str | None
    duration: float
    inventory: NotRequired[InventoryRecord]
    truncated: NotRequired[str]

class JobRecord(TypedDict):
    id: str
    action: str
    state: str
    started_at: str
    seconds: float
    stage: NotRequired[str]
    done: NotRequired[int]
    total: NotRequired[int]
    rate: NotRequired[float]
    eta_seconds: NotRequired[float]
    joined: NotRequired[bool]
    cancelling: NotRequired[bool]
    report: NotRequired[SyncResultRecord]
    problem: NotRequired[ErrorRecord]

class PlaceRecord(TypedDict):
    role: str
    path: str

class ViolationRecord(TypedDict):
    type: str
    source: str
    target: str
    message: str

class DriftRecord(TypedDict):
    score: float
    total: int
    violations: list[ViolationRecord]

class FirstQuestionsRecord(TypedDict):
    search: str
    ask: str

class InitResultRecord(TypedDict):
    project_root: str
    found: list[PlaceRecord]
    missing: list[PlaceRecord]
    written: list[str]
    kept: list[str]
    warnings: list[str]
    groups: dict[str, int]
    drift: DriftRecord
    questions: NotRequired[FirstQuestionsRecord]
    job: NotRequired[JobRecord]

class DocTextMetadataRecord(TypedDict):
    title: str
    tags: list[str]
    last_modified: str

class DocTextRecord(TypedDict):
    success: bool
    path: str
    source: str
    size: int
    metadata: DocTextMetadataRecord
    content: str
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]

class KnowledgeResultRecord(TypedDict):
    origin: str
    source_type: str
    title: str
    path: str
    excerpt: str
    score: float
    tags: list[str]
    tags_total: NotRequired[int]
    referenced_by: list[str]
    referenced_by_total: NotRequired[int]
    lines: list[int]
    changed: NotRequired[bool]
    outdated: NotRequired[OutdatedRecord]
    why: NotRequired[list[ReasonRecord]]

class KnowledgeFoundRecord(TypedDict):
    success: bool
    query: str
    results: list[KnowledgeResultRecord]
    total_found: int
    total_indexed: int
    sources_searched: list[str]
    suggestion: NotRequired[str]
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    confidence: float
    doubt: NotRequired[str]
    degraded: NotRequired[str]
    freshness: FreshnessRecord

class VerificationStoresRecord(TypedDict):
    store: str
    items: int
    damaged: int
    note: str

class VerificationRecord(TypedDict):
    at: str
    by: str
    whole: bool
    stores: list[VerificationStoresRecord]

class DatabaseStateRecord(TypedDict):
    status: str
    mode: str
    detail: str
    verification: NotRequired[VerificationRecord]

class CheckRecord(TypedDict):
    part: str
    status: str
    detail: str

class ProblemsRecord(TypedDict):
    failed: list[ProblemRecord]
    skipped: list[ProblemRecord]
    warnings: list[str]
    truncated: NotRequired[str]

class HealthOwnerRecord(TypedDict):
    pid: int
    since: str
    clients: int

class HealthRecord(TypedDict):
    status: str
    checks: list[CheckRecord]
    counts: dict[str, int]
    files: int
    inventory: NotRequired[InventoryRecord]
    problems: NotRequired[ProblemsRecord]
    drift: NotRequired[DriftRecord]
    size_bytes: int
    database: str
    project: str
    job: NotRequired[JobRecord]
    freshness: NotRequired[FreshnessRecord]
    owner: NotRequired[HealthOwnerRecord]
    index_age_seconds: int | None
    model: str
    version: str

class ProjectListProjectsRecord(TypedDict):
    project_id: str
    has_main: bool

class ProjectListRecord(TypedDict):
    success: bool
    current: str
    projects: list[ProjectListProjectsRecord]
    count: int
    note: NotRequired[str]

class KnowledgeErrorContextRecord(TypedDict):
    traceId: str
    timestamp: str
    project_id: NotRequired[str]
    filename: NotRequired[str]
    chapter_title: NotRequired[str]
    section_header: NotRequired[str]
    commit: NotRequired[str]

class KnowledgeErrorRecord(TypedDict):
    success: bool
    error: str
    code: str
    message: str
    hint: str
    trace_id: str
    context: KnowledgeErrorContextRecord

class MainDocumentRecord(TypedDict):
    success: bool
    project_id: str
    exists: bool
    content: str
    version: str | None
    note: NotRequired[str]

class KnowledgeWrittenRecord(TypedDict):
    success: bool
    project_id: str
    filename: NotRequired[str]
    filepath: NotRequired[str]
    version: str | None
    commit: NotRequired[str | None]
    message: str

class KnowledgeMetadataRecord(TypedDict):
    title: str
    keywords: list[str]
    created: str | None
    updated: str | None
    supersedes: NotRequired[list[str]]
    valid_until: NotRequired[str]
    problem: NotRequired[str]

class ChapterMatchRecord(TypedDict):
    chapter: str
    keywords_found: list[str]
    match_context: dict[str, list[str]]
    chapter_summary: str

class KnowledgeMatchesResultsRecord(TypedDict):
    file: str
    match_count: int
    score: float
    metadata: KnowledgeMetadataRecord
    keywords_found: list[str]
    matching_chapters: list[ChapterMatchRecord]
    outdated: NotRequired[OutdatedRecord]

class KnowledgeMatchesRecord(TypedDict):
    success: bool
    project_id: str
    query: str
    total_documents: int
    total_matches: int
    suggestion: NotRequired[str]
    results: list[KnowledgeMatchesResultsRecord]

class KnowledgeFileListFilesRecord(TypedDict):
    filename: str
    title: str
    keywords: list[str]
    created: str | None
    updated: str | None
    supersedes: NotRequired[list[str]]
    valid_until: NotRequired[str]
    problem: NotRequired[str]
    outdated: NotRequired[OutdatedRecord]
    chapters: int
    version: str | None
    bytes: int

class KnowledgeFileListRecord(TypedDict):
    success: bool
    project_id: str
    files: list[KnowledgeFileListFilesRecord]
    count: int
    note: NotRequired[str]

class ChapterRecord(TypedDict):
    index: int
    title: str
    level: int
    summary: str
    content: NotRequired[str]

class KnowledgeFileDocumentRecord(TypedDict):
    filename: str
    metadata: KnowledgeMetadataRecord
    introduction: str
    chapters: list[ChapterRecord]
    full_content: str

class KnowledgeFileRecord(TypedDict):
    success: bool
    project_id: str
    version: str | None
    document: KnowledgeFileDocumentRecord

class ChapterListRecord(TypedDict):
    success: bool
    project_id: str
    filename: str
    title: str
    version: str | None
    chapters: list[ChapterRecord]
    count: int

class OneChapterRecord(TypedDict):
    success: bool
    project_id: str
    filename: str
    version: str | None
    chapter: ChapterRecord
    count: int

class KnowledgeHistoryCommitsRecord(TypedDict):
    id: str
    author: str
    session: str
    date: str
    message: str

class KnowledgeHistoryRecord(TypedDict):
    success: bool
    project_id: NotRequired[str]
    commits: list[KnowledgeHistoryCommitsRecord]
    paths: NotRequired[list[str]]
    patch: NotRequired[str]
    truncated: NotRequired[str]

class KnowledgeRevertedRecord(TypedDict):
    success: bool
    commit: str | None
    paths: list[str]
    message: str

class KnowledgeServerInfoRecord(TypedDict):
    success: bool
    name: str
    version: str
    storage_path: str
    description: str

class StorageStatusRecord(TypedDict):
    success: bool
    storage_path: str
    exists: bool
    has_changes: bool
    current_branch: str
    last_commit: str
    remote_status: str
    uncommitted_files: int
    status_details: str

class StorageSyncedRecord(TypedDict):
    success: bool
    message: str
    files_committed: int
    pulled: bool
    pushed: bool
    commit_message: str
    remote_status: str

class MemoryAddedRecord(TypedDict):
    id: str
    name: str
    group_id: str
    sha256: str
    parts: int
    path: str
    duplicate: bool
    replaced: str | None
    commit: str | None
    note: NotRequired[str]

class MemoryMatchRecord(TypedDict):
    origin: str
    id: str | None
    name: str
    group_id: NotRequired[str | None]
    source: NotRequired[str]
    created: NotRequired[str | None]
    parts: NotRequired[int]
    metadata: NotRequired[dict[str, str | float | bool | list[str | float | bool]]]
    more_metadata: NotRequired[int]
    path: str
    score: float
    excerpt: str
    cut: NotRequired[bool]
    changed: NotRequired[bool]
    outdated: NotRequired[OutdatedRecord]

class MemoryMatchesRecord(TypedDict):
    query: str
    total: int
    results: list[MemoryMatchRecord]
    suggestion: NotRequired[str]
    truncated: NotRequired[str]
    next_cursor: NotRequired[str]
    confidence: NotRequired[float]
    doubt: NotRequired[str]
    degraded: NotRequired[str]
    note: NotRequired[str]
    freshness: NotRequired[FreshnessRecord]

class MemoryDeletedRecord(TypedDict):
    id: str
    name: str
    group_id: str
    parts: int
    commit: str

class AskedQuestionRecord(TypedDict):
    query: str
    count: int
    last: str

class InsightsFilesRecord(TypedDict):
    indexed: int
    never_found: int
    examples: list[str]

class LatencyRecord(TypedDict):
    operation: str
    calls: int
    p50: float
    p95: float
    p99: float

class InsightsRecord(TypedDict):
    enabled: bool
    days: int
    questions: int
    useful: int
    frequent: list[AskedQuestionRecord]
    doubtful: list[AskedQuestionRecord]
    unanswered: list[AskedQuestionRecord]
    files: InsightsFilesRecord
    latency: list[LatencyRecord]
    right: int
    wrong: int

class MarkRecord(TypedDict):
    query: str
    source: str
    verdict: str

class MarkListRecord(TypedDict):
    marks: list[MarkRecord]

class InsightsClearedRecord(TypedDict):
    questions: int
    marks: int
