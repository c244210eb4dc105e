"""The worker: exports orders to a CSV file and stores it with the job."""

import csv
import io
from typing import Any, TypedDict

from tenure import Job, Partial, Worker

COLUMNS = ["number", "customer", "cents"]

worker = Worker(slots=1)


class Export(TypedDict):
    orders: list[dict[str, Any]]


@worker.on("export")
def export(job: Job[Export]) -> dict[str, int]:
    job.progress(25, "checking")
    orders = job.payload["orders"]
    good = [order for order in orders if isinstance(order.get("cents"), int)]
    if not good:
        raise ValueError("no order has an amount")

    job.progress(50, "writing")
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore")
    table.writeheader()
    table.writerows(good)

    job.progress(75, "storing")
    job.asset("orders.csv", text.getvalue().encode(), asset_type="export").result()

    result = {"asset_count": 1, "rows": len(good)}
    if len(good) < len(orders):
        # There is a file, but some orders are missing.
        message = f"{len(orders) - len(good)} of {len(orders)} orders have no amount"
        raise Partial("BAD_ORDERS", message, result=result)
    return result


worker.run()
