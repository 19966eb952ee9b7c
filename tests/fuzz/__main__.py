"""``python -m tests.fuzz``: see `tests.fuzz.driver`."""

import sys

from tests.fuzz.functions import main

if __name__ == "__main__":
    sys.exit(main())
