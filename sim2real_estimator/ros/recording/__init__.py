"""Nodes that record topics into bags, and play bags onto topics."""
