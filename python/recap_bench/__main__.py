"""Starts the program `recap` that was installed with this package."""

import os
import subprocess
import sys
from importlib.metadata import files


def program():
    """The path of `recap`, from the package's list of installed files."""
    for file in files("recap-bench") or []:
        if file.name in ("recap", "recap.exe"):
            return str(file.locate())
    sys.exit("recap-bench: the program `recap` is missing; install the package again")


def main():
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        # There, a program that replaces its parent does not keep the console.
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
