"""Read the history of the project's files from git, and the tickets that its commits name."""
