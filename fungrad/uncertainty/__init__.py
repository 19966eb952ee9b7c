"""Uncertainty: how it goes through functions, and what is left of it where parameters are estimated."""
