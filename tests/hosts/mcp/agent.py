#!/usr/bin/env python3
"""An agent on the official Python SDK: it asks, is told, mends and asks again.

    agent.py GHYLL PROJECT

PROJECT is an initialised project with an arrow A: a machine clause M that wants
the file `ready`, and an attested clause C. The operator is played at the command
line, as a person would. Exit status 0: everything was as it should be.
"""

import asyncio
import pathlib
import subprocess
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(ghyll, project):
    def operator(*words):
        subprocess.run(
            [ghyll, "attest", "A/C", *words, "--op-id", "alice"],
            cwd=project, check=True, stdout=subprocess.DEVNULL,
        )

    server = StdioServerParameters(command=ghyll, args=["mcp", "--dir", str(project)])
    async with Client(stdio_client(server)) as client:

        async def call(tool, **arguments):
            # The SDK holds what comes against the tool's own schema.
            result = await client.call_tool(tool, arguments)
            return result.is_error, result.structured_content

        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert names == ["status", "dispatch", "pending", "history", "explain"], names
        assert all(tool.output_schema for tool in tools)

        failed, refusal = await call("dispatch", arrow="B")
        assert failed and refusal["code"] == "arrow-unknown", refusal

        said = {"C": {"locations": ["work.txt:2"], "basis": "see two", "residue": ""}}
        failed, asked = await call("dispatch", arrow="A", evidence=said)
        assert not failed and asked["status"] == "blocked", asked
        assert asked["requested"] == ["att-A-C-v1"], asked
        assert "exit status: 3" in asked["reasons"][0]["run"]["detail"], asked

        waiting = asyncio.create_task(call("pending", wait_seconds=50))
        await asyncio.sleep(0.5)
        operator("fail", "--inspected", "work.txt:2", "--residue", "two is wrong")
        _, news = await waiting
        assert news["decided"][0]["verdict"] == "fail", news
        _, status = await call("status", arrow="A")
        verdict = status["arrows"][0]["reasons"][1]["verdict"]
        assert verdict["inspected"] == ["work.txt:2"], status
        assert verdict["residue"] == "two is wrong", status

        pathlib.Path(project, "ready").touch()
        _, asked = await call("dispatch", arrow="A")
        assert asked["pending"][0]["round"] == 2, asked
        records = "ghyll://attestations/A"
        async with client.listen(resource_subscriptions=[records]) as followed:
            operator("pass")
            event = await asyncio.wait_for(anext(aiter(followed)), 20)
            assert event.uri == records, event
        _, news = await call("pending", wait_seconds=50)
        assert news["decided"][0]["verdict"] == "pass", news
        _, status = await call("status")
        assert status["arrows"][0]["status"] == "complete", status
        _, history = await call("history", arrow="A", limit=1)
        assert [r["verdict"] for r in history["attestations"]] == ["pass"], history
        _, page = await call("explain", code="location-unknown")
        assert page["hint"], page

        uris = [str(r.uri) for r in (await client.list_resources()).resources]
        assert uris == ["ghyll://grid", "ghyll://attestations/A"], uris
        read = await client.read_resource("ghyll://attestations/A")
        assert len(read.contents[0].text.splitlines()) == 2, read


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve()))
