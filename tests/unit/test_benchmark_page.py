"""The first part of benchmarks/results.md shows the stored figures."""

import json
from xml.etree import ElementTree

from benchmarks import report
from benchmarks.plot import Line, chart


def test_the_first_part_of_the_benchmarks_shows_the_stored_figures() -> None:
    runs = json.loads(report.FIGURES.read_text(encoding="utf-8"))

    assert report.page(runs) in report.PAGE.read_text(encoding="utf-8")


def test_a_chart_has_a_labelled_line_for_each_series() -> None:
    drawn = ElementTree.fromstring(chart("Growth", "chunks", [10, 100], [Line("a < b", [1, 50]), Line("flat", [5, 5])]))

    names = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Growth", "chunks", "10", "100", "a < b", "flat"} <= set(names)
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))) == 2
