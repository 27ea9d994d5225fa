"""What does `python -m bfcl` run? The console script, whose name another distribution may have taken.

Rule: spec README, ruling 10.
"""

from __future__ import annotations

from bfcl.cli.main import main

if __name__ == "__main__":
    main()
