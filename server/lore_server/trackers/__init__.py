"""Copy the tickets and releases of GitHub and GitLab projects into files, which are then indexed like any other."""
