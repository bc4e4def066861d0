"""`python -m ppm` is `ppm`."""

from ppm.cli import main

if __name__ == "__main__":
    main()
