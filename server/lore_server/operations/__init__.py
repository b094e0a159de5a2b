"""The table of operations, with the service method of each operation."""
