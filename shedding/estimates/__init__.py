"""From sampled moments to value, low and high; pure NumPy, one element a key.

Known populations: `stratified_mean` (SUM by `.scaled(N)`, COUNT exact), `ratio_of_sums`. Estimated ones: `hajek_mean`,
`horvitz_thompson_sum`, `horvitz_thompson_count`, `gamma_poisson_count`. Quantiles: `sampled_quantile`.
MIN and MAX have no function: no interval of this kind is true for them.
"""

from shedding.estimates.estimate import Estimate
from shedding.estimates.gamma_poisson import gamma_poisson_count
from shedding.estimates.quantiles import sampled_quantile
from shedding.estimates.ratio import ratio_of_sums
from shedding.estimates.strata import Sampled, Strata
from shedding.estimates.stratified import stratified_mean
from shedding.estimates.weighted import hajek_mean, horvitz_thompson_count, horvitz_thompson_sum

__all__ = [
    "Estimate",
    "Sampled",
    "Strata",
    "gamma_poisson_count",
    "hajek_mean",
    "horvitz_thompson_count",
    "horvitz_thompson_sum",
    "ratio_of_sums",
    "sampled_quantile",
    "stratified_mean",
]
