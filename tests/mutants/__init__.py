"""Tests of the tests: small mistakes planted in fungrad, each of which a test must catch. See `__main__.py`."""
