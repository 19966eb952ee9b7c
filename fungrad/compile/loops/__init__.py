"""How the steps of a loop are run."""
