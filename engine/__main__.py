"""`offbeat`, or `python -m engine`."""

import sys


def main() -> None:
    """The console script. Nobody who interrupts it gets a traceback."""
    try:
        # Here and not above: an interrupt while it is imported is caught.
        from engine.cli.root import execute  # noqa: PLC0415

        code = execute(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130  # 128 + SIGINT, as shells count.
    sys.exit(code)


if __name__ == "__main__":
    main()
