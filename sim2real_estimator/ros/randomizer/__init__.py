"""
The node `randomizer`: draws of robots for simulators and training, of a posterior it hears.

`randomizer.py` decides what is drawn and when nothing may be; `node.py` has topics, services and
files. docs/consumers.md is for users.
"""
