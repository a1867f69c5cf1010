"""
The next motion: safe excitation that tells most of what is still unknown; docs/consumers.md.

`advise` in `advice.py` is the main function: posterior, config and limits in, a motion and what it
would change out. `splines.py` has the motions, `information.py` what the torques of one tell,
`clearance.py` distances to itself and to the floor, `planning.py` the optimization, and
`motion_files.py` what is written. Nothing here moves a robot.
"""
