"""`POST /get_reward`: rewards for OpenRLHF, as its `--remote_rm_url` wants them."""

import asyncio
import contextvars
import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from grader.rewards.sample import LOG_KEYS, Rating, Sample, ungraded
from grader.server.engine import Engine
from grader.server.problem import REFUSALS
from grader.server.visit import current_visit
from grader.wire import json_bytes


class RewardRequest(BaseModel):
    """What OpenRLHF sends: lists of one length."""

    model_config = ConfigDict(frozen=True)

    query: list[str] = Field(description="prompt and response together, special tokens and all")
    prompts: list[str | None] | None = Field(default=None, description="what each query began with")
    labels: list[Any] | None = Field(default=None, description="as the dataset holds them")


class RewardResponse(BaseModel):
    """One number for each query in every list, whatever happened."""

    rewards: list[float]
    scores: list[float] = Field(description="in [0, 1], for dynamic filtering")
    extra_logs: dict[str, list[float]] = Field(description="always the same keys")


def make_router(engine: Engine) -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(tags=["trainers"])

    @router.post(
        "/get_reward",
        summary="Rewards for OpenRLHF",
        response_model=None,
        responses={200: {"model": RewardResponse}, **REFUSALS},
    )
    async def get_reward(request: Request, body: Annotated[RewardRequest, Body()]) -> Response:
        """Rate.

        A sample that could not be graded gets the neutral reward, and `graded` is 0 in its logs.
        """
        samples = _samples(body)
        ratings = await engine.attendance.wait(request, _rate(engine, samples))
        return Response(json_bytes(_columns(ratings)), media_type="application/json")

    return router


def _samples(body: RewardRequest) -> list[Sample]:
    number = len(body.query)
    for name, values in (("prompts", body.prompts), ("labels", body.labels)):
        if values and len(values) != number:
            reason = f"body.{name}: {len(values)} of them for {number} of query"
            raise HTTPException(422, reason)
    prompts = body.prompts or [None] * number
    labels = body.labels or [None] * number
    return [
        Sample(query=query, prompt=prompt or "", label=label)
        for query, prompt, label in zip(body.query, prompts, labels, strict=True)
    ]


async def _rate(engine: Engine, samples: list[Sample]) -> list[Rating]:
    """Return a rating for each sample by the deadline, that of its arrival counted."""
    visit = current_visit()
    arrived = time.monotonic() if visit is None else visit.arrived
    left_s = arrived + engine.settings.reward.deadline_s - time.monotonic()
    # The thread must know on whose behalf it grades.
    context = contextvars.copy_context()
    future = engine.rating_threads.submit(context.run, engine.rewards.rate, samples)
    try:
        async with asyncio.timeout(max(0.001, left_s)):
            return await asyncio.wrap_future(future)
    except TimeoutError:
        if visit is not None:
            await asyncio.to_thread(visit.give_up)
        neutral = engine.settings.reward.neutral
        return [ungraded("no turn by the deadline", neutral) for _ in samples]


def _columns(ratings: list[Rating]) -> dict[str, Any]:
    logs = [rating.all_logs() for rating in ratings]
    return {
        "rewards": [float(rating.reward) for rating in ratings],
        "scores": [float(rating.score) for rating in ratings],
        "extra_logs": {key: [each[key] for each in logs] for key in LOG_KEYS},
    }
