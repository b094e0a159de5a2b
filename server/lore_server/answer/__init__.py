"""Answer questions: fit the best passages into a budget, let a model write and check its citations, or quote them."""
