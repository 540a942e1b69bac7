"""Code that a user trusts: the list of trusted files, references, import closures."""
