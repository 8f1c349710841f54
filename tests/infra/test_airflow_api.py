"""The client of Airflow's API: what a restart mends is waited for, what it does not is told at once."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra import airflow_api
from infra.airflow_api import AirflowApi
from infra.airflow_home import HOST, AirflowHome, free_port
from shedding.config import Settings
from shedding.errors import ConfigError

Handler = http.server.BaseHTTPRequestHandler
GOOD = b'{"is_paused": false}'


def answer(code: int, body: bytes, promised: int | None = None) -> Callable[[Handler], None]:
    """Answer with a code and a body, perhaps less of it than promised."""

    def act(handler: Handler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Length", str(len(body) if promised is None else promised))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def hang_up(handler: Handler) -> None:
    handler.close_connection = True


TROUBLES = {
    "an error": answer(500, b"database is locked"), "a bad gateway": answer(502, b""), "busy": answer(503, b""),
    "a lost connection": hang_up, "half an answer": answer(200, GOOD[:7], len(GOOD)),
    "half an error": answer(500, b"data", 100), "no JSON": answer(200, b"<html>"),
}  # fmt: skip


class Server:
    """Answers requests by the actions given, one after another, then well."""

    def __init__(self, port: int, *actions: Callable[[Handler], None]) -> None:
        self.asked: list[str] = []
        left = [*actions]

        class Answers(Handler):
            def do_GET(this) -> None:  # noqa: N802, N805
                this.rfile.read(int(this.headers.get("Content-Length") or 0))
                self.asked.append(f"{this.command} {this.path}")
                (left.pop(0) if left else answer(200, GOOD))(this)

            do_POST = do_PATCH = do_GET  # noqa: N815

            def log_message(this, *_: object) -> None:  # noqa: N805
                pass

        self.server = http.server.ThreadingHTTPServer((HOST, port), Answers)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AirflowApi:
    monkeypatch.setattr(airflow_api, "POLL_SECONDS", 0.05)
    return AirflowApi(AirflowHome(tmp_path, free_port(18080), Settings()), lambda: None)


@pytest.fixture
def serve(api: AirflowApi) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(*actions: Callable[[Handler], None]) -> Server:
        started.append(Server(api.home.port, *actions))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("method", ["GET", "PATCH", "POST"])
def test_what_passes_is_waited_for(api: AirflowApi, serve: Callable[..., Server], trouble: str, method: str) -> None:
    server = serve(TROUBLES[trouble], TROUBLES[trouble])
    assert api.call(method, "/x", {} if method != "GET" else None) == {"is_paused": False}
    assert server.asked == [f"{method} /x"] * 3


def test_a_server_that_is_being_started_again_is_waited_for(api: AirflowApi, serve: Callable[..., Server]) -> None:
    checks: list[float] = []
    api.alive = lambda: checks.append(time.monotonic())
    threading.Timer(0.5, serve).start()
    assert api.call("GET", "/x") == {"is_paused": False}
    assert len(checks) > 1  # who watches the services was asked meanwhile


def test_a_refusal_is_told_at_once_with_airflows_words(api: AirflowApi, serve: Callable[..., Server]) -> None:
    server = serve(answer(422, b"no such date"))
    with pytest.raises(ConfigError, match="answered 422 to GET /x: no such date"):
        api.call("GET", "/x")
    assert len(server.asked) == 1


def test_a_server_that_keeps_failing_or_never_comes_back_is_told_of(
    api: AirflowApi, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_api, "PATIENCE", 0.2)
    with pytest.raises(ConfigError, match=r"does not answer at http://127\.0\.0\.1"):
        api.call("GET", "/x")
    serve(*[TROUBLES["an error"]] * 1000)
    with pytest.raises(ConfigError, match="answered 500 to GET /x: database is locked"):
        api.call("GET", "/x")


def test_services_that_keep_dying_end_the_waiting(api: AirflowApi) -> None:
    def dead() -> None:
        raise ConfigError("Airflow's api-server ended with code 1")

    api.alive = dead
    with pytest.raises(ConfigError, match="ended with code 1"):
        api.call("GET", "/x")


def test_a_run_asked_for_twice_is_one_run(api: AirflowApi, serve: Callable[..., Server]) -> None:
    serve(TROUBLES["a lost connection"], answer(409, b"it is there already"))
    assert api.trigger("query_fares", {}).startswith("manual__")
