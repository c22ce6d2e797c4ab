"""Row numbers of samples, refused where they would take all memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stakes.exceptions import SamplingError

__all__ = ["check_room", "drawn_rows"]

# Numbers in a sample of rows, 128 MiB of them, above which it may have no more than ten times the records.
ROOM = 2**24


def check_room(n_sampled: int, n_records: int, n_features: int) -> None:
    """Refuse to make a sample of rows that is out of all proportion, before it takes all memory there is.

    Examples
    --------
    >>> from stakes.sampling.rows import check_room
    >>> check_room(5000, 1000, 20)
    >>> check_room(10**9, 1000, 20)
    Traceback (most recent call last):
        ...
    stakes.exceptions.SamplingError: the sample would have 1,000,000,000 records, and there are 1,000: bring the costs
    closer to each other, or cut the other class instead (UnderSampler)
    """
    if n_sampled > 10 * n_records and n_sampled * n_features > ROOM:
        raise SamplingError(
            f"the sample would have {n_sampled:,} records, and there are {n_records:,}: bring the costs closer to each "
            "other, or cut the other class instead (UnderSampler)"
        )


def drawn_rows(counts: NDArray[np.integer], n_features: int) -> NDArray[np.intp]:
    """Return the row numbers of a sample, each as often as it was drawn."""
    check_room(int(counts.sum()), counts.size, n_features)
    return np.repeat(np.arange(counts.size), counts)
