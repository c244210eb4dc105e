"""Hooks of schemathesis for what neither its configuration nor a JSON Schema can express."""

import os
import re

import schemathesis

SPAN = re.compile(r"\s*([0-9]+\s*(ms|s|m|h|d)\s*)+")


def fit(value):
    """Shortens spans, so that no claim waits for minutes and no sum overflows, and turns 1.0 into 1."""
    if isinstance(value, str) and SPAN.fullmatch(value):
        return "20ms"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: fit(member) for name, member in value.items()}
    if isinstance(value, list):
        return [fit(item) for item in value]
    return value


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if isinstance(case.body, (dict, list)):
        case.body = fit(case.body)
    # The run must not revoke its key.
    if case.operation.path == "/api/keys/{id}" and case.path_parameters.get("id") == os.environ["TENURE_FUZZ_KEY"]:
        case.path_parameters["id"] = "unknown"
