"""Grown trees: their nodes end to end, and where records end up in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stakes._jit import in_blocks, kernel
from stakes._typing import Bools, Bytes, Floats, Indices, Int32s, Ints, Uint64s
from stakes.tree.nodes import Nodes
from stakes.tree.predicting import descend, pack

__all__ = ["Trees"]

# Paths from a root to a leaf: with fewer than this, another thread costs more than it saves.
FEWEST_PATHS_FOR_THREADS = 1 << 16
NO_IDS: Int32s = np.empty((0, 0), np.int32)
NO_VALUES: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class Trees:
    """Any number of trees as flat arrays.

    Leaves are numbered through all trees, in the order of their nodes. Where a record ends up in a tree is the
    number of a leaf, and whatever is known of leaves is an array over these numbers.
    """

    nodes: Nodes  # of all trees, one tree after the other
    sizes: Ints  # how many nodes each tree has

    @classmethod
    def join(cls, grown: Iterable[Nodes]) -> Trees:
        """Put grown trees end to end; column by column, so that an iterator's trees are never in memory twice."""
        columns = dict(zip(Nodes._fields, map(list, zip(*grown, strict=True)), strict=True))
        counts_are_weights = all(map(is_, columns["weights"], columns["counts"]))
        sizes = np.array([feature.size for feature in columns["feature"]], dtype=np.int64)
        n_sets = [sets.shape[0] for sets in columns["categories_left"]]
        joined: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            shared = name == "weights" and counts_are_weights
            joined[name] = joined["counts"] if shared else np.concatenate(column)
            column.clear()
        end = np.cumsum(sizes)
        for name, before in (("left", end - sizes), ("category_set", np.cumsum(n_sets) - n_sets)):
            if not before.any():
                continue
            for first, stop, shift in zip(end - sizes, end, before, strict=True):
                numbers = joined[name][first:stop]
                numbers[numbers >= 0] += np.int32(shift)
        return cls(Nodes(**joined), sizes)

    def __len__(self) -> int:
        return self.sizes.size

    def __getstate__(self) -> dict[str, Any]:
        # What can be derived is derived again: it would double the size of a model file.
        return {"nodes": self.nodes, "sizes": self.sizes}

    @cached_property
    def roots(self) -> Ints:
        """The first node of each tree."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def leaves(self) -> Indices:
        """The node of each leaf."""
        return np.flatnonzero(self.nodes.feature < 0)

    @cached_property
    def leaf_number(self) -> Int32s:
        """The number of the leaf that a node is; -1 for the nodes that split."""
        number = np.full(self.nodes.feature.size, -1, np.int32)
        number[self.leaves] = np.arange(self.leaves.size)
        return number

    @cached_property
    def tree_of_leaf(self) -> Indices:
        """The tree that each leaf belongs to."""
        first = np.searchsorted(self.leaves, self.roots)
        return np.repeat(np.arange(len(self)), np.diff(first, append=self.leaves.size))

    @cached_property
    def depth(self) -> Int32s:
        """The depth of each node; roots have 0."""
        depth = np.zeros(self.nodes.feature.size, np.int32)
        level = self.roots
        while level.size:
            level = level[self.nodes.feature[level] >= 0]
            children = np.concatenate([self.nodes.left[level], self.nodes.left[level] + 1])
            depth[children] = np.tile(depth[level] + 1, 2)
            level = children
        return depth

    @cached_property
    def _packed(self) -> Uint64s:
        return pack(self.nodes)

    def apply(self, bins: Bytes, n_threads: int = 1, trees: Indices | None = None) -> Int32s:
        """Return the number of the leaf that each record reaches in each tree, or in some of them."""
        roots = self.roots if trees is None else self.roots[trees]
        ids = np.empty((len(bins), roots.size), np.int32)
        self._descend(bins, roots, n_threads, ids=ids)
        return ids

    def leaf_mean(self, bins: Bytes, value: Floats, n_threads: int = 1, trees: Indices | None = None) -> Floats:
        """Return the mean value of the leaves that each record reaches in all trees, or in some of them."""
        roots = self.roots if trees is None else self.roots[trees]
        of_node = np.zeros(self.nodes.feature.size)
        of_node[self.leaves] = value
        sums = np.zeros(len(bins))
        self._descend(bins, roots, n_threads, value=of_node, sums=sums)
        return sums / roots.size

    def _descend(
        self,
        bins: Bytes,
        roots: Ints,
        n_threads: int,
        *,
        ids: Int32s = NO_IDS,
        value: Floats = NO_VALUES,
        sums: Floats = NO_VALUES,
    ) -> None:
        """Write into `ids`, or into `sums`, what `descend` does."""
        n, width = bins.shape
        flat = np.ascontiguousarray(bins).reshape(-1)
        trees = self._packed, self.nodes.category_set, self.nodes.categories_left, roots, self.leaf_number

        def run(start: int, end: int) -> None:
            descend(flat, width, *trees, ids, value, sums, start, end)

        in_blocks(run, n, n_threads if n * roots.size > FEWEST_PATHS_FOR_THREADS else 1, n // (4 * n_threads) + 1)

    def tree(self, number: int) -> Nodes:
        """Return one of the trees by itself."""
        first = int(self.roots[number])
        part = slice(first, first + int(self.sizes[number]))
        columns: dict[str, NDArray[Any]] = {name: array[part] for name, array in self.nodes._asdict().items()}
        left, sets = columns["left"], columns["category_set"]
        n_sets = np.count_nonzero(sets >= 0)
        first_set = sets.max(initial=-1) + 1 - n_sets  # the sets of a tree stand next to each other
        columns["left"] = np.where(left >= 0, left - np.int32(first), left)
        columns["category_set"] = np.where(sets >= 0, sets - np.int32(first_set), sets)
        columns["categories_left"] = self.nodes.categories_left[first_set : first_set + n_sets]
        if self.nodes.weights is self.nodes.counts:
            columns["weights"] = columns["counts"]
        return Nodes(**columns)

    def paths(self, leaf: Int32s) -> sparse.csr_array:
        """Return which nodes records pass on their way to leaves, of shape (n_records, n_nodes).

        `leaf` has the number of the leaf that each record reaches in each tree.
        """
        n, m = leaf.shape
        rows, parent = np.repeat(np.arange(n), m), self.nodes.parent.astype(np.intp)
        node = self.leaves[leaf.ravel()]
        found = []
        while node.size:
            found.append((rows, node))
            node = parent[node]
            rows, node = rows[node >= 0], node[node >= 0]
        at = tuple(np.concatenate(part) for part in zip(*found, strict=True))
        return sparse.coo_array((np.ones(at[0].size, np.int64), at), (n, self.nodes.feature.size)).tocsr()

    def features_used(self, leaf: Int32s, n_features: int) -> Bools:
        """Return which features records are asked for on their way to leaves, of shape (n_records, n_features)."""
        used = np.zeros((leaf.shape[0], n_features), np.bool_)
        _mark_features(leaf, self.leaves, self.nodes.feature, self.nodes.parent, used)
        return used

    def feature_importances(self, n_features: int, *, in_money: bool = True) -> Floats:
        """Return the gain of all splits on each feature, averaged over the trees: as it is, or as a share of all."""
        splits = self.nodes.feature >= 0
        gains = np.bincount(self.nodes.feature[splits], self.nodes.gain[splits], minlength=n_features)
        return gains / (len(self) if in_money else gains.sum() or 1.0)


@kernel
def _mark_features(leaf: Int32s, leaves: Indices, feature: Int32s, parent: Int32s, used: Bools) -> None:
    for i in range(leaf.shape[0]):
        for tree in range(leaf.shape[1]):
            node = parent[leaves[leaf[i, tree]]]
            while node >= 0:
                used[i, feature[node]] = True
                node = parent[node]
