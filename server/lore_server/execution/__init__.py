"""Run calls in bounded worker threads, with deadlines and progress callbacks."""
