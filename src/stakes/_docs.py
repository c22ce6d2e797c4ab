"""Descriptions of parameters and attributes that many docstrings share, written once."""

from __future__ import annotations

import re
from textwrap import indent
from types import FunctionType
from typing import Any, TypeVar

__all__ = ["documented"]

T = TypeVar("T")

SHARED = """
[X]
X : array-like or data frame of shape (n_records, n_features)
    Features.
[sample_weight]
sample_weight : array-like of shape (n_records,), default=None
    How often each record counts.
[training_records]
{X}
y : array-like of shape (n_records,)
    Labels, of two classes.
fp_cost, fn_cost : float or array-like of shape (n_records,), default=None
    Cost of a false positive and of a false negative; those of the constructor by default.
tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
    Cost of a true positive and of a true negative; 0 by default.
{sample_weight}
[costs_to_vote]
fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
    The costs of these records, needed only where members vote by them.
[costs_as_in_predict]
fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
    The costs of these records, as in `predict`.
[metadata]
**metadata
    What models inside ask for by scikit-learn's metadata routing.
[constant_costs]
fp_cost, fn_cost : float, default=1
    Constant costs, for where fit is given none.
[positive_label]
pos_label : label, default=None
    The positive class; the larger of the two labels by default.
[validation]
validation : float, "auto" or None, default="auto"
    Where calibration, tuning, pruning and early stopping get their records if fit is given none: a share of the
    training records, held out; or the training records themselves (None). "auto" holds out a fifth where something
    needs it.
[class_weight]
class_weight : dict or "balanced", default=None
    How often the records of each class count, besides `sample_weight`: a number for each label, or numbers by which
    both classes weigh the same. In trees whose leaves are pure, weights change the splits alone. What mistakes cost is
    better told by `fp_cost` and `fn_cost`.
[costs_and_label]
{constant_costs}
cost_estimator : regressor or dict, default=None
    Estimates costs that are not known when predicting: see the user guide.
{positive_label}
[n_jobs]
n_jobs : int, default=None
    How many threads to use.
[seed_and_progress]
random_state : int, Generator, RandomState or None, default=None
    Seed. Results do not depend on the number of threads.
verbose : int, default=0
    Whether to show a progress bar.
[classes_and_members]
classes_ : ndarray of shape (2,)
members_ : TreeMembers or ModelMembers
    The trained members.
[decision_in_force]
decision_ : Decision
    The decision in force.
[blended_models]
estimators : list of (str, classifier) or str, default=None
    The models to choose among, by themselves or by a name of the catalogue (``"cprrf"``). None is a dozen of them:
    forests, boosting, LightGBM and logistic regression. Costs are passed to those that take them, as all of this
    package do.
[blending]
calibration : {"platt_logit", "platt", "isotonic"} or None, default="platt_logit"
    What makes probabilities of the models' scores; None where they are calibrated already.
cv : int, splitter or iterable of (train, test) rows, default=5
    The folds: stratified and shuffled where it is a number.
decision : Decision, default=None
    What becomes of the probability: only its `calibration` and `threshold` can be chosen. T_cs by default; tuned
    values are chosen on cross-fitted probabilities, and no record tunes what it was chosen by.
{costs_and_label}
n_jobs : int, default=None
    How many models are trained at the same time.
[blended]
classes_ : ndarray of shape (2,)
estimators_ : list of classifiers
    The models with a weight, trained on all records; `names_` has their names, `named_estimators_` both.
weights_ : ndarray of shape (n_models,)
    Their weights: in a mean, where they sum to 1, or in a sum of logits.
calibrations_ : tuple of (Calibration or None)
    What makes a probability of each model's score.
blend_ : Team or Stack
    Weights and calibrations together, and a stack's intercept: from scores to a probability.
{decision_in_force}
[sampler]
fp_cost, fn_cost : float, default=1
    Constant costs, used where `fit_resample` is not given any. Record-dependent costs are given there, and
    are reduced to class means with a :class:`~stakes.exceptions.ClassMeansWarning`.
{sampler_label_and_seed}
[sampler_label_and_seed]
{positive_label}
random_state : int, RandomState, Generator or None, default=None
    Seed of `fit_resample`.
[sample]
sample_indices_ : ndarray of shape (n_sampled,)
    Row numbers of the sample.
sampling_strategy_ : dict
    Records of each label in the sample.
[decided]
y_true, y_pred : array-like of shape (n_records,)
    True and predicted classes, with any two labels.
[scored]
y_true : array-like of shape (n_records,)
    True classes, with any two labels.
y_score : array-like of shape (n_records,)
    Probabilities or any other scores of the positive class, the higher the more positive.
[costs]
fp_cost, fn_cost : float or array-like of shape (n_records,)
    Cost of a false positive and of a false negative.
tp_cost, tn_cost : float or array-like of shape (n_records,), default=0
    Cost of a true positive and of a true negative. Gains are negative costs.
[weight_and_label]
{sample_weight}
pos_label : label, default=1
    The label of the positive class.
[charged]
{costs}
{weight_and_label}
[decisions]
{decided}
{charged}
[acquisition_cost]
acquisition_cost : float or array-like of shape (n_records,), default=0
    What was paid for the features of each record, such as `CostTreeClassifier.acquisition_cost` tells; deciding all
    records alike needs none.
[scores]
{scored}
{charged}
[drawing]
name : str, default=None
    Name of the line.
ax : matplotlib Axes, default=None
    Axes to draw on; new ones by default.
**plot_kw
    Further arguments of `plot`.

Returns
-------
display
    With the drawing in `ax_` and `figure_`.
[ax]
ax : matplotlib Axes, default=None
    Axes to draw on; new ones by default.
[line_name]
name : str, default=None
    Name of the line, instead of the display's.
[line_settings]
**line_kw
    Settings of the line, for instance ``color=``.

Returns
-------
self
[labels]
{line_name}
unit : str, default="cost units"
    What costs are counted in, for instance a currency.
{line_settings}
[line]
line_ : matplotlib Line2D
    The curve.
{axes}
[axes]
ax_, figure_ : matplotlib Axes and Figure
    What it is drawn on.
"""
SNIPPETS = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=\n\[|\n\Z)", SHARED, re.MULTILINE | re.DOTALL))
PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def documented(thing: T) -> T:
    """Fill lines such as `{costs}` in a docstring, and in those of the methods of a class, with shared descriptions."""
    parts = [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]
    for part in parts:
        described: Any = getattr(part, "__func__", part)
        if (part is thing or isinstance(described, FunctionType)) and described.__doc__:
            described.__doc__ = _filled(described.__doc__)
    return thing


def _filled(text: str) -> str:
    return PLACEHOLDER.sub(lambda found: indent(_filled(SNIPPETS[found[2]]), found[1]), text)
