"""Measurements that never were a bag, as CSV or npz, made one."""
