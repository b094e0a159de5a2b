"""Answers: pack the best passages into a budget, let a model write, check what it cites; or quote."""
