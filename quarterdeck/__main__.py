"""`python -m quarterdeck`: the command line."""

import sys

from quarterdeck.shadowing import describe_shadowing

if __name__ == "__main__":
    if conflict := describe_shadowing("dashboard"):
        sys.exit(f"quarterdeck: {conflict}")
    from dashboard.__main__ import main

    sys.exit(main())
