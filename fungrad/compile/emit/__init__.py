"""What prints schedules. Nothing is decided here."""
