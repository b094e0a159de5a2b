"""What an agent's session-start hook runs: memory files on their way to a knowledge server."""
