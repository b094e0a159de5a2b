"""Write to standard output, standard error and the log."""
