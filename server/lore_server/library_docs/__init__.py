"""Copy the documentation of libraries into files, from a site, a package or a folder, at the user's request."""
