"""The configuration: its layers, its schema, and the keys that a project may set."""
