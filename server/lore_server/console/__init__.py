"""Standard output, standard error and logs."""
