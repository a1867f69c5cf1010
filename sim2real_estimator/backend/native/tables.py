"""
The order of the arguments of every driver: what writes drivers and what calls them agree by it.

Names alone: it is read also where there is nothing to compile with.
"""

# name: address; name_row, name_lane: distance in doubles from row to row and from lane to lane.
_INPUTS = tuple(
    f'{name}{part}' for name in ('x0', 'par', 'u', 'h') for part in ('', '_row', '_lane')
)
_COMMON = ('batch', 'samples', 'steps', 'scratch', 'fix', *_INPUTS)
# Derivatives of initial state, parameters, durations and controls along the directions.
SEEDS = ('seed_x0', 'seed_par', 'seed_h', 'seed_u')
# Drivers that carry derivatives forwards in time; all others do so backwards, if at all.
FORWARDS = ('tangent', 'directions')
TABLES = {
    'rollout': (*_COMMON, 'states', 'outputs'),
    'reverse': (*_COMMON, 'lstates', 'loutputs', 'lx0', 'lpar', 'lu', 'lh'),
    'cost': (
        *_COMMON,
        'target',
        'target_row',
        'target_lane',
        'weight',
        'weight_row',
        'weight_lane',
        'value',
        'lx0',
        'lpar',
        'lu',
        'lh',
    ),
    'jacobian': (*_COMMON, 'states', 'jacobian'),
    'tangent': (*_COMMON, 'states', 'outputs', 'n_columns', 'columns', 'dstates', 'doutputs'),
    'directions': (*_COMMON, 'states', 'outputs', 'n_columns', *SEEDS, 'dstates', 'doutputs'),
}
