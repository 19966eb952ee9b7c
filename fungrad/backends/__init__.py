"""What differs between array libraries."""
