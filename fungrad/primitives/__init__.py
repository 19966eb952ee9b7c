"""The primitives, each declared once with all its rules.

Design: docs/design/10-primitives-are-declared-once.md.
"""
