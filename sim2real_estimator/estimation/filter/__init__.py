"""The filter: one frame (`update`), its gates, the smoother, and the phases."""
