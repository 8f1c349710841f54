"""`sluice profile`: how a dataset's rows spread over keys and windows, and what that means for shedding."""

from __future__ import annotations

import argparse


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command is added here."""
