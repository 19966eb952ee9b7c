"""The programs that introductions to computational graphs work through, with their numbers."""
