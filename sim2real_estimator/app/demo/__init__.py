"""The demo: a synthetic robot and the node as processes, watched, and judged by the truth."""
