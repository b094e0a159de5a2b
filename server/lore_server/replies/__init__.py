"""Replies: text rendering, token budgets, paging, errors."""
