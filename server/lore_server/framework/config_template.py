"""The `lore.toml` that `lore init` writes: every table, with its keys explained and commented out."""

from __future__ import annotations

TEMPLATE = """\
# Lore's configuration. Every key is optional; these are the defaults. See docs/configuration.md.
# Keys marked "you" are ignored here until you approve them with `lore trust`; ~/.config/lore/config.toml may set all.

[index]
# exclude = ["vendor/", "*.generated.ts"]   # like .gitignore, and added to it
# max_file_bytes = 2000000
# guard_share = 0.3                          # a sync that would delete more is refused

[sources]
# tickets = ["tracker/**/*.md"]              # where tickets live, instead of the usual places

[embedding]
# provider = "local"                         # you: or "gemini", with GEMINI_API_KEY set
# model = "all-MiniLM-L6-v2"                 # you: any sentence-transformers model, by name or folder

[database]
# mode = "embedded"                          # where Chroma lives; or "server"; you: "http", "cloud"

[query]
# ranking = "hybrid"                         # or "classic"
# weights = { ticketPenalty = -30 }
# reranker = ""                              # you: a cross-encoder, by name or folder; empty is off
# rerank_depth = 20                          # results that it reads

[docs]
# framework = ".ce/docs"                     # where the framework's pages are; else .ce
# tag_weight = 0.2                           # what knowledge_search adds for tags, titles and recent changes
# title_weight = 0.3
# recent_weight = 0.1

[owner]
# idle_minutes = 30                          # then the process in the background ends
# auto_sync_files = 50                       # up to so many changed files are synced unasked; 0 is never

[hook]
# memory_dirs = ["memories"]                 # what `lore hook session-start` sends; you: folders elsewhere
# max_files = 0                              # in one run; 0 is all

[answer]
# provider = "auto"                          # Gemini if GEMINI_API_KEY is set; "none" always quotes
# model = "gemini-2.5-flash"                 # you
"""
