"""Trees as text and as DOT: read back, they decide as the engine does, and no name can break them."""

import ast
import re
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from reference import fit_tree, random_problem, table_of

from stakes.table import Table
from stakes.tree.export import export_graphviz, export_text
from stakes.tree.leaves import leaf_labels

HOSTILE = [
    'say "hi"',
    "it's",
    "back\\slash\\",
    "two\nlines\r\n\t",
    "<b>bold</b>",
    "&lt;&amp;&#65;",
    "}; 0 -> 1 [x",
    "\\n\\l\\N",
    "été 日本",
    "\u2028\x00\x1b",
    "",
]


# Reading a tree back


def holds(rule, value):
    """Whether a rule such as "<= 2.5 or missing" or "in {'a', 'b'}" holds for a value."""
    known, _, tail = rule.rpartition(" or ")
    if rule == "missing" or tail == "missing":
        if value is None or value != value:
            return True
        rule = known
    elif value is None or value != value:
        return False
    if rule in ("", "not missing"):
        return rule == "not missing"
    sign, _, what = rule.partition(" ")
    if sign == "in":
        return value in ast.literal_eval(what)
    return {"<=": value <= float(what), ">": value > float(what)}[sign]


class Line(NamedTuple):
    depth: int
    feature: int
    rule: str
    records: int
    positives: int
    label: str


LINE = re.compile(r"((?:\|   )*)\|-- x(\d+) (.*): ([\d,]+) records?, ([\d,]+) positive, .* -> (\w+)")
ROOT = re.compile(r"([\d,]+) records?, ([\d,]+) positive, .* -> (\w+)")


def read_text(text):
    first, *rest = text.split("\n")
    n, p, label = ROOT.fullmatch(first).groups()
    lines = [Line(0, -1, "", int(n), int(p), label)]
    for line in rest:
        bars, feature, rule, n, p, label = LINE.fullmatch(line).groups()
        lines.append(Line(len(bars) // 4 + 1, int(feature), rule, int(n), int(p), label))
    return lines


def follow(lines, record):
    """The line of the leaf that a record comes to; exactly one rule must hold at each split."""
    at = 0
    while True:
        below = []
        for i in range(at + 1, len(lines)):
            if lines[i].depth <= lines[at].depth:
                break
            if lines[i].depth == lines[at].depth + 1:
                below.append(i)
        if not below:
            return lines[at]
        assert len(below) == 2
        (at,) = [i for i in below if holds(lines[i].rule, record[lines[i].feature])]


TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(->)|([\w#]+)|([\[\]{}=,;]))', re.S)


def read_dot(text):
    """Nodes and edges, with their attributes, by a strict reading of the part of DOT that is used."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"no DOT: {text[at : at + 40]!r}"
        tokens.append(match.group().strip())
        at = match.end()
    assert tokens[:3] == ["digraph", "tree", "{"]
    assert tokens[-1] == "}"
    nodes, edges, statement = {}, {}, []
    for token in tokens[3:-1]:
        if token != ";":
            statement.append(token)
            continue
        head, body = statement[: statement.index("[")], statement[statement.index("[") + 1 :]
        assert body.pop() == "]"
        attributes = {body[i]: body[i + 2] for i in range(0, len(body), 4)}
        assert body[1::4] == ["="] * len(attributes)
        assert set(body[3::4]) <= {","}
        if len(head) == 3:
            assert head[1] == "->"
            edges[int(head[0]), int(head[2])] = attributes
        elif head[0] not in ("node", "edge"):
            nodes[int(head[0])] = attributes
        statement = []
    assert not statement
    return nodes, edges


def shown(label):
    """The lines that Graphviz draws for a quoted label."""
    assert label[0] == label[-1] == '"'
    lines = [""]
    for plain, escaped in re.findall(r"([^\\])|\\(.)", label[1:-1], re.S):
        assert plain not in ("\n", '"')
        assert escaped in ("", "n", "\\", '"')
        if escaped == "n":
            lines.append("")
        else:
            lines[-1] += plain or escaped
    assert all(re.fullmatch(r"(?:[^&]|&amp;)*", line, re.S) for line in lines)
    return [line.replace("&amp;", "&") for line in lines]


def follow_dot(nodes, edges, record):
    at = 0
    while below := {edges[edge]["label"]: edge[1] for edge in edges if edge[0] == at}:
        feature, rule = re.fullmatch(r"x(\d+) (.*)\?", shown(nodes[at]["label"])[0]).groups()
        at = below['"yes"' if holds(rule, record[int(feature)]) else '"no"']
    return at


NEVER_SEEN = ["z", "missing"]


def as_seen(record):
    """A record with its new categories taken for missing."""
    return [None if isinstance(value, str) and value in NEVER_SEEN else value for value in record]


def grown_trees(n):
    """Random trees of many kinds, with records to send down: seen ones, and values next to the cuts or never seen."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, n=60, weights="none")
        grown = fit_tree(table_of(problem.columns), problem.y, multiplicity=problem.multiplicity)
        if len(grown.nodes.feature) == 1:
            continue
        columns = []
        for j, column in enumerate(problem.columns):
            if column.dtype == object:
                new = np.array([None, "a", *NEVER_SEEN], object)
            else:
                cuts = grown.binning.cuts_[j][np.isfinite(grown.binning.cuts_[j])]
                new = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), [np.nan, -1e9]])
            columns.append(np.concatenate([column, rng.choice(new, 60)]))
        yield grown, columns


def test_text_read_back_sends_every_record_where_the_engine_does():
    n_trees, n_categorical = 0, 0
    for grown, columns in grown_trees(60):
        lines = read_text(export_text(grown.nodes, grown.binning))
        assert len(lines) == grown.nodes.feature.size
        leaf = grown.apply(table_of(columns))
        counts, labels = grown.nodes.counts[grown.trees.leaves], leaf_labels(grown.trees)
        for i, record in enumerate(zip(*columns, strict=True)):
            found = follow(lines, as_seen(record))
            assert (found.records, found.positives) == (counts[leaf[i]].sum(), counts[leaf[i], 1])
            assert found.label == ("positive" if labels[leaf[i]] else "negative")
        n_trees += 1
        n_categorical += len(grown.nodes.categories_left) > 0
    assert n_trees > 40
    assert n_categorical > 15


def test_graphviz_read_back_sends_every_record_where_the_engine_does():
    for grown, columns in grown_trees(25):
        nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning))
        assert sorted(nodes) == list(range(grown.nodes.feature.size))
        assert sorted(edges) == sorted((int(p), i) for i, p in enumerate(grown.nodes.parent) if p >= 0)
        reached = grown.trees.leaves[grown.apply(table_of(columns))]
        for i, record in enumerate(zip(*columns, strict=True)):
            assert follow_dot(nodes, edges, as_seen(record)) == reached[i]


def test_only_missing_values_apart_is_a_rule_of_its_own():
    x = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    grown = fit_tree(table_of([x]), [0, 0, 0, 1, 1])
    assert [line.rule for line in read_text(export_text(grown.nodes, grown.binning))] == ["", "not missing", "missing"]
    names = np.array(["a", "b", "b", None, None], object)
    grown = fit_tree(table_of([names]), [0, 0, 0, 1, 1])
    rules = [line.rule for line in read_text(export_text(grown.nodes, grown.binning))]
    assert rules == ["", "in {'a', 'b'}", "missing"]


# What the nodes say


def example():
    table = Table([np.array([10.0, 20.0, 70.0, 90.0, 90.0])], ["amount"])
    return table, [0, 0, 0, 1, 0]


def test_counts_say_records_positives_share_and_label():
    grown = fit_tree(*example(), max_depth=1)
    assert export_text(grown.nodes, grown.binning).split("\n") == [
        "5 records, 1 positive, P+ 0.2 -> negative",
        "|-- amount <= 80.0 or missing: 3 records, 0 positive, P+ 0 -> negative",
        "|-- amount > 80.0: 2 records, 1 positive, P+ 0.5 -> negative",
    ]


def test_costs_say_what_the_label_costs_and_what_the_other_would():
    table, y = example()
    grown = fit_tree(table, y, weight=[0.25, 5, 5, 1234.5, 5], criterion="cost", max_depth=1)
    assert export_text(grown.nodes, grown.binning, weights="cost").split("\n") == [
        "5 records, 1 positive, P+ 0.2, cost 15.25 (other label 1,234) -> positive",
        "|-- amount <= 80.0 or missing: 3 records, 0 positive, P+ 0, cost 0.00 (other label 10.25) -> negative",
        "|-- amount > 80.0: 2 records, 1 positive, P+ 0.5, cost 5.00 (other label 1,234) -> positive",
    ]


def test_the_cost_shown_is_that_of_the_records_mistaken_by_the_label():
    rng = np.random.default_rng(0)
    x, y, cost = rng.normal(size=80), rng.integers(0, 2, 80), rng.integers(1, 100, 80).astype(float)
    table = Table([x])
    grown = fit_tree(table, y, weight=cost, criterion="cost", max_depth=4)
    leaf = grown.apply(table)
    found = re.findall(r"cost ([\d.,]+) \(other label ([\d.,]+)\) -> (\w+)", dot_as_text(grown))
    expected = []
    for i, labelled_positive in enumerate(leaf_labels(grown.trees)):
        here = leaf == i
        fn, fp = cost[here & (y == 1)].sum(), cost[here & (y == 0)].sum()
        expected.append((fp, fn, "positive") if labelled_positive else (fn, fp, "negative"))
    assert sorted((float(a.replace(",", "")), float(b.replace(",", "")), label) for a, b, label in found) == sorted(
        expected
    )


def dot_as_text(grown):
    """The facts of all leaves in a drawing, as lines of the text export."""
    nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning, weights="cost"))
    leaves = set(nodes) - {parent for parent, _ in edges}
    labels = [shown(nodes[node]["label"]) for node in leaves]
    return "\n".join(f"{', '.join(facts)} -> {label}" for *facts, label in labels)


def test_weights_say_weight_and_weighted_share():
    table, y = example()
    grown = fit_tree(table, y, weight=[0.125, 0.125, 0.25, 0.375, 0.125], max_depth=1)
    assert export_text(grown.nodes, grown.binning, weights="weight").split("\n") == [
        "5 records, 1 positive, weight 1, P+ 0.375 -> negative",
        "|-- amount <= 80.0 or missing: 3 records, 0 positive, weight 0.5, P+ 0 -> negative",
        "|-- amount > 80.0: 2 records, 1 positive, weight 0.5, P+ 0.75 -> positive",
    ]


def test_a_node_without_weight_has_no_known_share():
    table, y = example()
    grown = fit_tree(table, y, weight=np.zeros(5))
    text = export_text(grown.nodes, grown.binning, weights="weight")
    assert text == "5 records, 1 positive, weight 0, P+ unknown -> negative"
    (node,) = read_dot(export_graphviz(grown.nodes, grown.binning, weights="weight"))[0].values()
    assert node["fillcolor"] == '"#ffffff"'


def test_a_drawing_says_the_same_as_the_text():
    for grown, _ in grown_trees(10):
        nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning))
        splits = {parent for parent, _ in edges}
        drawn = []
        for node, attributes in nodes.items():
            *facts, label = shown(attributes["label"])[node in splits :]
            drawn.append(f"{', '.join(facts)} -> {label}")
        written = [line.split(": ")[-1] for line in export_text(grown.nodes, grown.binning).split("\n")]
        assert drawn == written


def test_colours_tell_the_labels_and_how_clear_they_are():
    table, y = example()
    grown = fit_tree(table, y, weight=[1, 1, 1, 3, 1], max_depth=1)
    nodes, _ = read_dot(export_graphviz(grown.nodes, grown.binning, weights="weight"))
    # Negative 4 to 3, negative 3 to 0, positive 3 to 1.
    assert [nodes[i]["fillcolor"] for i in range(3)] == ['"#e3f1fb"', '"#399de5"', '"#f2c09c"']


# Options


def test_max_depth_cuts_the_text_and_says_so():
    x = np.arange(16.0)
    grown = fit_tree(table_of([x]), x.astype(int) // 2 % 2)
    full = export_text(grown.nodes, grown.binning)
    depth = grown.trees.depth
    assert "..." not in full
    for max_depth in range(depth.max() + 1):
        text = export_text(grown.nodes, grown.binning, max_depth=max_depth)
        kept = [line for line in full.split("\n") if line.count("|") <= max_depth]
        assert [line.removesuffix(" ...") for line in text.split("\n")] == kept
        assert text.count(" ...") == np.sum((depth == max_depth) & (grown.nodes.feature >= 0))
        nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning, max_depth=max_depth))
        assert set(nodes) == set(np.flatnonzero(depth <= max_depth))
        assert len(edges) == len(nodes) - 1
        assert [n for n in nodes if shown(nodes[n]["label"])[-1] == "..."] == [
            n for n in nodes if depth[n] == max_depth and grown.nodes.feature[n] >= 0
        ]


def test_digits_round_thresholds_and_no_digits_keep_them_exact():
    x = np.array([1 / 3, 2 / 3 + 1e-9])
    grown = fit_tree(table_of([x]), [0, 1])
    assert f"<= {float(grown.binning.cuts_[0, 0])!r}" in export_text(grown.nodes, grown.binning)
    assert "<= 0.5 or" in export_text(grown.nodes, grown.binning, digits=3)
    assert "<= 0.5 or" in export_graphviz(grown.nodes, grown.binning, digits=3)


def test_long_lists_of_categories_are_abbreviated():
    names = np.array([f"c{i:02}" for i in range(30)], object)
    grown = fit_tree(table_of([names]), np.arange(30) < 18)
    text = export_text(grown.nodes, grown.binning, max_categories=2)
    assert "x0 in {'c18', 'c19', ... 10 more}" in text
    assert "x0 in {'c00', 'c01', ... 16 more} or missing" in text
    assert "more" not in export_text(grown.nodes, grown.binning, max_categories=18)


def test_categories_that_share_a_bin_are_all_named():
    many = [f"c{i:03}" for i in range(300) for _ in range(2 if i < 254 else 1)]
    y = [name >= "c254" for name in many]
    grown = fit_tree(table_of([np.array(many, object)]), y)
    rules = [line.rule for line in read_text(export_text(grown.nodes, grown.binning, max_categories=300))]
    rare = next(rule for rule in rules if "c299" in rule)
    assert ast.literal_eval(rare[3:].split(" or ")[0]) == {f"c{i}" for i in range(254, 300)}


def test_names_given_replace_those_of_the_data():
    grown = fit_tree(*example(), max_depth=1)
    text = export_text(grown.nodes, grown.binning, feature_names=["euros"], class_names=[False, True])
    assert "amount" not in text
    assert text.split("\n")[1].startswith("|-- euros <= 80.0")
    assert text.endswith("-> False")


@pytest.mark.parametrize("export", [export_text, export_graphviz])
def test_a_wrong_number_of_names_is_an_error(export):
    grown = fit_tree(*example())
    with pytest.raises(ValueError, match=r"^feature_names has 2 names: give 1$"):
        export(grown.nodes, grown.binning, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=r"^class_names has 3 names: give 2$"):
        export(grown.nodes, grown.binning, class_names=["a", "b", "c"])


# Names that mean harm


def escaped(name):
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_features_and_classes_break_neither_text_nor_drawing(name):
    grown = fit_tree(Table([np.arange(4.0)], [name]), [0, 0, 1, 0])
    classes = [f"no{name}", f"yes{name}"]
    text = export_text(grown.nodes, grown.binning, class_names=classes)
    assert len(text.splitlines()) == grown.nodes.feature.size
    assert text.splitlines()[0].endswith(f" -> {escaped(classes[0])}")
    assert text.splitlines()[1].startswith(f"|-- {escaped(name)} <= ")
    nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning, class_names=classes))
    assert (len(nodes), len(edges)) == (grown.nodes.feature.size, grown.nodes.feature.size - 1)
    lines = shown(nodes[0]["label"])
    assert lines[0].startswith(f"{escaped(name)} <= ")
    assert lines[-1] == escaped(classes[0])


def test_names_of_categories_break_neither_text_nor_drawing():
    names = [*HOSTILE, "plain", "nan", "None", "', 'x"]
    y = [i % 2 for i in range(len(names))]
    grown = fit_tree(Table([pl.Series(names)], ["x0"]), y)
    text = export_text(grown.nodes, grown.binning, max_categories=99)
    assert len(text.splitlines()) == grown.nodes.feature.size == 3
    lines = read_text(text)
    nodes, edges = read_dot(export_graphviz(grown.nodes, grown.binning, max_categories=99))
    for name, positive in zip(names, y, strict=True):
        assert follow(lines, [name]).label == ("positive" if positive else "negative")
        assert shown(nodes[follow_dot(nodes, edges, [name])]["label"])[-1] == ("positive" if positive else "negative")
