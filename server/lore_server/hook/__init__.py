"""The session-start hook: upload an agent's memory files to a knowledge server."""
