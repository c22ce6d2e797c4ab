"""Datasets with the money at stake in each record: loaders of published ones, and simulators."""

from stakes.datasets.credit_card import load_credit_card_fraud
from stakes.datasets.dataset import CostDataset, Parts
from stakes.datasets.kdd98 import load_kdd98
from stakes.datasets.keel import list_keel, load_keel
from stakes.datasets.simulated import make_churn, make_donors, make_transactions
from stakes.datasets.splits import Split, SplitPlan
from stakes.datasets.telco_churn import load_telco_churn

__all__ = [
    "CostDataset",
    "Parts",
    "Split",
    "SplitPlan",
    "list_keel",
    "load_credit_card_fraud",
    "load_kdd98",
    "load_keel",
    "load_telco_churn",
    "make_churn",
    "make_donors",
    "make_transactions",
]
