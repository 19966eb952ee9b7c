"""Equations that are solved when a program runs, differentiated by what their solutions satisfy."""
