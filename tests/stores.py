"""An S3 server on this machine, for tests of what lies in an object store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "lake"
FORGETFUL = "forgetful"
"""Below this folder the server makes the odd versions of tables, and answers the first time that it could not."""
_SERVER = f"""
import re, sys, threading
import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
moto, one_at_a_time = DomainDispatcherApplication(create_backend_app), threading.Lock()
forgotten = set()
def app(environ, start_response):
    with one_at_a_time:  # moto looks whether a key is there and then puts it: S3 does both at once
        answer = list(moto(environ, start_response))
        path, changes = environ["PATH_INFO"], environ["REQUEST_METHOD"] == "PUT"
        commit = re.search("/{FORGETFUL}.*/_delta_log/[0-9]*[13579].json", path)
        if changes and commit and path not in forgotten:
            forgotten.add(path)
            start_response("500 Internal Server Error", [("Content-Length", "0")], True)
            return []
        return answer
server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
endpoint = "http://127.0.0.1:{{}}".format(server.server_port)
keys = dict(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
boto3.client("s3", endpoint_url=endpoint, **keys).create_bucket(Bucket="{BUCKET}")
print(endpoint, flush=True)
sys.stdin.read()
"""


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of an S3 server with one bucket, which ends with this process at the latest.

    It is a process of its own: delta-rs holds Python's lock while it waits for an answer.
    """
    command = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def reached_by(address: str) -> dict[str, str]:
    """The variables by which delta-rs finds a server."""
    return {
        "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
    }  # fmt: skip
