"""How well a ranking answers: sets of judged questions, measures, comparisons, and the fit of the weights."""
