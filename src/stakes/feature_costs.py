"""What it costs to know the features of a record: prices of features, and of what several of them need together.

Features are bought by *items*. A feature needs the item of its own name and those of its groups, such as the blood test
that five values are read from. An item is paid once per record, whichever and however many of its features are used.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from stakes._typing import Bools, Floats, Int32s
from stakes.exceptions import CostsError

__all__ = ["FeatureCosts", "Prices", "load_feature_costs"]


class Prices(NamedTuple):
    """The items that features need, as arrays for compiled code."""

    first: Int32s  # (n_features + 1,): where the items of each feature begin in `needed`
    needed: Int32s  # items
    price: Floats  # of each item; infinite for what cannot be bought


@dataclass(frozen=True)
class FeatureCosts:
    """The prices of features, with the names of those features.

    `needs` has the items of each feature, by their position in `items`.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.feature_costs import FeatureCosts
    >>> costs = FeatureCosts.of({"t3": (9, "blood"), "tsh": (21, "blood"), "blood": 2}, ["age", "t3", "tsh"])
    >>> costs.paid(np.array([[True, False, False], [True, True, False], [False, True, True]]))
    array([ 0., 11., 32.])
    """

    features: tuple[str, ...]
    items: tuple[str, ...]
    price: Floats
    needs: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, given: Any, features: Sequence[str]) -> FeatureCosts:
        """Return the prices of features from what a user gives.

        Parameters
        ----------
        given : mapping, array-like or None
            A price for each feature, in their order; or a mapping from names of features and groups to a price, to a
            pair of price and group, or to a mapping with "price" and "group". There may be several groups. What is not
            named costs nothing. A group that has an entry of its own is paid on top of its features' own prices; one
            that has none is paid instead of them, and its features must all have the same price.
        features : sequence of str

        Returns
        -------
        costs : FeatureCosts
        """
        if isinstance(given, FeatureCosts):
            if given.features != tuple(features):
                raise CostsError(f"feature_costs are of {list(given.features)}, and the features are {list(features)}")
            return given
        entries = dict(_entries({} if given is None else given, features))
        groups = {group for _, of in entries.values() for group in of}
        if unknown := [name for name in entries if name not in groups and name not in set(features)]:
            raise CostsError(
                f"feature_costs has {unknown}, which are neither features nor a group of one: the features are "
                f"{list(features)}"
            )
        price = {name: price for name, (price, _) in entries.items()}
        for group in sorted(groups - set(entries)):
            members = [name for name, (_, of) in entries.items() if group in of]
            shared = {entries[name][0] for name in members}
            if several := [n for n in members if entries[n][0] and len({*entries[n][1]} - set(entries)) > 1]:
                raise CostsError(
                    f"feature_costs has {several[0]!r} in several groups without prices of their own: give them some"
                )
            if len(shared) > 1:
                raise CostsError(
                    f"feature_costs has different prices for {members} of the group {group!r}, which has none of its "
                    f"own: give {group!r} the price that they share, and each of them what it costs on top of it"
                )
            price |= dict.fromkeys(members, 0.0) | {group: shared.pop()}
        items = tuple(price)
        number = {name: i for i, name in enumerate(items)}
        needs = tuple(tuple(sorted(number[n] for n in _closure(f, entries) if n in number)) for f in features)
        return cls(tuple(features), items, np.array([*price.values()], dtype=np.float64), needs)

    def __bool__(self) -> bool:
        return bool(self.price.any())

    @cached_property
    def prices(self) -> Prices | None:
        """The prices as arrays for compiled code; None where nothing has a price."""
        if not self:
            return None
        first = np.cumsum([0, *(len(needed) for needed in self.needs)]).astype(np.int32)
        needed = np.array([item for needed in self.needs for item in needed], dtype=np.int32)
        return Prices(first, needed, self.price)

    def bought(self, used: Bools) -> Bools:
        """Return which items are bought for records that use these features, of shape (n_records, n_items)."""
        bought = np.zeros((len(used), len(self.items)), np.bool_)
        for feature, needed in enumerate(self.needs):
            for item in needed:
                bought[:, item] |= used[:, feature]
        return bought

    def paid(self, used: Bools) -> Floats:
        """Return what is paid for each record, given which features are used for it: each item once."""
        bought = self.bought(used)
        return np.broadcast_to(self.price, bought.shape).sum(axis=1, where=bought)

    def scaled(self, factor: Any) -> FeatureCosts:
        """Return the prices times a number, or times one for each feature or group by its name; 1 for others.

        What cannot be bought stays so.
        """
        if isinstance(factor, Mapping):
            if unknown := [str(name) for name in factor if str(name) not in {*self.features, *self.items}]:
                known = ", ".join(dict.fromkeys([*self.features, *self.items]))
                raise CostsError(f"price_bias has {unknown}, which are neither features nor groups: these are {known}")
            by_name = {str(name): value for name, value in factor.items()}
            factor = np.array([_price(by_name.get(item, 1.0), item, "price_bias") for item in self.items])
        else:
            factor = np.full(len(self.items), _price(factor, "all", "price_bias"))
        if not np.isfinite(factor).all():
            raise CostsError("price_bias must be finite: give the feature an infinite price instead")
        return replace(self, price=self.price * np.where(np.isinf(self.price), 1.0, factor))


Entry = tuple[float, tuple[str, ...]]  # the price of an item, and the groups it is in


def _entries(given: Any, features: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield str(name), _entry(value, str(name))
        return
    try:
        prices = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        prices = np.empty(0)
    if prices.shape != (len(features),):
        raise CostsError(
            f"feature_costs={given!r} is not valid: give a price for each of the {len(features)} features, or a dict "
            "from names to prices or to pairs (price, group)"
        )
    for name, price in zip(features, prices.tolist(), strict=True):
        yield name, (_price(price, name), ())


def _entry(value: Any, name: str) -> Entry:
    group: Any = None
    if isinstance(value, Mapping):
        if unknown := sorted(set(map(str, value)) - {"price", "group"}):
            raise CostsError(f"feature_costs[{name!r}] has {unknown}: it may have 'price' and 'group'")
        value, group = value.get("price"), value.get("group")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise CostsError(f"feature_costs[{name!r}]={value!r} is not valid: give a price, or a pair (price, group)")
        value, group = value
    groups = () if group is None else (group,) if isinstance(group, str) else tuple(map(str, group))
    return _price(0.0 if value is None else value, name), groups


def _price(value: Any, name: str, argument: str = "feature_costs") -> float:
    try:
        price = float(value)
    except (TypeError, ValueError):
        price = np.nan
    if not price >= 0:
        raise CostsError(f"{argument}[{name!r}]={value!r} is not valid: give a number of at least 0")
    return price


def _closure(name: str, entries: Mapping[str, Entry]) -> set[str]:
    """Return what has to be bought for a feature: itself, its groups, and what these need."""
    found: set[str] = set()
    pending = [name]
    while pending:
        if (item := pending.pop()) not in found:
            found.add(item)
            pending.extend(entries[item][1] if item in entries else ())
    return found


def load_feature_costs(path: str | Path) -> dict[str, Any]:
    """Read prices from a file, as `FeatureCosts.of` takes them.

    Parameters
    ----------
    path : str or Path
        CSV with the columns feature, price and, if there are any, group (several with a + between them); or JSON or
        TOML from names to prices or to tables with price and group. See the guide on prices of features.

    Returns
    -------
    feature_costs : dict
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".json":
            found = json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix.lower() == ".toml":
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        else:
            found = dict(_rows(pl.read_csv(path, infer_schema=False).iter_rows(named=True)))
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise CostsError(f"the prices of features cannot be read from {path}: {error}") from error
    if not isinstance(found, dict):
        raise CostsError(f"{path} has no prices by name: write {{'age': 1, 'tsh': {{'price': 21, 'group': 'blood'}}}}")
    return found


def _rows(rows: Iterable[Mapping[str, str | None]]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for row in rows:
        if missing := {"feature", "price"} - set(row):
            raise CostsError(f"it has no column {sorted(missing)[0]!r}: there must be feature, price and maybe group")
        name, price, group = (row["feature"] or "").strip(), row["price"], (row.get("group") or "").strip()
        if name in seen:
            raise CostsError(f"it has {name!r} twice")
        if not (price or "").strip() and not group:
            raise CostsError(f"it has neither a price nor a group for {name!r}: write 0 where a feature costs nothing")
        seen.add(name)
        groups = [part.strip() for part in group.split("+")] if group else None
        yield name, {"price": price, "group": groups}
