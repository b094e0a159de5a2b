import pytest

from lore_etl.stores.tokenizer import MAX_TERM, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("A plain word", "a plain word"),
        ("afterSetFoo", "aftersetfoo after set foo"),
        ("HTTPServer2", "httpserver2 http server 2"),
        ("snake_case_name", "snake_case_name snake case name"),
        ("Neo.button.Base", "neo.button.base neo button base"),
        ("kebab-case", "kebab-case kebab case"),
        ("v11.18.0", "v11.18.0 v11 v 11 18 0"),
        ("$scope.$apply()", "$scope.$apply scope apply"),
        ("call(a, b)", "call a b"),
        ("Größe STRASSE Straße", "grösse strasse strasse"),
        ("größenÄnderung", "größenänderung größen änderung".replace("ß", "ss")),
        ("知識ベース", "知識ベース 知識 識ベ ベー ース"),
        ("漢", "漢"),
        ("... --- !!!", ""),
    ],
)
def test_text_becomes_words_and_identifiers_and_their_parts(text: str, expected: str) -> None:
    assert list(terms(text)) == expected.split()


def test_very_long_words_are_not_terms() -> None:
    assert list(terms("a" * (MAX_TERM + 1) + " b " + "c" * MAX_TERM)) == ["b", "c" * MAX_TERM]
