"""Networks trained on recordings, and places where a network would pay."""
