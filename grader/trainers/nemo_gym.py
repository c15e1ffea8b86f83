"""NeMo-Gym's resources server: `verify` grades the response of a rollout.

Written for nemo-gym 0.4. A server is a folder with an `app.py`, such as `examples/nemo_gym/app.py`:

    from grader.trainers.nemo_gym import server_class

    CodeServer = server_class()

    if __name__ == "__main__":
        CodeServer.run_webserver()

docs/trainers/nemo.md has its configuration.
"""

from collections.abc import Mapping
from typing import Any

from grader.model.errors import GraderError
from grader.rewards.arguments import text_of
from grader.rewards.sample import Rating, Sample
from grader.trainers.shared import dataset_of, label_of, rate_soon


def server_class() -> type:
    """Return the class of the server. Needs NeMo-Gym."""
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
                # The rollout fails. Otherwise it would count with a reward of 0.
                raise GraderError(rating.note)
            return CodeVerifyResponse(
                **body.model_dump(),
                reward=rating.reward,
                extracted_model_code=rating.answer,
                note=rating.note,
                accuracy=rating.score,
                graded=float(rating.graded),
            )

    # FastAPI looks up the names of annotations in this module.
    for each in (CodeServerConfig, CodeVerifyRequest, CodeVerifyResponse, CodeServer):
        each.__module__ = __name__
    return CodeServer


async def rated(answer: str, asked: object, row: Mapping[str, Any] | None) -> Rating:
    """Return the rating of a rollout's response.

    Args:
        answer: The response.
        asked: The conversation before it.
        row: `verifier_metadata` of the row, with the key `label`, the key `unit_tests` of
            NeMo-Gym's own code server, or the fields of a known format.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    metadata = dict(row or {})
    label = metadata.get("unit_tests") or label_of(metadata)
    sample = Sample(query=answer, prompt=text_of(asked), label=label, dataset=dataset_of(metadata))
    return await rate_soon(sample)
