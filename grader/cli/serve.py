"""`grader serve`."""

from typing import Annotated

import typer

from grader.cli.options import (
    BrokerOption,
    IntegrityOption,
    SandboxOption,
    SetOption,
    SlotsOption,
    choose,
)
from grader.model.errors import ConfigurationError


def serve(
    *,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where to listen. [default: 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="The port; 0 for any free port. [default: 8080]"),
    ] = None,
    broker: BrokerOption = None,
    sandbox: SandboxOption = None,
    slots: SlotsOption = None,
    require_integrity: IntegrityOption = None,
    set_: SetOption = None,
) -> None:
    """Serve over HTTP, until SIGTERM or Ctrl-C.

    Endpoints for trainers: `/get_reward` (OpenRLHF) and `/run_code` (SandboxFusion's, for verl);
    for all other clients: `/v1/grade`. The page `/docs` describes them, and docs/server.md has
    more. The page `/` shows the state of the service, and why samples got their rewards.

    Grades in slots of this process or, with a broker, on the workers of its queue. To be reached
    from other machines, the service needs a token: set GRADER_SERVER_TOKEN.

    **Examples**

        grader serve
        GRADER_SERVER_TOKEN=... grader serve --host 0.0.0.0 --broker redis://queue.example:6379/0
    """
    own = [
        f"server.{name}={value}"
        for name, value in (("host", host), ("port", port))
        if value is not None
    ]
    settings = choose(
        [*(set_ or ()), *own],
        broker=broker,
        sandbox=sandbox,
        slots=slots,
        require_integrity=require_integrity,
    ).settings
    try:
        from grader.server.serve import serve as serve_settings
    except ImportError as error:
        message = f"serving needs the extra: pip install 'grader-rl[server]' ({error})"
        raise ConfigurationError(message) from error
    serve_settings(settings)
