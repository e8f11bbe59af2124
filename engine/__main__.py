"""`offbeat`, or `python -m engine`."""

import sys

from engine.cli.root import execute


def main() -> None:
    """The console script."""
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
