"""The test suite, and the fuzzing (`tests.fuzz`)."""

import os

os.environ["FUNGRAD_CACHE_DIR"] = "off"  # what they compile is not kept for the user's programs
