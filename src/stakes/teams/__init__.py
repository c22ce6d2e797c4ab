"""Several models decide together: teams (weighted means) and stacks (a logistic model on their logits)."""
