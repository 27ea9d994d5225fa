"""What the kernel adds, where it offers it, beneath the audit hook."""

from __future__ import annotations

import json

import pytest

PACK = """
import ctypes, os
def list_tools(): return []
def reset(*, ctx, fixtures=None): pass
def call_tool(name, arguments, *, ctx):
    {body}
def get_state(): return {{}}
"""


def look(packs, episode, body, layer):
    oracle = packs.oracle(PACK.format(body=body))
    if not oracle.isolation()[layer]:
        pytest.skip(f"this kernel grants no {layer}")
    return oracle.run([episode()])[0]


def test_files_outside_the_pack_and_the_interpreter_cannot_be_read(packs, episode, tmp_path):
    (tmp_path / "secret").write_text("x")
    result = look(packs, episode, f"return {{'x': open({str(tmp_path / 'secret')!r}).read()}}", "landlock")
    assert result.breakdown is not None
    assert result.breakdown.code == "tool_raised"
    assert result.breakdown.message.startswith("PermissionError: [Errno 13] Permission denied")


def test_a_write_that_passes_the_hook_by_is_refused_by_the_kernel(packs, episode, tmp_path):
    body = f"return {{'x': ctypes.CDLL(None).open({str(tmp_path / 'note').encode()!r}, os.O_CREAT | os.O_WRONLY)}}"
    assert look(packs, episode, body, "landlock").results == ('{"x":-1}',)
    assert not (tmp_path / "note").exists()


def test_there_is_no_network_interface_but_a_dead_loopback(packs, episode):
    body = "import socket; return {'names': [name for _, name in socket.if_nameindex()], 'host': os.uname().nodename}"
    result = look(packs, episode, body, "network_namespace")
    assert json.loads(result.results[0]) == {"names": ["lo"], "host": "world-a"}


def test_limits_are_those_documented(packs, episode):
    body = (
        "import resource; return {'x': [resource.getrlimit(n)[0] for n in (resource.RLIMIT_AS, resource.RLIMIT_CORE)]}"
    )
    assert look(packs, episode, body, "rlimits").results == ('{"x":[4294967296,0]}',)
