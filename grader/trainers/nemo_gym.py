"""NeMo-Gym's resources server: `verify` grades the answer of a rollout.

Written for nemo-gym 0.4. A server is a folder with an `app.py`; `examples/nemo_gym/app.py` is one:

    from grader.trainers.nemo_gym import server_class

    CodeServer = server_class()

    if __name__ == "__main__":
        CodeServer.run_webserver()

docs/trainers/nemo.md has its configuration.
"""

from collections.abc import Mapping
from typing import Any

from grader.model.errors import GraderError
from grader.rewards.sample import Rating, Sample
from grader.trainers.shared import label_of, rate_soon, text_of


def server_class() -> type:
    """Return the class of the server, and of what it takes and gives. Needs NeMo-Gym."""
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseVerifyRequest,
        BaseVerifyResponse,
        SimpleResourcesServer,
    )

    class CodeServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]
        raise_ungraded: bool = True

    class CodeVerifyRequest(BaseVerifyRequest):  # type: ignore[misc]
        verifier_metadata: dict[str, Any] | None = None

    class CodeVerifyResponse(BaseVerifyResponse):  # type: ignore[misc]
        verifier_metadata: dict[str, Any] | None = None
        extracted_model_code: str | None = None
        note: str = ""
        accuracy: float = 0.0
        graded: float = 0.0

    class CodeServer(SimpleResourcesServer):  # type: ignore[misc]
        config: CodeServerConfig

        async def verify(self, body: CodeVerifyRequest) -> CodeVerifyResponse:
            asked = body.responses_create_params.model_dump().get("input")
            rating = await rated(body.response.output_text, asked, body.verifier_metadata)
            if self.config.raise_ungraded and not rating.graded:
                # The rollout fails, rather than to count as worth nothing.
                raise GraderError(rating.note)
            return CodeVerifyResponse(
                **body.model_dump(),
                reward=rating.reward,
                extracted_model_code=rating.answer,
                note=rating.note,
                accuracy=rating.score,
                graded=float(rating.graded),
            )

    # Where FastAPI looks up what the annotations name.
    for each in (CodeServerConfig, CodeVerifyRequest, CodeVerifyResponse, CodeServer):
        each.__module__ = __name__
    return CodeServer


async def rated(answer: str, asked: object, row: Mapping[str, Any] | None) -> Rating:
    """Return the rating of a rollout's answer.

    Args:
        answer: What the model said last.
        asked: The conversation before.
        row: `verifier_metadata` of the row: its key `label`, or `unit_tests`, as NeMo-Gym's own
            server of code has it, or the fields of a known format.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    metadata = dict(row or {})
    label = metadata.get("unit_tests") or label_of(metadata)
    return await rate_soon(Sample(query=answer, prompt=text_of(asked), label=label))
