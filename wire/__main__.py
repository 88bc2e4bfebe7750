"""`python -m wire` is the command `wire`."""

import sys

from wire.cli import main

if __name__ == "__main__":
    sys.exit(main())
