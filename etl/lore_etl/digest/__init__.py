"""Summarise a document from its indexed text: title, excerpt, tags, rules, references."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from lore_etl.core.model import Document, KnowledgeType
from lore_etl.digest.prose_lines import ProseLines, Rule, excerpt_of, rules_of, tags_of
from lore_etl.digest.specs import Spec, spec_of

DIGESTED = frozenset({KnowledgeType.PRP, KnowledgeType.MEMORY, KnowledgeType.RULE, KnowledgeType.EXAMPLE})


class Digest(BaseModel):
    """A short description of a document. Only PRPs have `spec`, only rule files have `rules`."""

    model_config = ConfigDict(frozen=True)

    type: KnowledgeType
    title: str
    excerpt: str
    tags: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    spec: Spec | None = None


def digest(document: Document) -> Digest | None:
    """Return the digest of a document, or None for types that no view lists."""
    if document.type not in DIGESTED:
        return None
    text = ProseLines(document)
    return Digest(
        type=document.type,
        title=document.title,
        excerpt=excerpt_of(text),
        tags=tags_of(document.front.values, text),
        rules=rules_of(text) if document.type is KnowledgeType.RULE else (),
        spec=spec_of(document.front.values, text) if document.type is KnowledgeType.PRP else None,
    )
