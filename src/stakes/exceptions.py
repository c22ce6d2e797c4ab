"""The errors and warnings of stakes, so that callers can catch or filter exactly these."""

__all__ = [
    "ClassMeansWarning",
    "ColumnTypeWarning",
    "CostsError",
    "CostsNeededError",
    "DecisionError",
    "FewRoundsWarning",
    "ModelFileError",
    "NoEffectWarning",
    "OneClassWarning",
    "SamplingError",
    "StakesWarning",
    "StudyError",
    "TrainingWarning",
]


class CostsError(ValueError):
    """Costs that cannot be used: not finite, negative, of the wrong length or type.

    Examples
    --------
    >>> from stakes import Costs
    >>> Costs(fp=5, fn=[20, -95])
    Traceback (most recent call last):
        ...
    stakes.exceptions.CostsError: fn_cost is negative in 1 record: the first is row 1, -95. A mistake must cost at least
    as much as the right decision: check the signs, or clip it at 0
    """


class CostsNeededError(CostsError):
    """A decision needs the costs of the records at hand, and they were not given.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.exceptions import CostsNeededError
    >>> tree = CostTreeClassifier().fit([[1], [2]], [0, 1], fp_cost=1, fn_cost=[5, 9])
    >>> try:
    ...     tree.predict([[3]])
    ... except CostsNeededError:
    ...     labels = tree.predict([[3]], fp_cost=1, fn_cost=7)
    """


class DecisionError(ValueError):
    """A combination of decision steps that has no meaning.

    Examples
    --------
    >>> from stakes import Decision
    >>> Decision(calibration="magic")
    Traceback (most recent call last):
        ...
    stakes.exceptions.DecisionError: calibration='magic' is not known: choose from None, ...
    """


class ModelFileError(ValueError):
    """A model that cannot be saved to a file, or a file that cannot be loaded safely.

    Examples
    --------
    >>> from stakes import load
    >>> load("nowhere.skops")
    Traceback (most recent call last):
        ...
    stakes.exceptions.ModelFileError: there is no file nowhere.skops
    """


class SamplingError(ValueError):
    """A cost-sensitive sample that cannot be drawn from the records and costs given.

    Examples
    --------
    >>> from stakes.sampling import UnderSampler
    >>> UnderSampler().fit_resample([[1], [2]], [1, 1])
    Traceback (most recent call last):
        ...
    stakes.exceptions.SamplingError: y has one class only ([1]): a sample is drawn from two
    """


class StakesWarning(UserWarning):
    """Base of all warnings of this package.

    Examples
    --------
    To be stopped by any of them:

    >>> import warnings
    >>> from stakes.exceptions import StakesWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StakesWarning)
    """


class ClassMeansWarning(StakesWarning):
    """Record-dependent costs were reduced to class means for a method defined on constant costs.

    Examples
    --------
    To say that this is what is wanted:

    >>> import warnings
    >>> from stakes.exceptions import ClassMeansWarning
    >>> from stakes.sampling import UnderSampler
    >>> with warnings.catch_warnings(action="ignore", category=ClassMeansWarning):
    ...     X, y = UnderSampler(random_state=0).fit_resample([[1], [2], [3]], [0, 0, 1], fp_cost=1, fn_cost=[4, 4, 2])
    >>> y
    [0, 1]
    """


class ColumnTypeWarning(StakesWarning):
    """A column is text that looks like numbers, or has other values than the categories it was fitted with.

    Examples
    --------
    >>> import warnings
    >>> import polars as pl
    >>> from stakes import CostTreeClassifier
    >>> from stakes.exceptions import ColumnTypeWarning
    >>> with warnings.catch_warnings(action="error", category=ColumnTypeWarning):
    ...     CostTreeClassifier().fit(pl.DataFrame({"age": ["21", "35", "47"]}), [0, 1, 1])
    Traceback (most recent call last):
        ...
    stakes.exceptions.ColumnTypeWarning: column 'age' is text, and 3 of its 3 distinct values look like numbers: convert
    it to numbers, or to a categorical type if they are names
    """


class NoEffectWarning(StakesWarning):
    """A parameter or a cost was given that changes nothing: another one takes its place, or the decision needs none.

    Examples
    --------
    >>> import warnings
    >>> from stakes import CostTreeClassifier, Decision
    >>> from stakes.exceptions import NoEffectWarning
    >>> with warnings.catch_warnings(action="error", category=NoEffectWarning):
    ...     CostTreeClassifier(leaf="laplace", decision=Decision(threshold="cost")).fit([[1], [2]], [0, 1])
    Traceback (most recent call last):
        ...
    stakes.exceptions.NoEffectWarning: leaf='laplace' has no effect, because a decision says which probability of a leaf
    it goes by: write Decision(leaf='laplace', ...)
    """


class TrainingWarning(StakesWarning):
    """Training has finished, but the model is probably of little use.

    Examples
    --------
    >>> from stakes.exceptions import FewRoundsWarning, OneClassWarning, TrainingWarning
    >>> issubclass(FewRoundsWarning, TrainingWarning) and issubclass(OneClassWarning, TrainingWarning)
    True
    """


class FewRoundsWarning(TrainingWarning):
    """Boosting of n rounds kept fewer than min(10, n / 10), because the next member was of no use.

    A member without an error also ends boosting, and is no reason to warn.

    Examples
    --------
    >>> import warnings
    >>> from stakes import CostBoostClassifier
    >>> from stakes.exceptions import FewRoundsWarning
    >>> with warnings.catch_warnings(action="error", category=FewRoundsWarning):
    ...     CostBoostClassifier().fit([[1], [1], [1]], [0, 1, 1])
    Traceback (most recent call last):
        ...
    stakes.exceptions.FewRoundsWarning: boosting kept 1 of 100 rounds: the next member was no better than chance. Try
    deeper trees or another variant
    """


class OneClassWarning(TrainingWarning):
    """All training records are decided alike, although mistakes of the class that is never decided for cost something.

    That can be right, where one class costs far more than the other.

    Examples
    --------
    >>> import warnings
    >>> from stakes import CostTreeClassifier
    >>> from stakes.exceptions import OneClassWarning
    >>> with warnings.catch_warnings(action="error", category=OneClassWarning):
    ...     CostTreeClassifier().fit([[1], [1], [1]], [0, 1, 1])
    Traceback (most recent call last):
        ...
    stakes.exceptions.OneClassWarning: all 3 training records are decided to be positive: compare with the cost of doing
    that without a model
    """


class StudyError(ValueError):
    """A study that cannot be run as asked: bad input, or a results directory that does not fit.

    Options are named as the command has them: ``--max-fpr`` is the parameter `max_fpr`.

    Examples
    --------
    >>> from stakes.study import load_data
    >>> load_data("nowhere.csv", target="churn")
    Traceback (most recent call last):
        ...
    stakes.exceptions.StudyError: there is no file nowhere.csv
    """
