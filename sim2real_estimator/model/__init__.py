"""The robot as a tree of links and joints, and the names of its physical parameters."""
