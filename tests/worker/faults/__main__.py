"""`python -m tests.worker.faults` prints the table of `docs/operations.md`."""

from tests.worker.faults.table import markdown

if __name__ == "__main__":
    print(markdown())
