#!/usr/bin/env python3
"""Runs all tests of the independent verifier: `python3 examples/verify/test_verify.py`."""

import sys

sys.dont_write_bytecode = True

import pathlib
import unittest

if __name__ == '__main__':
    here = pathlib.Path(__file__).resolve().parent
    sys.path.insert(0, str(here))
    tests = unittest.defaultTestLoader.discover(str(here), pattern='test_*.py')
    sys.exit(not unittest.TextTestRunner().run(tests).wasSuccessful())
