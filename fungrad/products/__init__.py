"""Products with matrices of derivatives that are never formed."""
