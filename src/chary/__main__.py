"""``python -m chary`` is ``chary``."""

import sys

from chary.cli import main

if __name__ == "__main__":
    sys.exit(main())
