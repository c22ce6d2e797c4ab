"""Wrong formulas that the tests must notice: one line of the source each, and the tests that must fail with it.

The families are those of the framework. What is tried in each: false positives and false negatives swapped, a
normalisation dropped, a sign flipped, the wrong records averaged over.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A change to one place of a file."""

    family: str
    file: str  # under src/stakes
    old: str  # occurs exactly once in the file
    new: str
    tests: str  # arguments of pytest


def _family(name: str, tests: str, file: str, *changes: tuple[str, str]) -> list[Mutation]:
    return [Mutation(name, file, old, new, tests) for old, new in changes]


MUTATIONS: list[Mutation] = [
    *_family(
        "costs",
        "tests/test_costs.py",
        "costs.py",
        ('_reduced(given, "fp", "tn")', '_reduced(given, "fp", "tp")'),
        ('_reduced(given, "fn", "tp")', '_reduced(given, "fn", "tn")'),
        ("reduced = given[wrong] - given[right]", "reduced = given[wrong] + given[right]"),
        ("reduced = given[wrong] - given[right]", "reduced = given[wrong]"),
        ("np.divide(fp, both, ", "np.divide(self.fn, both, "),
        ("np.add(self.fp, self.fn)", "np.add(self.fn, 0.0)"),
        ("np.full(both.shape, 0.5)", "np.full(both.shape, 0.0)"),
        ("np.where(y == 1, fn, fp)", "np.where(y == 1, fp, fn)"),
        ("(size > LARGEST) | ", ""),
        ("mean(self.fp, y == 0), fn=mean(self.fn, y == 1)", "mean(self.fp, y == 1), fn=mean(self.fn, y == 0)"),
        ("mean(self.fp, y == 0), fn=mean(self.fn, y == 1)", "mean(self.fp, y >= 0), fn=mean(self.fn, y >= 0)"),
    ),
    *_family(
        "sampling: ratios",
        "tests/sampling/test_ratio.py",
        "sampling/ratio.py",
        ("return fn / fp if fp > 0 else np.inf", "return fp / fn if fn > 0 else np.inf"),
        ("cut, grown = n_negative / cutting, n_positive * growing", "cut, grown = n_negative, n_positive * growing"),
        ("cut, grown = n_negative / cutting, n_positive * growing", "cut, grown = n_negative / cutting, n_positive"),
        ("cut, grown = n_positive * cutting, n_negative / growing", "cut, grown = n_positive / cutting, n_negative"),
        ("np.float64(rho) ** share, np.float64(rho) ** (1 - share)", "np.float64(rho) ** share, np.float64(rho)"),
        ("_ratio_counts(y, costs, rng, share=1.0)", "_ratio_counts(y, costs, rng, share=0.0)"),
        ("cost_ratio(costs.class_means(y))", "cost_ratio(costs.class_means(1 - y))"),
    ),
    *_family(
        "sampling: SMOTE",
        "tests/sampling/test_smote.py",
        "sampling/smote.py",
        ("label = int(rho >= 1)", "label = int(rho < 1)"),
        ("rho = cost_ratio(costs.class_means(y))", "rho = 1 / cost_ratio(costs.class_means(y))"),
    ),
    *_family(
        "sampling: rejection",
        "tests/sampling/test_rejection.py",
        "sampling/rejection.py",
        ("expected = cost / ceiling if", "expected = 1 - cost / ceiling if"),
        ("expected = cost / ceiling if", "expected = cost / cost.sum() if"),
        ("cost = costs.of(y)", "cost = costs.of(1 - y)"),
        ("return float(cost.max())", "return float(cost.mean())"),
        ("rng.random(n) < expected[drawn]", "rng.random(n) > expected[drawn]"),
    ),
    *_family(
        "sampling: prior",
        "tests/sampling/test_prior.py",
        "sampling/prior.py",
        ("positive = p * (after / before)", "positive = p * (before / after)"),
        ("(1 - p) * ((1 - after) / (1 - before))", "(1 - p)"),
        ("return positive / (positive + negative)", "return positive"),
    ),
    *_family(
        "tree: cuts of many records",
        "tests/tree/test_growing.py -k 'large_node or scikit or counting or told_apart'",
        "tree/scanning.py",
        ("d = left_p * whole - left * whole_p", "d = left_p * whole + left * whole_p"),
        ("d = left_p * whole - left * whole_p", "d = left_p - left * whole_p"),
        ("gained = d * d / (sizes if sizes > one else one)", "gained = d * d"),
        ("if left >= least and right >= least else np.float32(0.0)", "if left >= least else np.float32(0.0)"),
        ("min(left_p, left_n) + min(all_p - left_p, all_n - left_n)", "max(left_p, left_n)"),
        ("min(left_p, left_n) + min(all_p - left_p, all_n - left_n)", "left_p + all_n - left_n"),
        (
            "lost if left_c >= min_leaf and all_c - left_c >= min_leaf else WORST",
            "lost if left_c >= min_leaf else WORST",
        ),
        ("or float(lowest) > best.loss:", "or float(lowest) >= best.loss:"),
        (
            "lowest if left_c >= min_leaf and all_c - left_c >= min_leaf else np.int64(-1)",
            "lowest if left_c >= min_leaf else np.int64(-1)",
        ),
        ("impure = left_p * left_n * right + right_p * right_n * left", "impure = left_p * left_n * right"),
        ("lost = 2.0 * impure / sizes if sizes > 0.0", "lost = 2.0 * impure if sizes > 0.0"),
        ("score[bin_] = lost if sums[3, bin_] == lowest else np.inf", "score[bin_] = lost"),
        ("tie = gini_loss(left_p, left_n) + gini_loss(whole_p - left_p, whole_n - left_n)", "tie = 0.0"),
    ),
    *_family(
        "tree: criterion",
        "tests/tree/test_criteria.py",
        "tree/criteria.py",
        ("return min(positive, negative)", "return max(positive, negative)"),
        ("return min(positive, negative)", "return positive"),
        (
            "return 2.0 * positive * negative / weight if weight > 0.0",
            "return 2.0 * positive * negative if weight > 0.0",
        ),
    ),
    *_family(
        "tree: growing by cost",
        "tests/test_cost_tree.py",
        "tree/recipe.py",
        ('plot.cost if self.criterion == "cost" else None)', "None)"),
        ('validation.cost if self.pruning_measure == "cost"', 'validation.cost if self.pruning_measure != "cost"'),
    ),
    *_family(
        "tree: costs of a tree's records",
        "tests/test_cost_tree.py",
        "cost_tree.py",
        ("records.costs.of(positive)", "records.costs.of(1 - positive)"),
    ),
    *_family(
        "tree: pruning",
        "tests/tree/test_pruning.py",
        "tree/pruning.py",
        ("np.where(positive, sums[:, 0], sums[:, 1])", "np.where(positive, sums[:, 1], sums[:, 0])"),
        (
            "positive = nodes.weights[:, 1] > nodes.weights[:, 0]",
            "positive = nodes.weights[:, 1] < nodes.weights[:, 0]",
        ),
        ("below = loss[left] + loss[left + 1]", "below = loss[left] - loss[left + 1]"),
        (
            "becomes_leaf[level] = _no_worse(validation[level], below)",
            "becomes_leaf[level] = _no_worse(train[level], below)",
        ),
        ("alpha[node] = train_up / fewer", "alpha[node] = train_up"),
    ),
    *_family(
        "tree: leaves",
        "tests/tree/test_leaves.py",
        "tree/leaves.py",
        ("np.divide(n.positive, n.all,", "np.divide(n.all - n.positive, n.all,"),
        ("return (n.positive + 1) / (n.all + 2)", "return (n.positive + 1) / n.all"),
        (
            "(n.positive + EXPECTED_POSITIVES) / (n.all + _m(n.base_rate)), 0.0)",
            "(n.positive + EXPECTED_POSITIVES) / n.all, 0.0)",
        ),
        ("amount[node, 1] / unit, amount[node].sum(axis=1) / unit", "amount[node, 1], amount[node].sum(axis=1)"),
        ("amount = trees.nodes.weights if weighted else trees.nodes.counts", "amount = trees.nodes.counts"),
        ("np.divide(amount[roots, 1], at_root,", "np.divide(amount[roots, 0], at_root,"),
        ("return weight[:, 1] > weight[:, 0]", "return weight[:, 1] < weight[:, 0]"),
        (
            "nodes.weights[trees.leaves].sum(axis=1) / trees.nodes.counts[trees.leaves].sum(axis=1)",
            "nodes.weights[trees.leaves].sum(axis=1)",
        ),
        ("climbs = (total[node] < m) & (parent[node] >= 0)", "climbs = (total[node] > m) & (parent[node] >= 0)"),
    ),
    *_family(
        "bagging: weights",
        "tests/test_bagging.py -k 'weigh or weight or cost_the_mean'",
        "bagging.py",
        ("cost_weight = ground.cost / total", "cost_weight = ground.cost"),
        ("cost_weight = ground.cost / total", "cost_weight = total / ground.cost"),
        ("times if ground.weight is None else times * ground.weight)", "times)"),
        (
            "means = np.array([plot.cost[plot.positive == side].mean() for side in (0, 1)])",
            "means = np.array([plot.cost[plot.positive == side].mean() for side in (1, 0)])",
        ),
        ('Votes(output="vote", by_node=True)', 'Votes(output="vote")'),
    ),
    *_family(
        "weights of models",
        "tests/test_base.py -k weights_by_cost",
        "base.py",
        (
            "cost = self.costs.of(self.positive)\n        mean",
            "cost = self.costs.of(~self.positive)\n        mean",
        ),
        ("return cost / mean if self.weight is None", "return cost if self.weight is None"),
        ("mean = np.average(cost, weights=self.weight)", "mean = np.average(cost)"),
        ("else self.weight * (cost / mean)", "else cost / mean"),
    ),
    *_family(
        "bagging: default decision",
        "tests/test_bagging.py -k 'default_decision or prior_correction'",
        "bagging.py",
        ('threshold="half" if acted else "cost")', 'threshold="cost" if acted else "half")'),
        (
            "float(np.average(plot.positive, weights=plot.weight)) if self",
            "1 - float(np.average(plot.positive)) if self",
        ),
    ),
    *_family(
        "boosting: what rules know of costs",
        "tests/boosting/test_variants.py",
        "records.py",
        (
            "cost = self.costs.of(self.positive)\n        return cost / cost.max()",
            "cost = self.costs.of(~self.positive)\n        return cost / cost.max()",
        ),
        ("return cost / cost.max() if cost.any()", "return cost if cost.any()"),
        ("ratio = fn - fp", "ratio = fp - fn"),
    ),
    *_family(
        "boosting: AdaBoost",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        (
            "_half_log(total(weight, 1 + margin), total(weight, 1 - margin))",
            "_half_log(total(weight, 1 + margin), 1.0)",
        ),
        ("weight * records.cost_share if self._by_cost else weight", "weight"),
        ("return np.log(self.amounts) if", "return -np.log(self.amounts) if"),
    ),
    *_family(
        "boosting: m2",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ('cast = "confidence"', 'cast = "plain"'),
        ("return -alpha * margin\n", "return alpha * margin\n"),
        ("return (log(gain) - log(loss)) / 2", "return log(gain) - log(loss)"),
        ("return (log(gain) - log(loss)) / 2", "return (log(loss) - log(gain)) / 2"),
    ),
    *_family(
        "boosting: naive",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("return self.power * records.log_cost if", "return -self.power * records.log_cost if"),
        ("return self.power * records.log_cost if", "return records.log_cost if"),
    ),
    *_family(
        "boosting: AdaCost",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        (
            "r = total(weight, margin - self.scale * records.cost_share) / 2",
            "r = total(weight, margin + self.scale * records.cost_share) / 2",
        ),
        (
            "r = total(weight, margin - self.scale * records.cost_share) / 2",
            "r = total(weight, margin - self.scale * records.cost_share)",
        ),
        ('_half_log(1 + r, 1 - r) if self.alpha == "fan"', '_half_log(1 + r, 1 - r) if self.alpha != "fan"'),
        (
            "return -alpha / 2 * (margin - self.scale * records.cost_share)",
            "return -alpha / 2 * (margin + self.scale * records.cost_share)",
        ),
        (
            "return -alpha / 2 * (margin - self.scale * records.cost_share)",
            "return -alpha / 2 * (margin - records.cost_share)",
        ),
    ),
    *_family(
        "boosting: AdaUBoost",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        (
            "log_factor = records.log_cost_ratio * records.positive",
            "log_factor = records.log_cost_ratio * ~records.positive",
        ),
        (
            "np.minimum(-records.sign * records.log_cost_ratio, 0.0)",
            "np.minimum(records.sign * records.log_cost_ratio, 0.0)",
        ),
        ("np.minimum(-records.sign * records.log_cost_ratio, 0.0)", "-records.log_cost_ratio * records.positive"),
        ("            return -inf\n        return super()", "            return inf\n        return super()"),
    ),
    *_family(
        "boosting: asymmetric",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        (
            "return records.sign * records.log_cost_ratio / (2 * self.n_rounds)",
            "return -records.sign * records.log_cost_ratio / (2 * self.n_rounds)",
        ),
        (
            "return records.sign * records.log_cost_ratio / (2 * self.n_rounds)",
            "return records.sign * records.log_cost_ratio / 2",
        ),
        ("return self.start(records) - alpha * margin", "return -alpha * margin - self.start(records)"),
    ),
    *_family(
        "boosting: CSB",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("np.where(margin < 0, log_cost - smallest, 0.0)", "np.where(margin > 0, log_cost - smallest, 0.0)"),
        ("np.where(margin < 0, log_cost - smallest, 0.0)", "np.where(margin < 0, log_cost, 0.0)"),
        ("0.0) - self.exponent(alpha) * margin", "0.0) + self.exponent(alpha) * margin"),
        ('"""0."""\n        return 0.0', '"""0."""\n        return 1.0'),
        ('"""1."""\n        return 1.0', '"""1."""\n        return 0.0'),
        ('"""Alpha."""\n        return alpha', '"""Alpha."""\n        return 1.0'),
        ('cast = "by_cost"', 'cast = "plain"'),
    ),
    *_family(
        "boosting: UBoost",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ('cast = "signed"', 'cast = "plain"'),
    ),
    *_family(
        "boosting: AdaC1",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("r = total(weight, margin * records.cost_share)\n", "r = total(weight, margin)\n"),
        ("return -alpha * margin * records.cost_share", "return -alpha * margin / records.cost_share"),
    ),
    *_family(
        "boosting: AdaC2",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("weight * np.exp(self.log_cost(records)), margin)", "weight, margin)"),
        ("return self.log_cost(records) - alpha * margin\n", "return -self.log_cost(records) - alpha * margin\n"),
        ("return records.log_cost / self.n_rounds if", "return records.log_cost * self.n_rounds if"),
    ),
    *_family(
        "boosting: AdaC3",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("return _half_log(r + r2, r - r2)", "return _half_log(1 + r2, 1 - r2)"),
        (
            "r, r2 = float(weight.sum()), total(weight, margin * cost)",
            "r, r2 = float(weight.sum()), total(weight, margin)",
        ),
        ("return log_cost - alpha * margin * np.exp(log_cost)", "return -alpha * margin * np.exp(log_cost)"),
        ("else 2 * focus", "else focus"),
    ),
    *_family(
        "boosting: what members are fitted on",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        (
            'return records.log_cost if self.fit_on == "costs" else None',
            'return -records.log_cost if self.fit_on == "costs" else None',
        ),
        ('return records.log_cost if self.fit_on == "costs" else None', "return None"),
    ),
    *_family(
        "boosting: CSAB",
        "tests/boosting/test_variants.py",
        "boosting/rules.py",
        ("return -np.log(np.where(records.positive", "return np.log(np.where(records.positive"),
        ("np.where(records.positive, positive, negative)", "np.where(records.positive, negative, positive)"),
        (
            "logsumexp(log_wrong + fast * a) - logsumexp(log_right - slow * a)",
            "logsumexp(log_wrong + fast * a) - logsumexp(log_right + slow * a)",
        ),
        ("for side in (1.0, -1.0))", "for side in (-1.0, 1.0))"),
    ),
    *_family(
        "boosting: samples",
        "tests/boosting/test_sample_boost.py",
        "boosting/learners.py",
        (
            "new = np.array([weight[~positive].mean(), weight[positive].mean()])[sample.y_new]",
            "new = np.array([weight[positive].mean(), weight[~positive].mean()])[sample.y_new]",
        ),
        ("return sample, weight / whole, new / whole", "return sample, weight / whole, new"),
        ("whole = total(weight, sample.counts) + new.sum() or 1.0", "whole = total(weight, sample.counts) or 1.0"),
    ),
    *_family(
        "boosting: stumps by cost",
        "tests/boosting/test_boosting.py -k short_cut",
        "boosting/learners.py",
        ('weight * self.plot.cost if self.recipe.criterion == "cost" else weight)', "weight)"),
    ),
    *_family(
        "boosting: loop",
        "tests/boosting/test_variants.py",
        "boosting/loop.py",
        ("margin = records.sign * vote(member, assignment)", "margin = -records.sign * vote(member, assignment)"),
        ("    weight /= whole\n", ""),
        ("log_weight = rule.start(records) + (", "log_weight = np.zeros(len(records)) + ("),
    ),
    *_family(
        "decision: calibration",
        "tests/decision/test_calibration.py",
        "decision/calibration.py",
        (
            "return expit(2 * (2 * np.asarray(scores, dtype=np.float64) - 1))\n",
            "return expit(-2 * (2 * np.asarray(scores, dtype=np.float64) - 1))\n",
        ),
        ("- 1) * np.asarray(total_weight, dtype=np.float64))", "- 1))"),
        (
            "(n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))",
            "1 / (n_positive + 2), (n_negative + 1) / (n_negative + 2))",
        ),
        ("(n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))", "1.0 - 1e-6, 1e-6)"),
        ("return expit(-(self.slope * np.asarray", "return expit((self.slope * np.asarray"),
    ),
    *_family(
        "decision: tuned threshold",
        "tests/decision/test_thresholds.py",
        "decision/thresholds.py",
        (
            "np.where(positive, weight * fn, 0.0), np.where(positive, 0.0, weight * fp)",
            "np.where(positive, weight * fp, 0.0), np.where(positive, 0.0, weight * fn)",
        ),
        (
            "_below(cost_if_negative[order])[cuts] + _above(cost_if_positive[order])[cuts]",
            "_above(cost_if_negative[order])[cuts] + _below(cost_if_positive[order])[cuts]",
        ),
        (
            "_below(cost_if_negative[order])[cuts] + _above(",
            "_below(cost_if_negative[order])[cuts] - _above(",
        ),
        ("cost[above / (above[0] or 1.0) > at_most] = np.inf", "cost[above > at_most] = np.inf"),
        (
            '(np.where(positive, 0.0, weight), max_fpr, "max_fpr")',
            '(np.where(positive, weight, 0.0), max_fpr, "max_fpr")',
        ),
        ("left, right = lower[first] / 2, upper[last] / 2", "left, right = lower[first], upper[last] / 2"),
    ),
    *_family(
        "decision: vote weights",
        "tests/decision/test_weights.py",
        "decision/weights.py",
        ("np.maximum(np.log1p(-error) - np.log(error), 0.0)", "np.maximum(np.log(error) - np.log1p(-error), 0.0)"),
        ("return 1.0 - error", "return error"),
        (
            "return np.exp(np.maximum(odds - odds.max(axis=0), -LARGEST_GAP))",
            "return np.exp(np.maximum(odds.max(axis=0) - odds, -LARGEST_GAP))",
        ),
        ("return (odds / odds.max(axis=0)) ** 2", "return odds / odds.max(axis=0)"),
        ("weight / np.where(largest > 0, largest, 1.0), 1.0)", "weight, 1.0)"),
    ),
    *_family(
        "decision: voting with costs",
        "tests/decision/test_rules.py -k 'mec or share_of or cast or signed'",
        "decision/rules.py",
        (
            "share * (1.0 - threshold), (1.0 - share) * threshold",
            "share * threshold, (1.0 - share) * (1.0 - threshold)",
        ),
        ("positive / np.where(total == 0, 1.0, total))", "positive)"),
        (
            "alpha[m] * (above[leaf] * (1.0 - threshold) - below[leaf] * threshold)",
            "alpha[m] * (above[leaf] * (1.0 - threshold) + below[leaf] * threshold)",
        ),
        (
            "alpha[m] * (above[leaf] * (1.0 - threshold) - below[leaf] * threshold)",
            "alpha[m] * (above[leaf] * threshold - below[leaf] * (1.0 - threshold))",
        ),
        (
            "alpha[m] * (above[leaf] * (1.0 - threshold) - below[leaf] * threshold)",
            "(above[leaf] * (1.0 - threshold) - below[leaf] * threshold)",
        ),
    ),
    *_family(
        "decision: MEC and members",
        "tests/decision/test_rules.py -k reference",
        "decision/rules.py",
        ("return [score > self.threshold(i, costs) for", "return [score < self.threshold(i, costs) for"),
        (
            "            return costs.threshold()\n        return 0.5",
            "            return 1 - costs.threshold()\n        return 0.5",
        ),
        ("np.where(judged > 0, wrong[:, c] / judged, 0.5)", "np.where(judged > 0, wrong[:, c], 0.5)"),
        ("best_cut(p[part], losses[part, 1], losses[part, 0])", "best_cut(p[part], losses[part, 0], losses[part, 1])"),
        ("loss = evidence.measured.of(evidence.positive)", "loss = np.ones(evidence.positive.size)"),
        ("np.where(positive, w * fn[known], 0.0),", "np.where(positive, w * fp[known], 0.0),"),
    ),
    *_family(
        "decision: tally",
        "tests/decision/test_tally.py",
        "decision/tally.py",
        ("average[i, k] /= n_counted", "average[i, k] /= ids.shape[1]"),
        ("total[i, c, w] += factor * weight[m, c, w]", "total[i, c, w] += factor"),
        ("if vote != positive[i]:", "if vote == positive[i]:"),
        (
            "positive = factor if probability[leaf, by_threshold[c - n_fixed]] > threshold[i] else 0.0",
            "positive = factor if probability[leaf, by_threshold[c - n_fixed]] > 0.5 else 0.0",
        ),
    ),
    *_family(
        "decision: default of a tree",
        "tests/test_cost_tree.py",
        "cost_tree.py",
        ('return Decision(leaf=self.leaf, threshold="cost")', "return Decision(leaf=self.leaf)"),
    ),
    *_family(
        "decision: default of boosting",
        "tests/boosting/test_boosting.py -k default_decision",
        "boosting/classifier.py",
        ('calibration="logistic", threshold="cost")', 'threshold="cost")'),
    ),
    *_family(
        "decision: weights and real costs of the evidence",
        "tests/decision/test_rules.py",
        "decision/rules.py",
        ("            loss = loss * evidence.weight", "            loss = loss / evidence.weight"),
        ("fp, fn = evidence.measured.arrays(n)", "fp, fn = evidence.costs.arrays(n)"),
        ("return self.costs if self.real_costs is None else self.real_costs", "return self.costs"),
        ("weight = np.ones(n) if evidence.weight is None else evidence.weight", "weight = np.ones(n)"),
        ("leaves.weights.max(axis=1))", "leaves.weights.min(axis=1))"),
    ),
    *_family(
        "members: prior of a sample",
        "tests/test_members.py tests/test_bagging.py -k prior",
        "members.py",
        (
            "sampled=self.prior.sampled[self.member], original=self.prior.original)",
            "sampled=self.prior.original, original=self.prior.sampled[self.member])",
        ),
        (
            "sampled=float(self.prior.sampled.mean()), original=self.prior.original)",
            "sampled=self.prior.original, original=float(self.prior.sampled.mean()))",
        ),
        (
            "Prior(counts[:, 1] / counts.sum(axis=1), self.base_rate)",
            "Prior(counts[:, 0] / counts.sum(axis=1), self.base_rate)",
        ),
    ),
    *_family(
        "what classifiers know of costs",
        "tests/test_base.py",
        "base.py",
        ("                found[name] = self.constant_costs_[name]", "                found[name] = 1.0"),
    ),
    *_family(
        "any classifier, decided by costs",
        "tests/test_cost_decision.py",
        "cost_decision.py",
        ("records.cost_weight() if self.weighted", "records.weight if self.weighted"),
        ('threshold = self.threshold or ("half" if self.weighted else "cost")', 'threshold = self.threshold or "half"'),
    ),
    *_family(
        "MetaCost",
        "tests/test_metacost.py",
        "metacost.py",
        ("self.relabelled_ = self.teacher_.predict_oob()", "self.relabelled_ = self._decode(positive)"),
        (
            "self.teacher_.predict(X, fp_cost=costs.fp, fn_cost=costs.fn)",
            "self.teacher_.predict(X, fp_cost=costs.fn, fn_cost=costs.fp)",
        ),
        ("final.fit(X, self.relabelled_, **weights)", "final.fit(X, self._decode(positive), **weights)"),
        (
            "float(np.mean(self.relabelled_ != self._decode(positive)))",
            "float(np.mean(self.relabelled_ == self._decode(positive)))",
        ),
        (
            "            fp_cost=costs.fp,\n            fn_cost=costs.fn,\n            **weights",
            "            fp_cost=costs.fn,\n            fn_cost=costs.fp,\n            **weights",
        ),
    ),
    *_family(
        "costs by regression",
        "tests/test_base.py -k estimat",
        "estimation.py",
        (".fit(take_rows(X, rows), costs[rows])", ".fit(take_rows(X, rows), -costs[rows])"),
        (".ravel(), 0.0)", ".ravel(), -np.inf)"),
    ),
    *_family(
        "metrics: what each record costs",
        "tests/test_metrics.py",
        "metrics/bill.py",
        (
            "np.where(positive, fn, tn), weight * np.where(positive, tp, fp)",
            "np.where(positive, fp, tn), weight * np.where(positive, tp, fn)",
        ),
        (
            "np.where(positive, fn, tn), weight * np.where(positive, tp, fp)",
            "np.where(positive, fn, tp), weight * np.where(positive, tn, fp)",
        ),
        ("weight * np.where(positive, fn, tn), weight * np.where", "np.where(positive, fn, tn), np.where"),
    ),
    *_family(
        "metrics: decisions",
        "tests/test_metrics.py",
        "metrics/decisions.py",
        ("min(bill.total(False), bill.total(True))", "max(bill.total(False), bill.total(True))"),
        ("bill.total(bill.acted[0]), bill.total(False))", "bill.total(bill.acted[0]), bill.total(True))"),
        (
            "share_of(at_stake[positive & acted].sum(), at_stake[positive].sum())",
            "share_of(at_stake[positive & acted].sum(), at_stake.sum())",
        ),
        ("return income - expenditure\n", "return income + expenditure\n"),
        ("share_of(income - expenditure, expenditure)", "share_of(income, expenditure)"),
        ("share_of(income - expenditure, expenditure)", "share_of(income - expenditure, income)"),
        ('"benefit", n))[positive & contacted].sum()', '"benefit", n))[contacted].sum()'),
    ),
    *_family(
        "metrics: scorers",
        "tests/test_metrics.py",
        "metrics/scorer.py",
        ("return value if self.greater_is_better else -value", "return value"),
    ),
    *_family(
        "metrics: intervals",
        "tests/test_metrics.py",
        "metrics/intervals.py",
        ("_percentile_interval(one - other,", "_percentile_interval(other - one,"),
        ("tail = (1 - confidence_level) / 2", "tail = 1 - confidence_level"),
    ),
    *_family(
        "curves",
        "tests/test_curves.py",
        "curves.py",
        (
            "return self.below(bill.if_negative) + self.above(bill.if_positive)",
            "return self.above(bill.if_negative) + self.below(bill.if_positive)",
        ),
        ("cuts.above(weight) / weight.sum()", "cuts.above(weight)"),
        (
            "classes = np.where(positive, 0.0, weight), np.where(positive, weight, 0.0)",
            "classes = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)",
        ),
        (
            "missed = np.minimum(excess, all_missed) * [1, 0] + np.maximum(excess - all_alarmed, 0) * [0, 1]",
            "missed = np.minimum(excess, all_alarmed) * [1, 0] + np.maximum(excess - all_missed, 0) * [0, 1]",
        ),
        (
            "cost[0] - cost, savings_of(cost, min(cost[0], cost[-1]))",
            "cost - cost[0], savings_of(cost, min(cost[0], cost[-1]))",
        ),
        ("ranking = p * costs.fn - (1 - p) * costs.fp", "ranking = p * costs.fp - (1 - p) * costs.fn"),
        ("weight = weight * (fp + fn)", "weight = weight * fn"),
        (
            "savings_of(on_fn * missed + on_fp * alarmed, baseline)",
            "savings_of(on_fp * missed + on_fn * alarmed, baseline)",
        ),
        (
            "np.minimum(on_fn * at_stake[positive].sum(), on_fp * at_stake[~positive].sum())",
            "np.minimum(at_stake[positive].sum(), at_stake[~positive].sum())",
        ),
        ("return probability > costs.threshold()\n", "return probability > 1 - costs.threshold()\n"),
    ),
    *_family(
        "measures",
        "tests/test_measures.py",
        "measures.py",
        ("return s.all_fn - s.found + s.wasted", "return s.all_fn - s.found - s.wasted"),
        ("savings_of(cost(s), min(s.all_fn, s.all_fp))", "savings_of(cost(s), s.all_fn)"),
        ("np.subtract(baseline, cost, dtype=np.float64)", "np.subtract(cost, baseline, dtype=np.float64)"),
        ("savings_of(cost(s), s.all_fn)", "savings_of(cost(s), s.all_fp)"),
        ("return share_of(s.found, s.all_fn)", "return s.found"),
        ("return s.found - s.wasted", "return s.found + s.wasted"),
        ("return share_of(profit(s), s.spent)", "return share_of(profit(s), s.wasted)"),
        (
            "np.where(positive, fn, 0.0), np.where(positive, 0.0, fp), fp]",
            "np.where(positive, fp, 0.0), np.where(positive, 0.0, fn), fp]",
        ),
        ("return (tpr(s) + share_of(s.negatives", "return (tpr(s) - share_of(s.negatives"),
        ("n_positive * (n_positive + 1) / 2", "n_positive * n_positive / 2"),
    ),
    *_family(
        "study: what a summary tells",
        "tests/study/test_summary.py",
        "study/summary.py",
        (
            "_decision_costs(row, test.costs), _decision_costs(row, test.known)",
            "(c := _decision_costs(row, test.costs)), c",
        ),
        (
            "_sensitivity(chosen, parts, costs, _decision_costs(first, parts.test.known))",
            "_sensitivity(chosen, parts, costs, costs)",
        ),
        (
            'on_fp, on_fn = (factor if what == name else 1.0 for name in ("fp_cost", "fn_cost"))',
            'on_fn, on_fp = (factor if what == name else 1.0 for name in ("fp_cost", "fn_cost"))',
        ),
        (
            '"nothing": float(sums.all_fn),\n        "everything": float(sums.all_fp),\n        "insensitive"',
            '"nothing": float(sums.all_fp),\n        "everything": float(sums.all_fn),\n        "insensitive"',
        ),
        (
            "slope = means.fp * n_negative / (means.fn * n_positive)",
            "slope = means.fn * n_negative / (means.fp * n_positive)",
        ),
        ('n_positive * means.fn * (1 - c["point"]["tpr"])', 'n_positive * means.fn * c["point"]["tpr"]'),
    ),
    *_family(
        "study: intervals",
        "tests/study/test_summary.py",
        "study/leaderboard.py",
        (
            "times = np.bincount(rng.integers(0, n, n), minlength=n)",
            "times = np.bincount(rng.integers(0, n, n // 2), minlength=n)",
        ),
        ("totals[b] = weighted.sum(axis=0)", "totals[b] = amount.sum(axis=0)"),
    ),
    *_family(
        "study: costs to train by",
        "tests/study/test_study.py -k by_hand",
        "study/run.py",
        ('"record": train.costs,', '"record": train.costs.class_means(train.y),'),
        ('"class means": train.costs.class_means(train.y)', '"class means": train.costs.class_means(1 - train.y)'),
        (
            "fp_cost_val=validation.costs.fp,\n            fn_cost_val=validation.costs.fn",
            "fp_cost_val=validation.costs.fn,\n            fn_cost_val=validation.costs.fp",
        ),
        ("real_costs=validation.costs)", "real_costs=Costs(fp=1.0, fn=1.0))"),
    ),
    *_family(
        "study: decisions on new records",
        "tests/study/test_apply.py",
        "study/apply.py",
        ("act, leave = (1.0 - p) * fp, p * fn", "act, leave = p * fp, (1.0 - p) * fn"),
        ("act, leave = (1.0 - p) * fp, p * fn", "act, leave = (1.0 - p) * fn, p * fp"),
        ("np.where(positive, leave - act, 0.0)", "np.where(positive, act - leave, 0.0)"),
    ),
    *_family(
        "datasets: churn",
        "tests/datasets/test_telco_churn.py",
        "datasets/telco_churn.py",
        ("Costs(fp=2 * charge, fn=12 * charge)", "Costs(fp=12 * charge, fn=2 * charge)"),
    ),
    *_family(
        "datasets: fraud",
        "tests/datasets/test_credit_card.py",
        "datasets/credit_card.py",
        ("Costs(fp=fp_cost, fn=amount)", "Costs(fp=amount, fn=fp_cost)"),
    ),
    *_family(
        "datasets: donations",
        "tests/datasets/test_donations.py",
        "datasets/donations.py",
        ("np.maximum(donation - MAILING_COST, 0.0)", "np.maximum(donation + MAILING_COST, 0.0)"),
        ("np.where(donation > 0, donation, estimated)", "estimated"),
        ("model.fit(X[donors], donation[donors])", "model.fit(X[train], donation[train])"),
    ),
    *_family(
        "datasets: simulated",
        "tests/datasets/test_simulated.py",
        "datasets/simulated.py",
        ("Costs(fp=2 * charges, fn=12 * charges)", "Costs(fp=12 * charges, fn=2 * charges)"),
        ("Costs(fp=ALARM_COST, fn=amount)", "Costs(fp=amount, fn=ALARM_COST)"),
    ),
]
