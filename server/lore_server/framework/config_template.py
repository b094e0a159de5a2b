"""Define the `lore.toml` that `lore init` writes: every table, with its keys explained and commented out."""

from __future__ import annotations

TEMPLATE = """\
# Lore's configuration. Every key is optional; the values are the defaults. See docs/configuration.md.
# Keys marked "you" are ignored here until you approve them with `lore trust`; ~/.config/lore/config.toml may set all.

[index]
# exclude = ["vendor/", "*.generated.ts"]   # files to leave out, in the syntax of .gitignore and in addition to it
# max_file_bytes = 2000000
# guard_share = 0.3                          # a sync that would delete a larger share is refused

[sources]
# tickets = ["tracker/**/*.md"]              # the location of tickets, instead of the usual ones

[embedding]
# provider = "local"                         # you: or "gemini", with GEMINI_API_KEY set
# model = "all-MiniLM-L6-v2"                 # you: any sentence-transformers model, by name or folder

[database]
# mode = "embedded"                          # where Chroma runs; or "server"; you: "http", "cloud"

[query]
# ranking = "hybrid"                         # or "classic"
# weights = { ticketPenalty = -30 }
# reranker = ""                              # you: a cross-encoder, by name or folder; empty means none
# rerank_depth = 20                          # number of results it reads

[docs]
# framework = ".ce/docs"                     # folder of the framework's pages; or else .ce
# tag_weight = 0.2                           # maximum bonus of knowledge_search for tags, titles and recent changes
# title_weight = 0.3
# recent_weight = 0.1

[owner]
# idle_minutes = 30                          # the background process ends after this time without clients
# auto_sync_files = 50                       # maximum number of changed files to sync automatically; 0 means never

[hook]
# memory_dirs = ["memories"]                 # folders that `lore hook session-start` sends; you: folders elsewhere
# max_files = 0                              # maximum in one run; 0 means no limit

[answer]
# provider = "auto"                          # Gemini if GEMINI_API_KEY is set; "none": passages; you: "openai"
# model = "gemini-2.5-flash"                 # you
"""
