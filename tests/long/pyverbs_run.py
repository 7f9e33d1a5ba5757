#!/usr/bin/env python3
"""Runs rdma-core's Python tests and writes the name and outcome of each, for tests/long/pyverbs.sh.

usage: pyverbs_run.py SUITE OUTCOMES SEED [arguments of the suite's run_tests.py]

The tests draw sizes and flags at random: the seed makes that the same each time.
"""

import random
import runpy
import sys
import unittest

suite, outcomes, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Result(unittest.TextTestResult):
    """Tells each outcome at once: what a test that ends the process has before it is not lost."""

    def tell(self, test, outcome, why=""):
        with open(outcomes, "a") as out:
            out.write(f"{test.id()} {outcome} {why}".rstrip() + "\n")

    def startTest(self, test):
        random.seed(f"{seed} {test.id()}")
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, "failed")


unittest.TextTestRunner.resultclass = Result
sys.path.insert(0, suite)
sys.argv = [f"{suite}/run_tests.py"] + sys.argv[4:]
runpy.run_path(sys.argv[0], run_name="__main__")
