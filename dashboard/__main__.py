"""`python -P -m dashboard`: the command line, for processes that the dashboard starts itself."""

import sys

from dashboard.cli import main

if __name__ == "__main__":
    sys.exit(main())
