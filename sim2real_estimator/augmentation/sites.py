"""
The places of the simulator where a network may act: each quantity passes `site` where it is made.

A site is named like a parameter, OWNER.quantity. Where no network is declared for it the quantity
comes back as it was, so that the programs of backends are those without networks.
"""

# Quantity of a joint -> what it is. The efforts are what acts inside a joint: all of it, or what
# its actuator delivers.
SITES = {
    'effort': 'all that acts inside the joint, friction and drive',
    'actuator_effort': 'what the actuator delivers',
    'damping': 'viscous damping',
    'friction': 'Coulomb friction',
    'load_friction': 'friction per load',
    'stribeck': 'Stribeck friction',
    'torque_offset': 'constant effort',
    'stiffness': 'stiffness of the spring',
}
# Those whose effort is linear in them, as columns of the regressor.
FRICTION_SITES = ('damping', 'friction', 'load_friction', 'stribeck', 'torque_offset')
# Of a pair of links that can touch; the friction force is this times the normal force.
CONTACT_SITES = {'friction': 'coefficient of friction'}
# What a network of a joint may have as inputs: of any joint of one degree of freedom.
INPUTS = {
    'position': 'position of a joint [rad or m]',
    'velocity': 'velocity of a joint [rad/s or m/s]',
    'command': 'commanded effort [N m or N]',
    'load': 'effort that holds the bodies against gravity [N m or N]',
}

# And of a contact: of the same pair.
CONTACT_INPUTS = {
    'slip_speed': 'size of the tangential velocity [m/s]',
    'normal_force': 'contact force along the normal [N]',
    'penetration': 'depth by which shapes overlap [m]',
}


def site(networks, name, value, quantity):
    """
    Return the value of a quantity with the networks that are declared for it.

    networks: `Placed` ones; name: of the quantity; quantity: function that returns the scalar of
    an input by its name, called only where a network asks.
    """
    for placed in networks:
        if placed.network.site == name:
            value = placed.applied(value, quantity)
    return value


def joint_of(name):
    """Return (owner, quantity) of the name of a site or an input."""
    owner, _, quantity = name.rpartition('.')
    return owner, quantity


def is_of_joint(placed, joint):
    """Tell whether a `Placed` network acts inside a joint of this name."""
    owner, quantity = joint_of(placed.network.site)
    return owner == joint and quantity in SITES
