"""The table from operationId to the service method that serves it."""
