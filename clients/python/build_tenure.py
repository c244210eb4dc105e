"""The build backend (PEP 517). `pip install` of this folder brings the SDK and the program `tenure`.

With TENURE_BINARY set to a program that exists, hatchling packs that one. Otherwise maturin builds it from the crate in
this repository, which needs Rust and takes some minutes. An editable installation has no program.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

Settings = dict[str, Any] | None

_REQUIREMENTS = {"hatchling.build": "hatchling>=1.27,<2", "maturin": "maturin>=1.8,<2"}


def _backend(editable: bool = False) -> str:
    return "hatchling.build" if editable or os.environ.get("TENURE_BINARY") else "maturin"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [_REQUIREMENTS[_backend()]]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [_REQUIREMENTS["hatchling.build"], "editables>=0.5"]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    name: str = importlib.import_module(_backend()).build_wheel(wheel_directory, config_settings)
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    name: str = importlib.import_module(_backend(editable=True)).build_editable(wheel_directory, config_settings)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """With the sources of the program, so that it can be built from them."""
    name: str = importlib.import_module("maturin").build_sdist(sdist_directory, config_settings)
    return name


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return [_REQUIREMENTS["maturin"]]
