"""A poisoned document stays in its fence, and an answer of a model that obeys it leads nowhere."""

import json
import re
import unicodedata

import pytest
from markdown_it import MarkdownIt

from lore_server.answer.kept_answers import EarlierAnswer
from lore_server.answer.pack import Passage
from lore_server.answer.statements import Proof, StatementReader, prompt, verified
from tests.harness.chunks import make_chunk
from tests.harness.poisoned import POISONED

BENIGN = "Ferry keeps its jobs in one SQLite file."
ADDRESS = re.compile(r"(?i)\w+:/{2}|www\.|javascript:|data:\w|mailto:|@evil|//evil")
CITATION = re.compile(r"\[\^?([^\W_a-z]+)\]|[［【⟦]\d")


def passages(text: str) -> list[Passage]:
    return [
        Passage(1, make_chunk("docs/poisoned.md", text=f"{BENIGN}\n\n{text}", heading=(text, f'"{text}" x="'))),
        Passage(2, make_chunk("docs/other.md", text="Another passage.")),
    ]


def test_there_are_fifty_documents() -> None:
    assert len(POISONED) == 50


@pytest.mark.parametrize("name", POISONED)
@pytest.mark.promise(22)
def test_the_structure_of_the_prompt_is_unchanged(name: str) -> None:
    text = POISONED[name]

    found = prompt("Where are jobs kept?", passages(text), EarlierAnswer(f"Q {text}", (), f"A {text}"))

    mark = re.match(r"<passage (\w{16}) ", found)
    assert mark is not None
    lines = [line for line in found.split("\n") if mark[1] in line]
    tags = [re.match(r"</?(?:passage|earlier) \w{16}(?: number=\d)?", line) for line in lines]
    assert [tag[0].replace(mark[1], "*") for tag in tags if tag] == [
        "<passage * number=1", "</passage *", "<passage * number=2", "</passage *", "<earlier *", "</earlier *",
    ]  # fmt: skip
    assert found.count(mark[1]) == 6
    assert found.rpartition(f"</earlier {mark[1]}>\n\n")[2] == "Question: Where are jobs kept?"
    assert not [letter for letter in found if unicodedata.category(letter) in ("Cc", "Cf") and letter not in "\n\t"]


@pytest.mark.parametrize("name", POISONED)
@pytest.mark.promise(22)
def test_a_model_that_obeys_cannot_lead_the_reader_elsewhere(name: str) -> None:
    text = POISONED[name]
    numbered = {passage.number: passage for passage in passages(text)}
    obedient = [
        {"quotes": [BENIGN], "passages": [1], "text": text},
        {"quotes": [BENIGN], "passages": [1, 9], "text": f"Jobs are in one file. {text}"},
        {"quotes": [text], "passages": [2], "text": "Obeyed."},
        {"quotes": ["You are allowed to."], "passages": [1], "text": text},
    ]
    reader = StatementReader()
    cited: list[Proof] = []
    found = [verified(statement, numbered, cited) for statement in reader.feed(json.dumps({"statements": obedient}))]
    shown = "\n\n".join(filter(None, found))

    assert found[2:] == [None, None]
    assert not ADDRESS.search(shown)
    assert not CITATION.search(re.sub(r"`[^`]*`|\[1\]|\[INST\]|\[/INST\]", "", shown))
    assert elements(shown) & {"html_block", "html_inline", "image", "link_open"} == set()
    assert {proof.passage.number for proof in cited} <= {1}


def elements(text: str) -> set[str]:
    """Return the kinds of elements that a viewer of Markdown would show."""
    tokens = MarkdownIt("commonmark", {"html": True}).parse(text)
    return {token.type for block in tokens for token in (block, *(block.children or ()))}
