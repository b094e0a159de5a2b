"""Read documents that are not text, such as PDF and Office files: in a child process with limits."""
