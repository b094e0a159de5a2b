"""The configuration: its layers, its schema, and who may set each key."""
