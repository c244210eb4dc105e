"""Adds the program that TENURE_BINARY names to a wheel, as a script."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BinaryHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        binary = Path(os.environ["TENURE_BINARY"]).resolve()
        if not os.access(binary, os.X_OK):
            raise SystemExit(f"TENURE_BINARY is {binary}, which is not a program")
        # The platform of a release says which C library the program needs.
        platform = os.environ.get("TENURE_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
        build_data["shared_scripts"][str(binary)] = "tenure"
