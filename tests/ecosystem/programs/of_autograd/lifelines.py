"""lifelines: models of survival fitted by maximum likelihood, with standard errors by Hessians."""

import lifelines
from lifelines.datasets import load_rossi, load_waltons

_WALTONS, _ROSSI = load_waltons(), load_rossi()
_T, _E = _WALTONS["T"], _WALTONS["E"]


def _fitted(model):
    return model.log_likelihood_, model.summary[["coef", "se(coef)"]].values.astype(float)


def distributions():
    names = ("Weibull", "Exponential", "LogNormal", "LogLogistic")
    return [_fitted(getattr(lifelines, f"{name}Fitter")().fit(_T, _E)) for name in names]


def generalized_gamma():
    return _fitted(lifelines.GeneralizedGammaFitter().fit(_T, _E))


def hazards_in_pieces():
    return _fitted(lifelines.PiecewiseExponentialFitter([20, 40]).fit(_T, _E))


def hazards_by_splines():
    return lifelines.SplineFitter([10, 30, 60]).fit(_T, _E).log_likelihood_


def censoring_of_intervals_and_from_the_left():
    between = lifelines.WeibullFitter().fit_interval_censoring(_T, _T + 2.0)
    return _fitted(between), lifelines.WeibullFitter().fit_left_censoring(_T, _E).log_likelihood_


def percentiles_and_confidence():
    model = lifelines.WeibullFitter().fit(_T, _E)
    return model.percentile(0.3), model.confidence_interval_survival_function_.values


def accelerated_failure_times():
    found = []
    for name in ("Weibull", "LogNormal", "LogLogistic"):
        model = getattr(lifelines, f"{name}AFTFitter")().fit(_ROSSI, "week", "arrest")
        found.append((_fitted(model), model.predict_median(_ROSSI.iloc[:3]).values))
    return found


def penalties_and_covariates_of_the_shape():
    model = lifelines.WeibullAFTFitter(penalizer=0.1, l1_ratio=0.5)
    return _fitted(model.fit(_ROSSI, "week", "arrest", ancillary=True))


def regression_of_hazards_in_pieces():
    return _fitted(
        lifelines.PiecewiseExponentialRegressionFitter([20]).fit(_ROSSI, "week", "arrest")
    )


def proportional_hazards_with_a_spline_and_with_a_penalty():
    spline = lifelines.CoxPHFitter(baseline_estimation_method="spline", n_baseline_knots=3)
    lasso = lifelines.CoxPHFitter(penalizer=0.1, l1_ratio=0.5)
    return [_fitted(model.fit(_ROSSI, "week", "arrest")) for model in (spline, lasso)]
