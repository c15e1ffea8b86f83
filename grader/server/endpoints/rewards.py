"""`POST /get_reward` for OpenRLHF's `--remote_rm_url`, `POST /remote_rm` for slime's `--rm-url`."""

import asyncio
import contextvars
import logging
import math
import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from grader.model.wire import json_bytes
from grader.process.repeats import Repeats
from grader.rewards.arguments import text_of
from grader.rewards.openrlhf import score_for_filter
from grader.rewards.sample import LOG_KEYS, Rating, Sample, ungraded
from grader.server.http.errors import REFUSALS
from grader.server.http.request_context import current_request
from grader.server.service import Service

_log = logging.getLogger(__name__)

_OLD_CLIENT = "python-requests/"
"""User agent of every client that uses requests, among them OpenRLHF up to 0.9.0.

A request does not tell these releases apart. 0.8.10 and 0.8.11 fail if the response has logs; the
others ignore them.
"""
_CANNOT_READ = (
    "a client that may be OpenRLHF up to 0.9.0 asked for rewards; OpenRLHF 0.8.3 to 0.8.9 fail on"
    " any HTTP response, since they pass its lists to torch.cat: run these with --remote_rm_url"
    " grader/reward_func.py and set GRADER_URL to this service"
)
_ONCE_S = 3600.0
_SLIME_WAITS_S = 110.0
"""slime's client gives up after 120 s, and ends the training after ten such timeouts."""


class RewardRequest(BaseModel):
    """The request of OpenRLHF: lists of equal length."""

    model_config = ConfigDict(frozen=True)

    query: list[str] = Field(description="prompt and response together, with special tokens")
    prompts: list[str | None] | None = Field(default=None, description="the start of each query")
    labels: list[Any] | None = Field(default=None, description="as they are in the dataset")


class RewardResponse(BaseModel):
    """Lists with a number for each query, also for queries that could not be graded."""

    rewards: list[float]
    scores: list[float] = Field(
        description="in [0, 1], for dynamic filtering; NaN for a sample that could not be graded"
        " if reward.drop_ungraded is set"
    )
    extra_logs: dict[str, list[float]] | None = Field(
        default=None, description="always the same keys; see the parameter `logs`"
    )


class RemoteRewardRequest(BaseModel):
    """The request of slime: one sample."""

    model_config = ConfigDict(frozen=True)

    prompt: str | list[Any] | None = Field(default=None, description="text, or messages")
    response: str
    label: Any = Field(default=None, description="as it is in the dataset")


def make_router(service: Service) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(tags=["trainers"])
    repeats = Repeats(every_s=_ONCE_S)

    @router.post(
        "/get_reward",
        summary="Rewards for OpenRLHF",
        response_model=None,
        responses={200: {"model": RewardResponse}, **REFUSALS},
    )
    async def get_reward(
        request: Request,
        body: Annotated[RewardRequest, Body()],
        logs: Annotated[
            bool | None,
            Query(description="whether to send extra_logs; default: to all but python-requests"),
        ] = None,
    ) -> Response:
        """Rate.

        A sample that could not be graded gets the neutral reward, and `graded` is 0 in its logs.
        OpenRLHF 0.8.3 to 0.8.9 cannot read this response, nor any other JSON.
        """
        samples = _samples(body)
        is_old = request.headers.get("user-agent", "").startswith(_OLD_CLIENT)
        if is_old and logs is None and repeats.is_due(_CANNOT_READ):
            _log.warning(_CANNOT_READ)
        ratings = await service.open_requests.wait(request, _rate(service, samples))
        columns = _columns(ratings, drop_ungraded=service.settings.reward.drop_ungraded)
        if not (logs or (logs is None and not is_old)):
            del columns["extra_logs"]
        return Response(json_bytes(columns), media_type="application/json")

    @router.post(
        "/remote_rm",
        summary="A reward for slime",
        response_model=float,
        responses=dict(REFUSALS),
    )
    async def remote_rm(request: Request, body: Annotated[RemoteRewardRequest, Body()]) -> float:
        """Rate one sample; one that could not be graded gets the neutral reward."""
        sample = Sample(query=body.response, prompt=text_of(body.prompt), label=body.label)
        rate = _rate(service, [sample], most_s=_SLIME_WAITS_S)
        (rating,) = await service.open_requests.wait(request, rate)
        return rating.reward

    return router


def _samples(body: RewardRequest) -> list[Sample]:
    number = len(body.query)
    for name, values in (("prompts", body.prompts), ("labels", body.labels)):
        if values and len(values) != number:
            reason = (
                f"body.{name} has {len(values)} items; expected {number}, as many as body.query"
            )
            raise HTTPException(422, reason)
    prompts = body.prompts or [None] * number
    labels = body.labels or [None] * number
    return [
        Sample(query=query, prompt=prompt or "", label=label)
        for query, prompt, label in zip(body.query, prompts, labels, strict=True)
    ]


async def _rate(
    service: Service, samples: list[Sample], *, most_s: float = math.inf
) -> list[Rating]:
    """Return a rating for each sample by the deadline, counted from the request's arrival."""
    context = current_request()
    arrived = time.monotonic() if context is None else context.arrived
    left_s = arrived + min(service.settings.reward.deadline_s, most_s) - time.monotonic()
    # In a copy of the context, so that the thread has the current request, too.
    copied = contextvars.copy_context()
    future = service.rating_threads.submit(copied.run, service.rewards.rate, samples)
    try:
        async with asyncio.timeout(max(0.001, left_s)):
            return await asyncio.wrap_future(future)
    except TimeoutError:
        if context is not None:
            await asyncio.to_thread(context.call.cancel)
        settings = service.settings.reward
        return [ungraded("not graded by the deadline", settings) for _ in samples]


def _columns(ratings: list[Rating], *, drop_ungraded: bool) -> dict[str, Any]:
    logs = [rating.all_logs() for rating in ratings]
    return {
        "rewards": [float(rating.reward) for rating in ratings],
        "scores": [score_for_filter(each, drop_ungraded=drop_ungraded) for each in ratings],
        "extra_logs": {key: [each[key] for each in logs] for key in LOG_KEYS},
    }
