"""Grown trees: their nodes end to end, and where records end up in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes.tree.growing import Nodes
from stakes.tree.histogram import Bytes
from stakes.tree.predicting import Words, leaf_ids, pack

__all__ = ["Trees"]


@dataclass(frozen=True, eq=False)
class Trees:
    """Any number of trees as flat arrays.

    Leaves are numbered through all trees, in the order of their nodes. Where a record ends up in a tree is the
    number of a leaf, and whatever is known of leaves is an array over these numbers.

    Parameters
    ----------
    nodes : Nodes
        The nodes of all trees, one tree after the other.
    sizes : ndarray of shape (n_trees,)
        How many nodes each tree has.
    """

    nodes: Nodes
    sizes: NDArray[np.int64]

    @classmethod
    def join(cls, grown: Sequence[Nodes]) -> Trees:
        """Put grown trees end to end."""
        shifted = []
        first_node, first_set = 0, 0
        for tree in grown:
            shifted.append(
                tree._replace(
                    left=_shift(tree.left, first_node),
                    parent=_shift(tree.parent, first_node),
                    category_set=_shift(tree.category_set, first_set),
                )
            )
            first_node += tree.feature.size
            first_set += tree.categories_left.shape[0]
        nodes = Nodes(*(np.concatenate(parts) for parts in zip(*shifted, strict=True)))
        return cls(nodes, np.array([tree.feature.size for tree in grown], dtype=np.int64))

    def __len__(self) -> int:
        return self.sizes.size

    def __getstate__(self) -> dict[str, Any]:
        # What can be derived is derived again: it would double the size of a model file.
        return {"nodes": self.nodes, "sizes": self.sizes}

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """The first node of each tree."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """The node of each leaf."""
        return np.flatnonzero(self.nodes.feature < 0)

    @cached_property
    def leaf_number(self) -> NDArray[np.int32]:
        """The number of the leaf that a node is; -1 for the nodes that split."""
        number = np.full(self.nodes.feature.size, -1, np.int32)
        number[self.leaves] = np.arange(self.leaves.size)
        return number

    @cached_property
    def tree_of_leaf(self) -> NDArray[np.intp]:
        """The tree that each leaf belongs to."""
        return np.searchsorted(self.roots, self.leaves, side="right") - 1

    @cached_property
    def depth(self) -> NDArray[np.int32]:
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
    def _packed(self) -> Words:
        return pack(self.nodes)

    def apply(self, bins: Bytes, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the number of the leaf that each record reaches in each tree."""
        nodes = self.nodes
        return leaf_ids(
            bins, self._packed, nodes.category_set, nodes.categories_left, self.roots, self.leaf_number, n_threads
        )

    def feature_importances(self, n_features: int) -> NDArray[np.float64]:
        """Return the gain of all splits on each feature, averaged over the trees."""
        splits = self.nodes.feature >= 0
        gains = np.bincount(self.nodes.feature[splits], self.nodes.gain[splits], minlength=n_features)
        return gains / len(self)


def _shift(numbers: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    return np.where(numbers >= 0, numbers + by, numbers).astype(np.int32)
