"""The SDKs under test, from `sdks.toml`: how each test worker is prepared and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Sdk:
    name: str
    command: list[str]
    folder: Path
    """The working folder of the worker."""
    prepare: list[str] | None = None
    names: dict[str, str] = field(default_factory=dict)
    """Values of `$name` in scenarios that differ between languages."""
    exceptions: dict[str, str] = field(default_factory=dict)
    """Scenarios that this SDK does not pass, with the reason."""

    def run_prepare(self) -> None:
        if self.prepare:
            environment = os.environ | {"CARGO_TARGET_DIR": str(target())}
            subprocess.run(self.prepare, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
        if shutil.which(self.command[0]) is None:
            raise SystemExit(f"{self.command[0]} is missing: run `cargo xtask conformance`, which builds it")


def target() -> Path:
    """Cargo's target folder."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def all_sdks(path: Path = HERE / "sdks.toml") -> list[Sdk]:
    def replaced(words: list[str]) -> list[str]:
        return [word.replace("{target}", str(target())) for word in words]

    sdks = []
    for name, fields in tomllib.loads(path.read_text()).items():
        fields["command"] = replaced(fields["command"])
        fields["folder"] = ROOT / fields["folder"]
        sdks.append(Sdk(name, **fields))
    return sdks
