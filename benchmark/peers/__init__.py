"""What our speed is compared with: the C++ limit, MuJoCo and Pinocchio on the same workload."""
