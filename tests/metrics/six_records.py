"""Decisions on six records: two true positives, one false negative, one false positive, two true negatives."""

Y_TRUE = [1, 1, 1, 0, 0, 0]
Y_PRED = [1, 1, 0, 1, 0, 0]
FP = [1, 2, 4, 8, 16, 32]
FN = [100, 200, 400, 800, 1600, 3200]
COSTS = {"fp_cost": FP, "fn_cost": FN}
