"""Printers of schedules. They decide nothing."""
