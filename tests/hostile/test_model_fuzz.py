"""Crafted model files, with digests that fit: refused, or models that answer; never a crash, a hang or a lie.

They are loaded in a process of their own. Run as a script, this is that process: ``test_model_fuzz.py FIRST LAST``.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import polars as pl
import pytest

ODD_NUMBERS = (0, 1, -1, 2, 7, 255, 256, -(2**31), 2**31 - 1, 2**31, 2**62, 10**30, 0.5, 1e308, -1e308)
ODD_TEXTS = (
    "null", "NaN", "Infinity", "-1", "1e400", '""', '"x"', "[]", "{}", "true", "[[1]]", '"\\u0000"', "99999999",
    "[" * 5000 + "]" * 5000, '{"a":' * 5000 + "1" + "}" * 5000,
)  # fmt: skip
# Headers of arrays: far too large, of objects, of nothing, in another order.
ODD_HEADERS = (
    {"shape": (1 << 62,)}, {"shape": (1 << 33, 1 << 33)}, {"shape": (-1,)}, {"shape": (1 << 28,)}, {"shape": ()},
    {"descr": "|O"}, {"descr": "|V0"}, {"descr": "<U99999999"}, {"descr": "<M8[ns]"}, {"descr": "<f2"},
    {"fortran_order": True}, {"more": 1},
)  # fmt: skip


def models() -> dict[str, bytes]:
    """Return small model files of all kinds."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    from stakes import (
        CostBaggingClassifier,
        CostBoostClassifier,
        CostDecisionClassifier,
        CostStackingClassifier,
        CostTeamClassifier,
        CostTreeClassifier,
        Decision,
        MetaCostClassifier,
        make_classifier,
    )
    from stakes.delivered import DeliveredClassifier
    from stakes.encoded import EncodedClassifier
    from stakes.gradient_boosting import CostGradientBoostingClassifier
    from stakes.persist import dumps

    X, y = records()
    few = {"n_estimators": 3, "random_state": 0}
    voting = Decision(member="tuned", vote_weight="log_odds", calibration="isotonic", threshold="cost")
    forest = EncodedClassifier(RandomForestClassifier(3, max_depth=3, random_state=0))
    histogram = EncodedClassifier(HistGradientBoostingClassifier(max_iter=3))
    made: dict[str, Any] = {
        "bagging": CostBaggingClassifier(weighted=True, features="per_split", decision=voting, **few),
        "boosting": CostBoostClassifier(variant="uboost", **few),
        "lightgbm": make_classifier("gb", random_state=0),
        "costs in boosting": CostGradientBoostingClassifier(n_estimators=3, random_state=0),
        "logistic regression": make_classifier("lr", random_state=0),
        "histograms": CostDecisionClassifier(histogram, random_state=0),
        "forest": CostDecisionClassifier(forest, calibration="platt", random_state=0),
        "pruned": CostBaggingClassifier(decision=Decision(vote_weight="pruned"), **few),
        "random cuts": CostBaggingClassifier(CostTreeClassifier(splitter="random"), **few),
        "prices": CostTreeClassifier(feature_costs={"x": (2.0, "lab"), "z": 1.0, "lab": 3.0}, random_state=0),
        "metacost": MetaCostClassifier(CostBaggingClassifier(**few), random_state=0),
        "balanced": make_classifier("imblearn-brf", **few),
        "going on": CostBoostClassifier(warm_start=True, **few),
        "team": CostTeamClassifier([("a", CostTreeClassifier()), ("b", CostBaggingClassifier(**few))], random_state=0),
        "stack": CostStackingClassifier([("a", CostTreeClassifier()), ("b", make_classifier("lr"))], random_state=0),
    }
    fitted = {name: model.fit(X, y, fp_cost=2.0, fn_cost=9.0) for name, model in made.items()}
    fitted["delivered"] = DeliveredClassifier(fitted["bagging"], ("no", "yes"), X.columns)
    validated = ("bagging", "boosting")
    return {name: dumps(model, info={"a": 1}, validation=name in validated) for name, model in fitted.items()}


def records() -> tuple[pl.DataFrame, np.ndarray]:
    """Return a few records with texts and missing values."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 150))
    kind = rng.choice(["a", "b", "c"], 150)
    y = (x + (kind == "a") + rng.normal(size=150) > 1).astype(int)
    return pl.DataFrame({"x": x, "kind": kind, "z": pl.Series(np.where(rng.random(150) < 0.1, np.nan, z))}), y


def crafted(content: bytes, rng: random.Random) -> bytes:
    """Return a model file with some parts changed at random, and a digest that fits."""
    from stakes.persist import _digest

    with ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        rng.choice([*[change_array] * 3, *[change_schema] * 4, change_header, change_boosted, change_entries])(
            parts, rng
        )
    about = json.loads(parts.pop("stakes.json", b"") or b'{"format": 3, "info": {}}')
    about["digest"] = _digest(parts, about)
    parts["stakes.json"] = json.dumps(about).encode()
    file = io.BytesIO()
    with ZipFile(file, "w", rng.choice([ZIP_STORED, ZIP_DEFLATED])) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        if rng.random() < 0.02:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr(rng.choice(list(parts)), rng.choice(list(parts.values())))  # a name twice
    written = bytearray(file.getvalue())
    if rng.random() < 0.05:  # sizes, places, flags and names of the archive's directory
        start = written.rfind(b"PK\x01\x02", 0, rng.randrange(len(written)))
        at = rng.randrange(max(start, 0), min(len(written), max(start, 0) + 46))
        written[at] = rng.choice([0, 1, 8, 127, 255, rng.randrange(256)])
    return bytes(written)


def change_header(parts: dict[str, bytes], rng: random.Random) -> None:
    """Let the header of an array tell something else than what follows."""
    names = [name for name in parts if name.endswith(".npy")]
    if not names:
        return
    name = rng.choice(names)
    try:
        array = np.load(io.BytesIO(parts[name]))
    except Exception:  # changed before, to something that is no array
        return
    told = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, told | rng.choice(ODD_HEADERS))
    parts[name] = file.getvalue() + array.tobytes()


def change_boosted(parts: dict[str, bytes], rng: random.Random) -> None:
    """Change a number in the text of a model of LightGBM, or leave out, repeat or exchange lines of it."""
    schema = parts.get("schema.json", b"").decode()
    if "\\\\nnum_leaves=" not in schema:
        return
    lines = schema.split("\\\\n")
    chosen = [i for i, line in enumerate(lines) if "=" in line and 0 < i < len(lines) - 1]
    i, j = rng.choice(chosen), rng.choice(chosen)
    how = rng.choice(["number", "number", "number", "remove", "twice", "exchange", "longer"])
    if how == "number":
        key, _, values = lines[i].partition("=")
        texts = values.split(" ")
        texts[rng.randrange(len(texts))] = rng.choice([*map(str, ODD_NUMBERS), "nan", "inf", "-inf", "", "x", "1e999"])
        lines[i] = f"{key}={' '.join(texts)}"
    elif how == "remove":
        del lines[i]
    elif how == "twice":
        lines.insert(j, lines[i])
    elif how == "exchange":
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] += f" {lines[i].rpartition('=')[2]}"
    parts["schema.json"] = "\\\\n".join(lines).encode()


def change_array(parts: dict[str, bytes], rng: random.Random) -> None:
    """Change values, the shape or the type of an array."""
    names = [name for name in parts if name.endswith(".npy")]
    if not names:
        return
    name = rng.choice(names)
    try:
        array = np.load(io.BytesIO(parts[name]))
    except Exception:  # changed before, to something that is no array
        return
    how = rng.choice(["value", "value", "value", "all", "shape", "dtype", "cut", "longer", "swap", "bytes", "header"])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if how in ("value", "all") and array.size:
                flat = array.reshape(-1)
                odd = rng.choice([*ODD_NUMBERS, float("nan"), float("inf"), flat[rng.randrange(flat.size)]])
                flat[slice(None) if how == "all" else rng.randrange(flat.size)] = odd
            elif how == "shape":
                array = rng.choice([array.reshape(-1), array[None], array[..., None], array.T, np.array(array.flat[0])])
            elif how == "dtype":
                array = array.astype(rng.choice(["i1", "i2", "i4", "i8", "u8", "f4", "f8", "c16", "U3", "?", ">i4"]))
            elif how == "cut":
                array = array[: rng.randrange(len(array) + 1)]
            elif how == "longer":
                array = np.concatenate([array, array])
        except (ValueError, TypeError, OverflowError, IndexError):
            return
    if how == "swap":
        parts[name] = parts[rng.choice(names)]
        return
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    written = bytearray(file.getvalue())
    if how in ("bytes", "header") and written:
        written[rng.randrange(len(written) if how == "bytes" else min(len(written), 128))] = rng.randrange(256)
    parts[name] = bytes(written)


def nodes_of(node: Any) -> list[dict[str, Any]]:
    """Return all parts of a schema."""
    found = [node] if isinstance(node, dict) else []
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        found += nodes_of(part)
    return found


def change_schema(parts: dict[str, bytes], rng: random.Random) -> None:
    """Change a number or a text, leave out or exchange parts of the description."""
    try:
        schema = json.loads(parts["schema.json"])
    except (KeyError, ValueError):
        return
    nodes = [node for node in nodes_of(schema) if node]
    values = [node for node in nodes if node.get("is_json") and isinstance(node.get("content"), str)]
    node, other = rng.choice(nodes), rng.choice(nodes)
    how = rng.choice(["value", "value", "value", "text", "remove", "exchange", "number", "class", "id"])
    if how == "value" and values:
        chosen = rng.choice(values)
        chosen["content"] = rng.choice([*ODD_TEXTS, str(rng.choice(ODD_NUMBERS)), rng.choice(values)["content"]])
    elif how == "text":
        texts = [each for each in values if len(each["content"]) > 60] or values
        chosen = rng.choice(texts)
        text = chosen["content"]
        at = rng.randrange(len(text))
        new = rng.choice(["0", "9", "-", " ", "x", "99999999", "\\\\n", ""])
        chosen["content"] = text[:at] + new + text[at + rng.choice([0, 1, 1, 8]) :]
    elif how == "remove":
        node.pop(rng.choice(list(node)))
    elif how == "exchange":
        key = rng.choice(list(node))
        node[key] = other.get(key, rng.choice(list(other.values())))
    elif how == "number":
        node[rng.choice(list(node))] = rng.choice([*ODD_NUMBERS, None, "x", [], {}])
    elif how == "class" and "__class__" in node and "__class__" in other:
        node["__class__"], node["__module__"] = other["__class__"], other.get("__module__")
    elif how == "id":
        node["__id__"] = rng.randrange(20)
    with contextlib.suppress(ValueError):  # a part within itself cannot be written
        parts["schema.json"] = json.dumps(schema).encode()


def change_entries(parts: dict[str, bytes], rng: random.Random) -> None:
    """Remove, empty or add an entry of the archive, or change the description of the file."""
    name = rng.choice(list(parts))
    how = rng.choice(["remove", "empty", "add", "about"])
    if how == "remove":
        del parts[name]
    elif how == "empty":
        parts[name] = b""
    elif how == "add":
        parts[rng.choice(["more.npy", "999.npy", "../x.npy", "schema.json.npy"])] = parts[name]
    elif parts.get("stakes.json"):
        about = json.loads(parts["stakes.json"])
        about[rng.choice(list(about))] = rng.choice([None, [], {}, -1, 10**30, "x"])
        parts["stakes.json"] = json.dumps(about).encode()


def fuzz(first: int, last: int) -> None:
    """Load crafted files; each is announced before it is loaded, so that one that crashes is known."""
    from stakes.exceptions import ModelFileError
    from stakes.persist import loads

    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):
        import resource  # what asks for more memory than this is refused, and not killed by the system

        resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
    originals, (X, _) = models(), records()
    outcomes = {"refused": 0, "answers": 0, "errors": 0, "lies": 0}
    for seed in range(first, last):
        rng = random.Random(seed)
        name = rng.choice(sorted(originals))
        print(f"{seed} {name}", flush=True)
        try:
            content = crafted(originals[name], rng)
            model = loads(content)
        except ModelFileError as error:
            if "\n" in str(error):
                raise AssertionError("more than a line") from error
            outcomes["refused"] += 1
            continue
        except RecursionError:
            outcomes["refused"] += 1  # of the crafting
            continue
        try:
            p = model.predict_proba(X)
            model.predict(X, fp_cost=1.0, fn_cost=2.0)
            for other in ("features_used", "apply", "decision_path", "explain"):
                if hasattr(model, other):
                    getattr(model, other)(X[:9])
        except Exception:  # an error is an answer that nobody is misled by
            outcomes["errors"] += 1
            continue
        is_right = p.shape == (X.height, 2) and ((p >= 0) & (p <= 1)).all()
        outcomes["answers" if is_right else "lies"] += 1
        if not is_right:
            print("a lie", flush=True)
    print(json.dumps(outcomes), flush=True)


def run(first: int, last: int) -> dict[str, int]:
    """Fuzz in a process of its own, and return how often files were refused, and models answered."""
    seconds = 120 + (last - first)
    done = subprocess.run(
        [sys.executable, __file__, str(first), str(last)], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stdout.splitlines()[-1:], done.stderr[-2000:])
    outcomes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert outcomes["lies"] == 0, done.stdout
    return outcomes


def test_crafted_model_files_are_refused_or_answer() -> None:
    outcomes = run(0, 100)
    assert sum(outcomes.values()) == 100
    assert outcomes["refused"] > 30
    assert outcomes["answers"] > 5


@pytest.mark.slow
def test_many_crafted_model_files_are_refused_or_answer() -> None:
    assert sum(run(1000, 3000).values()) == 2000


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    fuzz(int(sys.argv[1]), int(sys.argv[2]))
