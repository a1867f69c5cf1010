"""
The second experiment of the paper on many pendulums: the paper's estimator beside ours.

The numbers that its docstring quotes, and how right the intervals of both are.
"""

from report import print_table
import torch

from sim2real_estimator.app.reproduce.mixture_experiment import (
    make_stream,
    run_gaussian_sum,
    run_gumbel,
)
from sim2real_estimator.app.reproduce.mixture_report import (
    CAPTION,
    HEADER,
    rows,
    summary,
    variants,
)

PENDULUMS, EPOCHS = 100, 300
# After the paper's 120 epochs: median error at most, standard deviation [m] between.
ERROR, DEVIATIONS = 0.03, (0.015, 0.025)
# Of the calibrated estimator.
INTERVALS = ((0.40, 0.60), (0.85, 0.95))


def run(arguments):
    """Estimate, print the table, and tell whether both behave as documented."""
    torch.set_num_threads(1)
    gumbel, gaussian = [], []
    for seed in range(arguments.seed, arguments.seed + PENDULUMS):
        stream = make_stream(seed)
        gumbel.append(run_gumbel(stream, EPOCHS, seed))
        gaussian.append(run_gaussian_sum(stream, seed))
    print(CAPTION.replace('. ', '.\n'), end='\n\n')
    print_table(list(HEADER), rows(gumbel, gaussian))
    paper, *_, ours = (summary(runs) for _, _, runs in variants(gumbel, gaussian))
    is_documented = paper['error'] <= ERROR and DEVIATIONS[0] <= paper['sd'] <= DEVIATIONS[1]
    is_right = all(low <= c <= high for c, (low, high) in zip(ours['coverage'], INTERVALS))
    print(
        f'gumbel_mixture after 120 epochs: median error {100 * paper["error"]:.2f} % (at most 3), '
        f'sd {1e3 * paper["sd"]:.1f} mm (15 to 25): {"met" if is_documented else "NOT MET"}\n'
        f'gaussian_sum: 50 % intervals hold {100 * ours["coverage"][0]:.0f} % (40 to 60), '
        f'90 % intervals {100 * ours["coverage"][1]:.0f} % (85 to 95): '
        f'{"met" if is_right else "NOT MET"}'
    )
    return bool(is_documented and is_right)
