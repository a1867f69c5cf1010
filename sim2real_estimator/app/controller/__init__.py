"""The node `controller`: computed torque with the live estimate."""
