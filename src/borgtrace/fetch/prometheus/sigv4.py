"""Requests to Amazon Managed Service for Prometheus, signed with the credentials that botocore finds."""

from collections.abc import Generator

import httpx

from borgtrace.errors import EngineError, UsageError

_SERVICE = "aps"


class SignedRequests(httpx.Auth):
    """Signs each request by Signature Version 4.

    Parameters
    ----------
    region
        Such as ``eu-central-1``.

    Raises
    ------
    EngineError
        botocore is not installed.
    UsageError
        It finds no credentials.
    """

    requires_request_body = True

    def __init__(self, region: str) -> None:
        try:
            from botocore.session import get_session
        except ImportError as error:
            raise EngineError(
                "--aws-region", "botocore is not installed", way_out="pip install botocore"
            ) from error
        self.region = region
        self.credentials = get_session().get_credentials()
        if self.credentials is None:
            raise UsageError(
                "--aws-region",
                "no credentials of Amazon",
                expected="those that the aws command uses",
                way_out="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            )

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the headers of the signature."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        # Only what no proxy changes is signed: the host, and what the signature adds itself.
        unsigned = AWSRequest(
            method=request.method,
            url=str(request.url),
            data=request.content,
            headers={"Host": request.headers["host"]},
        )
        # Frozen at each request: the keys of a role are renewed while a fetch runs.
        keys = self.credentials.get_frozen_credentials()
        SigV4Auth(keys, _SERVICE, self.region).add_auth(unsigned)
        for name, value in unsigned.headers.items():
            request.headers[name] = value
        yield request
