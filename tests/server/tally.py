# SPDX-License-Identifier: MIT
"""Counts what the check_*.py programs look at."""


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, good, seen=""):
        print(("ok: " if good else "FAILED: ") + what
              + (f" (seen: {seen})" if not good and seen != "" else ""))
        self.passed += bool(good)
        self.failed += not good

    def finish(self):
        """Prints "N passed, N failed".  Returns the status to exit with."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
