"""Play a published table against its pack without a line of this project: `python -I independent_replay.py RUN PACK`.

Only the pack's own contract is used: import `backend.py`, `reset`, `call_tool`. Prints what was compared and every
disagreement as one JSON object; a row agrees when each expected call gets the very answer its conversation shows.
"""

import json
import pathlib
import sys
import types

import pyarrow.parquet


def main(run, pack):
    sys.path.insert(0, pack)
    sys.dont_write_bytecode = True
    import backend

    clock = json.loads(pathlib.Path(run, "run_manifest.json").read_bytes())["oracle_clock"]
    fixtures = pathlib.Path(pack, "fixtures.json").read_bytes()
    calls, wrong = 0, []
    rows = pyarrow.parquet.read_table(f"{run}/benchmark.parquet").to_pylist()
    for row in rows:

        def context(turn, row=row):
            return types.SimpleNamespace(
                clock=clock, seed=row["seed"], task_id=row["task_id"], timeout_s=5.0, turn_index=turn
            )

        answers = {
            message["tool_call_id"]: message["content"] for message in row["messages"] if message["role"] == "tool"
        }
        wired = [call for message in row["messages"] for call in message["tool_calls"] or ()]
        expected = row["expected_tool_calls"]
        if len(wired) != len(expected) or len(answers) != len(expected):
            wrong.append([row["task_id"], "calls and answers do not pair"])
            continue
        backend.reset(ctx=context(0), fixtures=json.loads(fixtures))
        for wire, call in zip(wired, expected, strict=True):
            arguments = {name: json.loads(value) for name, value in call["arguments"]}
            named = (wire["function"]["name"], json.loads(wire["function"]["arguments"]))
            answer = backend.call_tool(call["function_name"], arguments, ctx=context(call["turn_index"]))
            calls += 1
            if named != (call["function_name"], arguments) or answer != json.loads(answers[wire["id"]]):
                wrong.append([row["task_id"], wire["id"]])
    print(json.dumps({"rows": len(rows), "calls": calls, "wrong": wrong}))


main(sys.argv[1], sys.argv[2])
