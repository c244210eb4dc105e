"""What schemathesis is told besides its configuration: the few things that a JSON Schema cannot say."""

import os
import re

import schemathesis

SPAN = re.compile(r"\s*([0-9]+\s*(ms|s|m|h|d)\s*)+")


def fit(value):
    """Spans are short, so that no claim waits for minutes and no sum is too large; 1.0 is not a whole number here."""
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
    # The key in whose name the run asks.
    if case.operation.path == "/api/keys/{id}" and case.path_parameters.get("id") == os.environ["TENURE_FUZZ_KEY"]:
        case.path_parameters["id"] = "nobody"
