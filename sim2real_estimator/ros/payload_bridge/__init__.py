"""
The payload bridge: keeps the payload of a driver in step with `~/payload`, safely.

`bridge_rules.py` decides and knows no ROS, `drivers/` has a file per kind of driver, `node.py`
connects the two. docs/consumers.md has the rules.
"""
