"""A linear mixed model of the reward, one row a run. statsmodels is imported only when a model is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from m4lib.analysis.metrics import family_of


@dataclass(frozen=True)
class MixedModel:
    """Fixed effect of the condition, in reward, with its Wald interval; variances of the random parts."""

    effect: float
    low: float
    high: float
    p_value: float
    family_sd: float
    task_sd: float
    slope_sd: float
    residual_sd: float
    runs: int
    converged: bool


def mixed_model(
    index: pd.DataFrame, value: str = "reward", *, treated: str = "with-skill", control: str = "no-skill",
    schema: str = "native",
) -> MixedModel:
    """reward ~ condition + model, families and tasks within families random, the condition's slope random by task.

    The slope is there because the effect differs between tasks: without it the interval would treat 560 runs as
    560 independent looks at one effect. REML, Wald interval. Raises ValueError when one arm is absent.
    """
    import warnings

    import statsmodels.formula.api as smf

    part = index[(index["schema"] == schema) & index["condition"].isin([treated, control])].copy()
    if part["condition"].nunique() < 2 or part["task"].nunique() < 3:
        raise ValueError("the mixed model needs both conditions and at least three tasks")
    part["family"] = part["task"].map(family_of)
    part["skill"] = (part["condition"] == treated).astype(float)
    part["outcome"] = part[value].astype(float)
    formula = "outcome ~ skill + C(model)" if part["model"].nunique() > 1 else "outcome ~ skill"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # boundary and gradient remarks; convergence is reported instead
        fit = smf.mixedlm(
            formula, part, groups="family", re_formula="1",
            vc_formula={"task": "0 + C(task)", "slope": "0 + C(task):skill"},
        ).fit(reml=True, method=["lbfgs", "powell"])
    low, high = fit.conf_int().loc["skill"]
    parts = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    return MixedModel(
        effect=float(fit.params["skill"]), low=float(low), high=float(high), p_value=float(fit.pvalues["skill"]),
        family_sd=float(np.sqrt(max(fit.cov_re.iloc[0, 0], 0))), task_sd=float(np.sqrt(max(parts["task"], 0))),
        slope_sd=float(np.sqrt(max(parts["slope"], 0))), residual_sd=float(np.sqrt(fit.scale)),
        runs=int(fit.nobs), converged=bool(fit.converged),
    )
