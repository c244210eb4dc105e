"""The parts of the runner, and that the suite fails for a worker that deserves it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from runner import play
from runner.http import Address, Request, read_request, status_of
from runner.main import Suite, chosen
from runner.match import expanded, mismatch
from runner.play import Play
from runner.proxy import FAULTS, Fault, Proxy, kinds_of
from runner.scenario import Scenario, all_scenarios
from runner.sdk import HERE, Sdk, all_sdks
from runner.server import Server

BINARY = os.path.abspath(os.environ["TENURE_BINARY"])
# Of the scenarios that need nothing but a result, and of those that need more.
FAILING = [
    "success",
    "transient",
    "panic",
    "asset",
    "hard_cancel",
    "takeover",
    "lost_claim_answer",
    "lost_report_answer",
]
SUCCEED = {"worker": "w", "reports": [{"verb": "succeed"}]}


class Matching(unittest.TestCase):
    def test_only_the_expected_members_of_an_object_count(self) -> None:
        self.assertIsNone(mismatch({"a": 1, "b": {"c": [True]}}, {"a": 1, "b": {"c": [True], "d": 2}, "e": 3}))
        self.assertEqual(mismatch({"b": {"c": 1}}, {"b": {"c": 2}}), "b.c is 2, not 1")
        self.assertEqual(mismatch({"b": 1}, {}), "b is None, not 1")

    def test_a_list_has_the_same_length(self) -> None:
        self.assertIsNotNone(mismatch([1], [1, 2]))
        self.assertEqual(mismatch([{"a": 1}], [{"a": 2}]), "[0].a is 2, not 1")

    def test_texts_may_be_patterns(self) -> None:
        self.assertIsNone(mismatch(["~^a.c$", "*", "null", "x"], ["abc", 0, None, "x"]))
        for expected, actual in [("~^b", "abc"), ("*", None), ("null", 0), ("x", "y"), (1, True), (0, False)]:
            self.assertIsNotNone(mismatch(expected, actual), (expected, actual))

    def test_names_are_replaced_everywhere(self) -> None:
        self.assertEqual(expanded({"a": ["$n", "n"]}, {"n": "v"}), {"a": ["v", "n"]})
        with self.assertRaises(KeyError):
            expanded("$unknown", {})


class Reading(unittest.TestCase):
    def refused(self, text: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.toml"
            path.write_text(text)
            with self.assertRaises(ValueError) as caught:
                Scenario.read(path, Play)
        return str(caught.exception)

    def test_a_scenario_with_an_unknown_step_member_or_fault_is_refused(self) -> None:
        self.assertIn("step_jump", self.refused('about = ""\nsteps = [{ jump = "a" }]'))
        self.assertIn("mode", self.refused('about = ""\nsteps = [{ create = "a", mode = 1 }]'))
        self.assertIn("colour", self.refused('about = ""\nsteps = []\njobs.a.colour = "red"'))
        self.assertIn(
            "explode", self.refused('about = ""\nsteps = []\nworkers.w.faults = [{ on = "x", do = "explode" }]')
        )

    def test_the_readme_describes_every_scenario_step_and_fault(self) -> None:
        text = (HERE / "README.md").read_text()
        steps = [name.removeprefix("step_") for name in vars(Play) if name.startswith("step_")]
        for name in [*(scenario.name for scenario in all_scenarios(Play)), *steps, *FAULTS]:
            self.assertIn(f"`{name}`", text)

    def test_every_fault_is_used(self) -> None:
        used = {
            fault["do"] for each in all_scenarios(Play) for worker in each.workers.values() for fault in worker.faults
        }
        self.assertEqual(used, FAULTS.keys())

    def test_an_exception_of_an_sdk_is_in_its_readme(self) -> None:
        names = {scenario.name for scenario in all_scenarios(Play)}
        for sdk in all_sdks():
            for name in sdk.exceptions:
                self.assertIn(name, names)
                self.assertIn(f"`{name}`", (sdk.folder / "README.md").read_text())

    def test_parts_are_chosen_by_name(self) -> None:
        sdks, scenarios = all_sdks(), all_scenarios(Play)
        pairs = chosen(["python", "success", "panic"], sdks, scenarios)
        self.assertEqual([(sdk.name, each.name) for sdk, each in pairs], [("python", "panic"), ("python", "success")])
        self.assertEqual(len(chosen([], sdks, scenarios)), len(sdks) * len(scenarios))
        with self.assertRaises(SystemExit):
            chosen(["cobol"], sdks, scenarios)


class Requests(unittest.TestCase):
    def test_kinds(self) -> None:
        def kinds(method: str, path: str, body: object = None) -> set[str]:
            headers = {"content-type": "application/json"}
            return kinds_of(Request(method, path, headers, json.dumps(body).encode()))

        self.assertEqual(kinds("POST", "/api/claims"), {"claim"})
        self.assertEqual(
            kinds("POST", "/api/reports", {"reports": [{"verb": "fail"}, {"verb": "progress"}]}), {"fail", "progress"}
        )
        self.assertEqual(kinds("POST", "/api/jobs/1/assets?name=a"), {"assets"})
        self.assertEqual(kinds("POST", "/api/jobs/batch"), {"batch"})
        self.assertEqual(kinds("GET", "/api/jobs/1"), {"other"})


class Faults(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.received = 0
        self.upstream = await asyncio.start_server(self.serve, "127.0.0.1", 0)

    async def asyncTearDown(self) -> None:
        self.upstream.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        self.received += 1
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    def address(self) -> Address:
        address: Address = self.upstream.sockets[0].getsockname()
        return address

    async def got(self, do: str, answers: int = 1, is_cut: bool = False) -> tuple[str, int]:
        """What a client gets through a proxy with this fault, and how many requests the server gets."""
        self.received = 0
        proxy = Proxy(self.address, [Fault(on="succeed", do=do, ms=200, status=502, body="")])
        await proxy.start()
        if is_cut:
            proxy.cut()
        host, port = proxy.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps(SUCCEED).encode()
        head = f"POST /api/reports HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        try:
            read = [await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 0.5) for _ in range(answers)]
            return " ".join(str(status_of(each)) for each in read), self.received
        except (TimeoutError, ConnectionError) as error:
            return type(error).__name__, self.received
        finally:
            writer.close()
            await proxy.close()

    async def test_each_fault_does_what_it_says(self) -> None:
        self.assertEqual(await self.got("reset_request"), ("ConnectionResetError", 0))
        self.assertEqual(await self.got("reset_answer"), ("ConnectionResetError", 1))
        self.assertEqual(await self.got("drop_request"), ("TimeoutError", 0))
        self.assertEqual(await self.got("drop_answer"), ("TimeoutError", 1))
        self.assertEqual(await self.got("double_request"), ("200", 2))
        self.assertEqual(await self.got("double_answer", answers=2), ("200 200", 1))
        self.assertEqual(await self.got("answer"), ("502", 0))

    async def test_delays(self) -> None:
        for do in ["delay_request", "delay_answer"]:
            start = time.monotonic()
            self.assertEqual(await self.got(do), ("200", 1))
            self.assertGreater(time.monotonic() - start, 0.2)

    async def test_nothing_passes_a_cut_proxy(self) -> None:
        self.assertEqual(await self.got("delay_answer", is_cut=True), ("TimeoutError", 0))

    async def test_a_fault_applies_to_some_requests_of_its_kind(self) -> None:
        fault = Fault(on="claim", do="reset_answer", times=2, skip=1)
        self.assertEqual([fault.applies({"claim"}) for _ in range(4)], [False, True, True, False])
        self.assertFalse(Fault(on="claim", do="reset_answer").applies({"succeed"}))


class Judging(unittest.IsolatedAsyncioTestCase):
    """Scenarios fail for a worker that does only what the ordinary case needs."""

    async def test_a_worker_without_care_fails(self) -> None:
        sdk = Sdk("naive", [sys.executable, "-m", "tests.naive_worker"], HERE, names={"panic_code": "ERROR"})
        suite = Suite(BINARY, Server(BINARY))
        scenarios = [each for each in all_scenarios(Play) if each.name in FAILING]
        with mock.patch.object(play, "STEP_SECONDS", 3), contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                await suite.shared.start()
                await suite.run([(sdk, each) for each in scenarios])
            finally:
                await suite.shared.remove()
        self.assertEqual((suite.passed, suite.failed), (0, len(FAILING)), printed.getvalue())
        # It does the ordinary case, but does not drain.
        self.assertIn("drain at the end: worker w ended with -15", printed.getvalue())
