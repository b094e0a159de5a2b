"""One owner process an index: the process itself, the bridge to it, and what asks it from the shell."""
