"""Published recordings of real robots: those of `examples/`, and what is known of them."""
