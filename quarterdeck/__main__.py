"""`python -m quarterdeck`: the command line."""

import sys

from quarterdeck.shadowing import shadowed

if __name__ == "__main__":
    if taken := shadowed("dashboard"):
        sys.exit(f"quarterdeck: {taken}")
    from dashboard.__main__ import main

    sys.exit(main())
