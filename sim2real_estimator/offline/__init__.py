"""From recordings and tables to a result: what runs without a robot."""
