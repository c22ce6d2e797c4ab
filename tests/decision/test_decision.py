"""The decision as a value: what it allows, refuses, needs, and how it is written."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import product

import pytest

from stakes import Decision
from stakes.decision.decision import CHOICES
from stakes.exceptions import DecisionError

# What is chosen on no records.
GIVEN_WEIGHTS = (None, "equal", "node")
CLOSED_FORMS = ("logistic", "logistic_bounded")


def valid(leaf, member, output, vote_weight, calibration, threshold) -> bool:  # type: ignore[no-untyped-def]
    """FRAMEWORK 8, in other words: an average has no votes."""
    return output != "average" or (member == "label" and vote_weight is None)


def test_a_decision_refuses_what_has_no_meaning_and_nothing_else() -> None:
    for choice in product(*CHOICES.values()):
        given = dict(zip(CHOICES, choice, strict=True))
        if valid(**given):
            made = Decision(**given)
            about_votes = made.member != "label" or made.vote_weight is not None
            assert made.output == ("vote" if about_votes else given["output"])
        else:
            with pytest.raises(DecisionError, match=r"choose output='vote'"):
                Decision(**given)


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(DecisionError, match=rf"{name}='nonsense' is not known: choose from .*{CHOICES[name][-1]}"):
        Decision(**{name: "nonsense"})


def test_a_decision_is_a_value() -> None:
    decision = Decision(member="cost", leaf="laplace")
    assert decision == Decision(leaf="laplace", member="cost", output="vote")
    assert len({decision, Decision(member="cost", leaf="laplace"), Decision()}) == 2
    assert pickle.loads(pickle.dumps(decision)) == decision
    assert replace(decision, threshold="tuned").leaf == "laplace"
    with pytest.raises(FrozenInstanceError):
        decision.leaf = "frequency"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Decision("laplace")  # type: ignore[misc]


def test_its_text_makes_it_again() -> None:
    for decision in (Decision(), Decision(member="tuned", calibration="platt"), Decision(threshold="tuned")):
        assert eval(repr(decision), {"Decision": Decision}) == decision
    assert repr(Decision()) == "Decision()"


def test_costs_are_needed_by_what_compares_with_the_threshold_of_a_record_and_by_nothing_else() -> None:
    for member, threshold in product(CHOICES["member"], CHOICES["threshold"]):
        decision = Decision(member=member, threshold=threshold)  # type: ignore[arg-type]
        assert decision.needs_costs == (member == "cost" or threshold in ("cost", "scaled"))


def test_validation_records_are_needed_by_what_is_chosen_on_them_and_by_nothing_else() -> None:
    for member, weight, calibration, threshold in product(
        CHOICES["member"], CHOICES["vote_weight"], CHOICES["calibration"], ("half", "cost", "tuned")
    ):
        decision = Decision(member=member, vote_weight=weight, calibration=calibration, threshold=threshold)  # type: ignore[arg-type]
        chosen = (
            member == "tuned", threshold == "tuned", weight not in GIVEN_WEIGHTS,
            calibration not in (None, *CLOSED_FORMS),
        )  # fmt: skip
        assert decision.needs_validation == any(chosen)
