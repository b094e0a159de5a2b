"""Evaluate rankings: sets of judged questions, measures, comparisons, and fitting of the weights."""
