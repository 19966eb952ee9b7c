"""Tests of types: the programs are not collected."""

collect_ignore = ["programs"]  # which are for type checkers to read
