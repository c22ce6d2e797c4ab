"""Records of CSV files are what other readers make of them, and quotes out of place are named."""

from __future__ import annotations

import csv
import io
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stakes.exceptions import StudyError
from stakes.study import csv_records
from stakes.study.csv_records import check_quotes

NAMES = ["a", "b", "c"]
VALUES = st.text(st.sampled_from('xy, ;"\n0'), max_size=6)


def written(rows: list[list[str]], separator: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows([NAMES, *rows])
    return file.getvalue()


def records_of(text: str) -> list[bytes]:
    return list(csv_records.csv_records(io.BytesIO(text.encode()), "records.csv"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), max_size=5), st.sampled_from([",", ";"]))
def test_records_are_those_that_another_writer_wrote(rows: list[list[str]], separator: str) -> None:
    text = written(rows, separator)
    found = records_of(text)
    assert b"".join(found) == text.encode()
    assert [next(csv.reader(io.StringIO(each.decode(), newline=""), delimiter=separator)) for each in found[1:]] == rows
    check_quotes(io.BytesIO(text.encode()), "records.csv")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), max_size=4), st.integers(0, 2), st.data())
def test_a_quote_within_a_value_is_named_by_its_line_and_column(rows: list[list[str]], column: int, data) -> None:
    wrong = ["1", "2", "3"]
    wrong[column] = "STRAY"
    at = data.draw(st.integers(0, len(rows)))
    text = written([*rows[:at], wrong, *rows[at:]]).replace("STRAY", '5" pipe')
    line = written(rows[:at]).count("\n") + 1
    with pytest.raises(StudyError, match=rf"line {line}, column '{NAMES[column]}', that stands within a value: remove"):
        records_of(text)


@pytest.mark.parametrize(
    ("record", "line"), [('1,"x, y",5" pipe', 2), ('1,"x\ny",5" pipe', 3), ('1,"x, ""y""\n,\n",5" pipe', 4)]
)
def test_lines_and_separators_within_quotes_are_counted_as_what_they_are(record: str, line: int) -> None:
    with pytest.raises(StudyError, match=rf"line {line}, column 'c', that stands within a value"):
        records_of(f"a,b,c\n{record}\n")


def test_a_quote_that_is_not_closed_is_named_where_it_begins() -> None:
    with pytest.raises(StudyError, match=r"line 2, column 'b', that is not closed"):
        records_of('a,b,c\n1,"2,3\n4,"5, 6",7\n')


def test_pairs_of_quotes_within_a_line_are_left_as_they_are() -> None:
    assert records_of('a,b,c\n1,5" x 6",3\n') == [b"a,b,c\n", b'1,5" x 6",3\n']


def test_the_rest_of_a_large_file_is_not_read_for_the_end_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "LONGEST", 1000)
    file = io.BytesIO(b'a,b,c\n"1,2,3\n' + b"4,5,6\n" * 100_000)
    with pytest.raises(StudyError, match="line 2, column 'a'"):
        check_quotes(file, "records.csv")
    assert file.tell() < 10_000


def test_a_quote_out_of_place_takes_no_longer_than_reading() -> None:
    started = time.process_time()
    with pytest.raises(StudyError, match="line 2, column 'a'"):
        check_quotes(io.BytesIO(b'a,b,c\n5" pipe,2,3\n' + b"4,5,6\n" * 300_000), "records.csv")
    assert time.process_time() - started < 1
