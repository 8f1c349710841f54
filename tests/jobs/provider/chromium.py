"""A real Chromium, driven by its DevTools protocol: as much as looking at a page needs."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PATIENCE = 60.0
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-background-networking", "--remote-debugging-port=0")  # fmt: skip


class Browser:
    """One tab; remembers every request it made and every error it told of."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._last, self._session = socket, 0, ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str) -> None:
        """Go to a page and wait until it is loaded."""
        self._loaded = False
        self.call("Page.navigate", url=url)
        self.wait_loaded()

    def wait_loaded(self) -> None:
        """Wait for the end of a load that something has begun."""
        while not self._loaded:
            self._next()

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def act(self, script: str) -> None:
        """Run what leads to another page, and wait for it."""
        self._loaded = False
        self.run(script)
        self.wait_loaded()

    def hover(self, selector: str, part: float = 0.5) -> None:
        """Move the pointer over an element, so far from its left."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        box = self.run(f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
                       "return [b.left, b.top, b.width, b.height]; })()")  # fmt: skip
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + part * box[2], y=box[1] + box[3] / 2)

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Set the window's size and the colours that the user likes."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, file: Path, whole: bool = True) -> None:
        """Keep a picture of the page."""
        file.parent.mkdir(parents=True, exist_ok=True)
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(made["data"]))

    def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=PATIENCE))
        told, about = message.get("method"), message.get("params", {})
        if told == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif told == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif told == "Runtime.exceptionThrown":
            self.errors.append(about["exceptionDetails"]["text"])
        elif told == "Page.loadEventFired":
            self._loaded = True
        return message


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own, gone at the end."""
    program = shutil.which("chromium")
    assert program, "chromium is missing; infra/setup.sh installs Debian's"
    profile = Path(tempfile.mkdtemp(prefix="sluice-chromium-"))
    process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={profile}"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        with connect(_address(profile / "DevToolsActivePort", process), max_size=None) as socket:
            yield Browser(socket)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        assert process.poll() is None, "chromium ended at once"
        lines = file.read_text().split("\n") if file.exists() else []
        if len(lines) > 1:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.1)
    raise TimeoutError("chromium did not start")
