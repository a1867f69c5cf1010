"""The square-root filter after the first seconds, and the smoother behind it."""
