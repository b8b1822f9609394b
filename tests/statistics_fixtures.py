"""Writes the reference values of the statistics: tests/fixtures/statistics.json.

Made with Python 3.11 and these:
    python -m venv VENV
    VENV/bin/pip install scipy==1.17.1 numpy==2.4.6 statsmodels==0.15.0 pandas==2.3.3
    VENV/bin/python tests/statistics_fixtures.py > tests/fixtures/statistics.json

What the file holds is read by crates/measure/src/tests/fixtures.rs.
"""

import json
import sys

import numpy as np
import pandas as pd
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

SEVEN = np.array([0.86, 0.91, 0.79, 0.95, 0.62, 0.88, 0.84])
# Skewed, as recalls near 1 are: BCa and t differ.
SKEWED = np.array(
    [1.0, 0.98, 0.97, 1.0, 0.95, 0.99, 0.4, 0.96, 1.0, 0.93, 0.99, 0.72,
     0.97, 1.0, 0.98, 0.9, 0.99, 0.55, 1.0, 0.96, 0.94, 0.98, 1.0, 0.97]
)
# Projects of different sizes.
CLUSTERED = [[0.7, 0.75, 0.72], [0.9], [0.55, 0.6], [0.8, 0.85, 0.9, 0.88], [0.4], [0.66, 0.61], [0.97]]
DIFFERENCES = [
    [0.05, 0.02, -0.01, 0.04, 0.03, 0.06, 0.01, -0.02],
    [0.3, -0.1, -0.1, -0.05, 0.0, 0.02, 0.01],
    [0.11, 0.12, 0.09, 0.14, 0.1, 0.08, 0.13, 0.1, 0.12, 0.07],
]


def intervals():
    found = []
    for values in (SEVEN, SKEWED):
        n = len(values)
        lo, hi = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
        mde = (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * stats.sem(values)
        found.append({"values": values.tolist(), "mean": values.mean(), "sem": stats.sem(values),
                      "lo": lo, "hi": hi, "mde": mde})
    return found


def clustered():
    """The mean as a regression on a constant. statsmodels scales by G/(G-1)·(N-1)/(N-k), k = 1."""
    values = np.concatenate(CLUSTERED)
    groups = np.repeat(np.arange(len(CLUSTERED)), [len(c) for c in CLUSTERED])
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True, "df_correction": True}
    )
    return {"clusters": CLUSTERED, "mean": fit.params[0], "se": fit.bse[0]}


def weighted():
    """The weighted mean as a weighted regression on a constant. `use_correction` with `df_correction` scales
    the squared error by G/(G-1)·(N-1)/(N-k), and k = 1 leaves G/(G-1). The sign-flip test is on the sums of
    weight times difference."""
    rng = np.random.default_rng(11)
    found = []
    for sizes in ((1, 1, 1, 1, 1, 1, 1), (3, 1, 2, 4, 1, 2, 1, 5)):
        clusters = [[(x, w) for x, w in zip(rng.beta(2, 1, n).round(4), rng.integers(1, 31, n))] for n in sizes]
        x, w = np.array([pair for cluster in clusters for pair in cluster]).T
        groups = np.repeat(np.arange(len(sizes)), sizes)
        fit = sm.WLS(x, np.ones(len(x)), weights=w).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True, "df_correction": True}
        )
        # Kish's effective number of clusters: those with unequal weights count as fewer.
        freedom = max(1, len(sizes) * w.sum() ** 2 / (len(w) * (w**2).sum()) - 1)
        half = stats.t.ppf(0.975, freedom) * fit.bse[0]
        mde = (stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)) * fit.bse[0]
        # Differences with both signs, for a p between its ends.
        sums = np.array([sum(w * (x - 0.55) for x, w in cluster) for cluster in clusters])
        p = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=np.inf,
                                   alternative="two-sided").pvalue
        found.append({"clusters": [[[float(x), float(w)] for x, w in cluster] for cluster in clusters],
                      "mean": fit.params[0], "se": fit.bse[0], "lo": fit.params[0] - half,
                      "hi": fit.params[0] + half, "mde": mde, "p_less_055": p})
    return found


def weighted_bca():
    """Pairs of value and weight resampled together; SciPy's own interval of their weighted mean."""
    rng = np.random.default_rng(12)
    w = rng.integers(5, 31, len(SKEWED)).astype(float)
    mean = lambda x, w, axis: (x * w).sum(axis) / w.sum(axis)
    own = [
        stats.bootstrap((SKEWED, w), mean, n_resamples=200_000, method="BCa", batch=20_000, paired=True,
                        rng=np.random.default_rng(seed)).confidence_interval
        for seed in (1, 2)
    ]
    return {"values": SKEWED.tolist(), "weights": w.tolist(),
            "lo": np.mean([b.low for b in own]), "hi": np.mean([b.high for b in own])}


def pooling():
    """Clusters as projects where several are known, else as sessions; those under 5 facts are one; the
    share of a cluster is a ratio of sums, its weight its facts."""
    rng = np.random.default_rng(13)
    found = []
    for projects, n in (([None], 12), (["a"], 12), (["a", "b", "c", None], 24), (list("abcdefgh"), 14)):
        units = pd.DataFrame({"owner": [projects[i] for i in rng.integers(0, len(projects), n)],
                              "facts": rng.choice([0, 1, 2, 3, 4, 5, 8, 20, 50, 120], n)})
        units["kept"] = rng.binomial(units.facts, 0.6)
        units["share"] = units.kept / units.facts.where(units.facts > 0, 1)
        left = units[units.facts > 0].copy()
        alone = "session " + left.index.astype(str)
        named = left.owner.notna() & (left.owner.nunique(dropna=False) > 1)
        left["cluster"] = left.owner.where(named, alone)
        small = left.groupby("cluster").facts.transform("sum") < 5
        sums = left.groupby(left.cluster.where(~small, "small"))[["kept", "facts"]].sum()
        share, weight = sums.kept / sums.facts, sums.facts
        pairs = sorted([float(s), float(w)] for s, w in zip(share, weight))
        found.append({"owners": units.owner.where(units.owner.notna(), None).tolist(),
                      "facts": units.facts.tolist(), "shares": units.share.tolist(), "clusters": pairs,
                      "mean": np.average(share, weights=weight)})
    return found


def bca():
    """Levels and bounds on a fixed distribution by the formulas of scipy.stats.bootstrap, and SciPy's
    own interval with a hundred times the resamples."""
    n = len(SKEWED)
    left = (SKEWED.sum() - SKEWED) / (n - 1)
    d = left.mean() - left
    a = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    resampled = np.linspace(0.80, 1.00, 1001)
    estimate = 0.9151
    share = ((resampled < estimate).sum() + (resampled <= estimate).sum()) / (2 * len(resampled))
    z0 = stats.norm.ppf(share)
    z = z0 + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(z0 + z / (1 - a * z))
    bounds = np.percentile(resampled, 100 * levels)
    own = [
        stats.bootstrap((SKEWED,), np.mean, n_resamples=200_000, method="BCa", batch=20_000,
                        rng=np.random.default_rng(seed)).confidence_interval
        for seed in (1, 2)
    ]
    return {"values": SKEWED.tolist(), "acceleration": a, "estimate": estimate,
            "levels": levels.tolist(), "bounds": bounds.tolist(),
            "lo": np.mean([b.low for b in own]), "hi": np.mean([b.high for b in own])}


def clopper_pearson():
    found = []
    for hits, n in ((0, 12), (0, 20), (1, 20), (2, 20), (3, 40), (19, 20), (5, 5)):
        upper = stats.binomtest(hits, n).proportion_ci(0.95, method="exact").high
        assert abs(upper - proportion_confint(hits, n, 0.05, "beta")[1]) < 1e-12
        found.append({"hits": hits, "n": n, "upper": upper})
    return found


def cautious():
    """Where losses are all or nothing the cautious bound is the one-sided 95 % Clopper-Pearson bound."""
    cases = ((0, 20), (0, 59), (1, 60), (2, 40))
    return [{"hits": h, "n": n, "upper": stats.beta.ppf(0.95, h + 1, n - h)} for h, n in cases]


def holm():
    families = ([0.03, 0.01, 0.02], [0.6, 0.7], [0.001, 0.2, 0.013, 0.04, 0.04, 0.9])
    return [{"ps": ps, "corrected": multipletests(ps, method="holm")[1].tolist()} for ps in families]


def sign_flips():
    found = []
    for values in DIFFERENCES:
        p = stats.permutation_test((np.array(values),), np.sum, permutation_type="samples",
                                   n_resamples=np.inf, alternative="two-sided").pvalue
        found.append({"values": values, "p": p})
    return found


def kappas():
    """Kappa by statsmodels; its jackknife over questions and the t interval by hand. Each square is
    both accept, label alone accepts, judge alone accepts, neither does."""
    questions = [[3, 0, 1, 1], [2, 1, 0, 2], [0, 0, 1, 4], [4, 1, 0, 0], [1, 1, 1, 2], [2, 0, 0, 3], [0, 1, 0, 4]]
    table = lambda q: np.array([[q[0], q[1]], [q[2], q[3]]])
    kappa = lambda q: cohens_kappa(table(q)).kappa
    total = np.sum(questions, axis=0)
    left = np.array([kappa(total - q) for q in np.array(questions)])
    n = len(left)
    se = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, n - 1) * se
    own = cohens_kappa(table(total))
    return {"questions": questions, "kappa": own.kappa, "lo": own.kappa - half, "hi": own.kappa + half,
            "asymptotic_se": own.std_kappa}


def main():
    versions = {"python": sys.version.split()[0], "scipy": scipy.__version__,
                "numpy": np.__version__, "statsmodels": statsmodels.__version__,
                "pandas": pd.__version__}
    json.dump({"versions": versions, "intervals": intervals(), "clustered": clustered(), "weighted": weighted(),
               "bca": bca(), "weighted_bca": weighted_bca(), "pooling": pooling(),
               "clopper_pearson": clopper_pearson(), "cautious": cautious(), "holm": holm(),
               "sign_flips": sign_flips(), "kappa": kappas()}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
