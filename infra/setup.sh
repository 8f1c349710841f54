#!/usr/bin/env bash
# Everything a fresh machine needs, each step skipped when it is already done:
# uv, the virtual environment with the locked packages, Java 17 or newer, Delta's jars; for tests Chromium and promtool.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '[setup] %s\n' "$*"; }
fail() { printf '[setup] error: %s\n' "$*" >&2; exit 2; }

PYTHON=${PYTHON:-python3.11}
command -v "$PYTHON" >/dev/null 2>&1 || PYTHON=python3
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
    fail "Python 3.11 is needed and '$PYTHON' is not it; install python3.11 or run: make PYTHON=/path/to/python3.11 setup"

java_works() {
    "$1" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | { read -r major && [ "${major:-0}" -ge 17 ]; }
}

find_java() {
    local candidate
    for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
        [ -n "$candidate" ] && [ -x "$candidate" ] && java_works "$candidate" && { echo "$candidate"; return 0; }
    done
    return 1
}

if ! find_java >/dev/null; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        step "no Java 17 found: installing openjdk-17-jre-headless with apt"
        (apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless) >/dev/null ||
            fail "apt could not install openjdk-17-jre-headless; install any Java 17 or newer and run again"
    else
        fail "Java 17 or newer is missing; install it (Debian/Ubuntu: sudo apt-get install openjdk-17-jre-headless) and run again"
    fi
    find_java >/dev/null || fail "Java was installed but does not run; set JAVA_HOME to a Java 17 or newer"
fi

# What only tests use: a browser for the page, promtool for its alerts.
for tool in chromium:chromium promtool:prometheus; do
    command -v "${tool%%:*}" >/dev/null 2>&1 && continue
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        step "no ${tool%%:*} found: installing ${tool##*:} with apt"
        (apt-get update -qq && apt-get install -y -qq --no-install-recommends "${tool##*:}") >/dev/null 2>&1 ||
            step "apt could not install ${tool##*:}; make test needs it, make run does not"
    else
        step "${tool%%:*} is missing; make test needs it (Debian/Ubuntu: sudo apt-get install ${tool##*:}), make run does not"
    fi
done

if [ ! -x .venv/bin/python ]; then
    step "creating .venv"
    "$PYTHON" -m venv .venv || fail "'$PYTHON -m venv' failed; on Debian/Ubuntu install python3.11-venv"
fi
wanted="$(cat infra/requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1)"
if [ "$(cat .venv/.locked 2>/dev/null || true)" != "$wanted" ]; then
    [ -x .venv/bin/uv ] || { step "installing uv"; .venv/bin/python -m pip install -q "$(grep '^uv==' infra/requirements.lock)"; }
    step "installing the locked packages"
    .venv/bin/uv pip sync -q --python .venv/bin/python infra/requirements.lock
    .venv/bin/uv pip install -q --python .venv/bin/python --no-deps -e .
    echo "$wanted" > .venv/.locked
fi

jars="$(grep -E '^(delta-spark|pyspark)==' infra/requirements.lock)"
if [ "$(cat .jars/.complete 2>/dev/null || true)" != "$jars" ]; then
    step "fetching Delta's jars into .jars"
    .venv/bin/python infra/jars.py
    echo "$jars" > .jars/.complete
fi
step "ready"
