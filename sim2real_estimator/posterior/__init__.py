"""What is known, in files: kept, continued, joined, exported and reported."""
