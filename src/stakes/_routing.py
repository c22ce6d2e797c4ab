"""Metadata of records on its way to the sub-estimators that ask for it, by scikit-learn's metadata routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

__all__ = ["Route", "RoutesMetadata", "answering"]

Route = tuple[Any, Mapping[str, str]]
"""A sub-estimator, and by the name of each method of ours the method of its own that is called."""


def answering(estimator: Any) -> Mapping[str, str]:
    """Return which methods of a member are called: those with a probability answer by it, whatever is asked."""
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
    asked = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    return {"fit": "fit"} | dict.fromkeys(asked, method)


class RoutesMetadata:
    """Hands metadata on to the sub-estimators that ask for it (`set_fit_request` and the like)."""

    def _routes(self) -> dict[str, Route]:
        """Return the sub-estimators by name: the parameter `estimator`, where there is one."""
        estimator = getattr(self, "estimator", None)
        return {} if estimator is None else {"estimator": (estimator, answering(estimator))}

    def get_metadata_routing(self) -> Any:
        """Return what metadata the estimator uses itself, and what it hands on."""
        routes = self._routes()
        if not routes:
            return super().get_metadata_routing()  # type: ignore[misc]
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, (estimator, methods) in routes.items():
            mapping = MethodMapping()
            for caller, callee in methods.items():
                mapping.add(caller=caller, callee=callee)
            router.add(method_mapping=mapping, **{name: estimator})
        return router

    def _routed(self, method: str, metadata: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what each sub-estimator is handed by a method: nothing where there is no metadata."""
        routes = self._routes()
        if not metadata:
            return {name: {} for name in routes}
        if not routes:
            raise TypeError(
                f"{type(self).__name__}.{method}() got an unexpected keyword argument {next(iter(metadata))!r}"
            )
        if not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"[{', '.join(map(repr, metadata))}] are not understood by {method}: metadata is handed on to members "
                "only after sklearn.set_config(enable_metadata_routing=True)"
            )
        found = process_routing(self, method, **metadata)
        return {name: dict(found[name].get(methods.get(method, ""), {})) for name, (_, methods) in routes.items()}
