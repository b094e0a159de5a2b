"""Bounded worker threads, deadlines and progress callbacks."""
