"""The records of a CSV file as bytes, and quotes that are out of place.

A record may have several lines, between quotes. So a quote within a value that has none around it, as in `5" pipe`,
would take the lines up to the next quote for one value: it is looked for, and named.
"""

from __future__ import annotations

import contextlib
import csv
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import IO

from stakes.exceptions import StudyError

__all__ = ["check_quotes", "csv_records", "separator_of"]

SEPARATORS = (",", ";", "\t", "|")
# A value with more bytes than this is no value, but the rest of a file after a quote.
LONGEST = 1 << 24


def separator_of(header: bytes) -> str:
    """Return what separates the columns of a CSV file."""
    return max(SEPARATORS, key=lambda each: header.count(each.encode()))


def csv_records(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the records of a CSV file that errors call `name`; the first is the header."""
    lines, n_quotes, size, number = list[bytes](), 0, 0, 0
    quotes: _Quotes | None = None
    for number, line in enumerate(file, 1):
        if quotes is None:
            line = line.removeprefix(BOM_UTF8)
            quotes = _Quotes(name, line)
        lines.append(line)
        n_quotes += line.count(b'"')
        size += len(line)
        if n_quotes % 2 == 1:  # quotes come in pairs: as long as one is open, so is the record
            if len(lines) == 1 or size > LONGEST:
                quotes.check(b"".join(lines), number - len(lines) + 1, is_whole=size > LONGEST)
            continue
        record = b"".join(lines)
        if len(lines) > 1:
            quotes.check(record, number - len(lines) + 1)
        yield record
        lines, n_quotes, size = [], 0, 0
    if quotes is not None and lines:
        quotes.check(b"".join(lines), number - len(lines) + 1)


def check_quotes(file: IO[bytes], name: str) -> None:
    """Raise an error if a quote in a CSV file is out of place."""
    while chunk := file.read(1 << 20):
        if b'"' in chunk:
            file.seek(0)
            for _ in csv_records(file, name):
                pass
            return


class _Quotes:
    """Finds quotes that neither begin nor end a value, in the records of a file with this first line."""

    QUOTED = rb'"(?:[^"]++|"")*+"'

    def __init__(self, name: str, header: bytes) -> None:
        self.name = name
        self.header = header
        self.separator = separator_of(header).encode()
        ends = re.escape(self.separator) + rb"\r\n"
        value = rb"(?<![^" + ends + rb"])" + self.QUOTED + rb"(?=[" + ends + rb"]|\Z)"
        self.in_order = re.compile(rb'(?:[^"]++|' + value + rb")*+")

    def check(self, record: bytes, first_line: int, *, is_whole: bool = True) -> None:
        """Raise an error that names the first quote out of place; the last value may go on if not `is_whole`."""
        found = self.in_order.match(record)
        before = found[0] if found else b""
        begins_a_value = not before or before[-1:] in (self.separator, b"\r", b"\n")
        if before == record or (begins_a_value and not is_whole):
            return
        column = re.sub(self.QUOTED, b"", before).count(self.separator)
        texts = csv.reader([self.header.decode(errors="replace").rstrip()], delimiter=self.separator.decode())
        names: list[str] = []
        with contextlib.suppress(csv.Error):  # a header that is no record has no names
            names = next(texts, [])
        shown = repr(names[column]) if column < len(names) else f"number {column + 1}"
        what = "is not closed, or the value goes on after it" if begins_a_value else "stands within a value"
        line = first_line + before.count(b"\n")
        raise StudyError(
            f'{self.name} has a quote (") in line {line:,}, column {shown}, that {what}: remove it, or put quotes '
            'around the value and double those in it, as in "5"" pipe"'
        )
