"""Programs that show fungrad at work; each runs by itself, as `python examples/digits.py`."""
