"""Serve the model of a study: decisions, probabilities and reasons for records that come as JSON.

pip install stakes fastapi uvicorn
STAKES_MODEL=best.skops uvicorn examples.serve:app_from_environment --factory
"""

from __future__ import annotations

import os
from typing import Any

import polars as pl
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

import stakes
from stakes import load


class Request(BaseModel):
    """Records with the columns that the model was trained on; others are ignored."""

    records: list[dict[str, Any]] = Field(min_length=1, max_length=10_000)
    fp_cost: float | list[float] | None = None  # for all records or for each; those of the study by default
    fn_cost: float | list[float] | None = None
    reasons: int = Field(default=3, ge=0, le=20)


class Answer(BaseModel):
    """What to do with a record, and why."""

    decision: str
    probability: float
    threshold: float
    expected_saving: float
    reasons: list[str]


def make_app(model: Any) -> FastAPI:
    """Return a service for a model of a study."""
    app = FastAPI(title="Decisions")

    @app.get("/health")
    def health() -> dict[str, Any]:
        return {"stakes": stakes.__version__, "columns": list(model.features)}

    @app.post("/decide")
    def decide(request: Request) -> list[Answer]:
        costs = {"fp_cost": request.fp_cost, "fn_cost": request.fn_cost}
        try:
            frame = pl.DataFrame(request.records, infer_schema_length=None)
            decided = model.decide(frame, **costs)
            explanation = model.explain(frame, **costs)
        except (ValueError, TypeError) as error:  # a column is missing, a text where numbers are expected, no costs ...
            raise HTTPException(status_code=422, detail=str(error)) from None
        words = explanation.reasons(request.reasons)
        return [
            Answer(
                decision=str(model.labels[int(positive)]),
                probability=probability,
                threshold=threshold,
                expected_saving=saving if positive else 0.0,
                reasons=mine,
            )
            for positive, probability, threshold, saving, mine in zip(
                decided.positive, decided.probability, decided.threshold, explanation.saving, words, strict=True
            )
        ]

    return app


def app_from_environment() -> FastAPI:
    """Return a service for the model that the environment names."""
    return make_app(load(os.environ["STAKES_MODEL"]))
