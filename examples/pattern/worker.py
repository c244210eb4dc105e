"""The worker: exports orders to a CSV file and stores it with the job."""

import csv
import io
import os

from tenure import work

COLUMNS = ["number", "customer", "cents"]


def export(job):
    job.report("progress", progress=25, message="checking")
    orders = job.payload["orders"]
    good = [order for order in orders if isinstance(order.get("cents"), int)]
    if not good:
        raise ValueError("no order has an amount")

    job.report("progress", progress=50, message="writing")
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore")
    table.writeheader()
    table.writerows(good)

    job.report("progress", progress=75, message="storing")
    job.upload("export", "orders.csv", text.getvalue().encode())

    result = {"asset_count": 1, "rows": len(good)}
    if len(good) == len(orders):
        job.report("succeed", result=result)
    else:
        # Partial success: there is a file, but some orders are missing.
        message = f"{len(orders) - len(good)} of {len(orders)} orders have no amount"
        job.report("partial", result=result, error={"code": "BAD_ORDERS", "message": message})


work(f"exporter-{os.getpid()}", {"export": export})
