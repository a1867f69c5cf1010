"""A recorded robot that publishes, and what is seen of the node that listens to it."""
