"""Prints the reference values of src/measure/statistics_tests.rs and bootstrap_tests.rs.

Made with Python 3.11, SciPy 1.17.1 and NumPy 2.4.6:
    python -m venv VENV && VENV/bin/pip install scipy==1.17.1 numpy==2.4.6
    VENV/bin/python tests/statistics_fixtures.py
"""

import sys

import numpy as np
import scipy
from scipy import stats

SEVEN = np.array([0.86, 0.91, 0.79, 0.95, 0.62, 0.88, 0.84])
# Skewed, as recalls near 1 are: BCa and t differ.
SKEWED = np.array(
    [1.0, 0.98, 0.97, 1.0, 0.95, 0.99, 0.4, 0.96, 1.0, 0.93, 0.99, 0.72,
     0.97, 1.0, 0.98, 0.9, 0.99, 0.55, 1.0, 0.96, 0.94, 0.98, 1.0, 0.97]
)


def main():
    print("python", sys.version.split()[0], "scipy", scipy.__version__, "numpy", np.__version__)
    for name, values in (("SEVEN", SEVEN), ("SKEWED", SKEWED)):
        n = len(values)
        interval = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
        mde = (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * stats.sem(values)
        print(f"{name}: mean {values.mean():.12f} t {interval[0]:.12f} {interval[1]:.12f}")
        print(f"  sem {stats.sem(values):.12f} mde {mde:.12f}")
    for hits, n in ((0, 12), (0, 20), (1, 20), (2, 20), (3, 40), (19, 20)):
        upper = stats.binomtest(hits, n).proportion_ci(0.95, method="exact").high
        print(f"clopper-pearson {hits}/{n}: {upper:.12f}")
    for seed in (1, 2):
        bca = stats.bootstrap(
            (SKEWED,), np.mean, n_resamples=200_000, method="BCa", batch=20_000,
            rng=np.random.default_rng(seed),
        ).confidence_interval
        print(f"bca SKEWED, 200,000 resamples, seed {seed}: {bca.low:.6f} {bca.high:.6f}")
    levels()


def levels():
    """BCa levels and bounds on a fixed distribution, by the formulas of scipy.stats.bootstrap."""
    n = len(SKEWED)
    left = (SKEWED.sum() - SKEWED) / (n - 1)
    d = left.mean() - left
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    resampled = np.linspace(0.80, 1.00, 1001)
    estimate = 0.9151
    share = ((resampled < estimate).sum() + (resampled <= estimate).sum()) / (2 * len(resampled))
    z0 = stats.norm.ppf(share)
    alpha = []
    for p in (0.025, 0.975):
        z = z0 + stats.norm.ppf(p)
        alpha.append(stats.norm.cdf(z0 + z / (1 - a * z)))
    lo, hi = np.percentile(resampled, [100 * alpha[0], 100 * alpha[1]])
    print(f"acceleration {a:.12f} share {share:.12f}")
    print(f"levels {alpha[0]:.12f} {alpha[1]:.12f} bounds {lo:.12f} {hi:.12f}")


if __name__ == "__main__":
    main()
