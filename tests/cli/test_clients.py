# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""env, run and connect on homes with real-looking configurations."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from conftest import BIN, TIMEOUT

HERE = "http://127.0.0.1:7717"
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  // what I work with
  "model": "anthropic/claude-opus-5",
  "provider": {
    "cerebras": { "options": { "apiKey": "{env:CEREBRAS_API_KEY}" } }, // fast
    "local": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "llama.cpp // not a comment",
      "options": {
        "baseURL": "http://127.0.0.1:8080/v1", /* at home */
      },
    },
    "mine": { "options": { "baseURL": "https://llm.example.com/v1" } },
    "odd": { "options": { "baseURL": "{env:ODD_URL}/v1" } },
  },
}
"""
CLAUDE = """{
    "permissions": {"allow": ["Bash(ls:*)"]},
    "env": {
        "ANTHROPIC_API_KEY": "sk-ant-not-a-real-one",
        "ZED": "1"
    },
    "model": "opus"
}
"""
CODEX = """# my codex
model = "gpt-5.6-sol"
approval_policy = "never"   # brave

[profiles.fast]
model = "x"
"""
CODEX_OTHER = """model_provider = "zai"

[model_providers.other]
base_url = "https://other.example.com/v1"

[model_providers.zai]
name = "Z.AI"
base_url = 'https://api.z.ai/api/paas/v4' # coding
env_key = "ZAI_API_KEY"
"""


@pytest.fixture
def place(home):
    """Writes the file of one client; gives its path."""
    def write(client, text):
        path = home.path / {"opencode": ".config/opencode/opencode.jsonc",
                            "claude": ".claude/settings.json",
                            "codex": ".codex/config.toml"}[client]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    return write


def plain(jsonc):
    """JSONC as these examples hold it, without comments and last commas."""
    text = jsonc.replace("llama.cpp // not a comment", "llama.cpp")
    text = re.sub(r"(?m)(?<=[,{}\s])//.*$|/\*.*?\*/", "", text)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def environment(home, *args, env=None):
    done = home.run("env", "--json", *args, env=env)
    assert done.returncode == 0
    return json.loads(done.stdout), done.stderr


def test_env_is_read_back_by_a_shell(home, place):
    """What eval makes of it is what --json says, quotes and all."""
    place("opencode", '{"provider": {"it\'s": {"options": '
          '{"baseURL": "https://api.groq.com/openai/v1"}}}}')
    told, _ = environment(home)
    script = 'eval "$(%s env)"; exec env -0' % BIN
    done = subprocess.run(["/bin/sh", "-c", script], env=home.env, text=True,
                          stdout=subprocess.PIPE, timeout=TIMEOUT)
    shell = dict(v.split("=", 1) for v in done.stdout.split("\0") if v)
    for name, value in told.items():
        assert shell[name] == value
    assert told["OPENCODE_BASE_URL"] == HERE
    assert told["ANTHROPIC_BASE_URL"] == HERE + "/anthropic"
    assert told["OPENAI_BASE_URL"] == HERE + "/api.openai.com/v1"
    assert told["GOOGLE_GEMINI_BASE_URL"] == HERE + "/gemini"
    assert told["ENABLE_TOOL_SEARCH"] == "true"
    content = json.loads(told["OPENCODE_CONFIG_CONTENT"])
    assert content["provider"]["it's"]["options"]["baseURL"] == \
        "{env:OPENCODE_BASE_URL}/groq/openai/v1"
    unset = home.run("env", "--unset").stdout
    assert set(unset.split()) - {"unset"} == set(told)


def test_env_names_the_providers_in_use(home, place):
    """Those of the configuration, of the models, of the keys; no others, for
    naming one makes opencode offer it."""
    place("opencode", OPENCODE)
    told, said = environment(home, env={"GROQ_API_KEY": "x"})
    providers = json.loads(told["OPENCODE_CONFIG_CONTENT"])["provider"]
    assert {name: p["options"]["baseURL"].replace("{env:OPENCODE_BASE_URL}",
                                                  "")
            for name, p in providers.items()} == {
        "anthropic": "/anthropic/v1", "cerebras": "/cerebras/v1",
        "groq": "/groq/openai/v1", "local": "/llamacpp/v1",
        "opencode": "/opencode/zen/v1"}
    assert 'upstream mine { url = "https://llm.example.com/v1" }' in said
    assert "provider odd: left alone" in said


def test_env_keeps_what_is_set(home):
    set_already = {
        "ANTHROPIC_BASE_URL": "https://api.z.ai/api/anthropic",
        "OPENAI_BASE_URL": "https://llm.example.com/v1",
        "OPENCODE_CONFIG_CONTENT": '{"theme": "x", /* y */}',
        "HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "intranet"}
    told, said = environment(home, env=set_already)
    assert told["ANTHROPIC_BASE_URL"] == \
        HERE + "/zai-anthropic/api/anthropic"
    assert "ENABLE_TOOL_SEARCH" not in told
    assert "OPENAI_BASE_URL" not in told
    assert "OPENAI_BASE_URL at https://llm.example.com/v1" in said
    assert json.loads(told["OPENCODE_CONFIG_CONTENT"])["theme"] == "x"
    assert told["NO_PROXY"] == "intranet,127.0.0.1,localhost"
    again, _ = environment(home, env={**set_already, **told})
    assert again["ANTHROPIC_BASE_URL"] == told["ANTHROPIC_BASE_URL"]


def test_run_says_why_no_daemon_comes_up(home):
    home.listen(1)
    home.database.write_bytes(b"no database" * 500)
    done = home.run("run", "true")
    assert done.returncode == 3
    assert "does not answer at 127.0.0.1:1" in done.stderr
    assert "cannot" in done.stderr.splitlines()[-1]


def test_run_says_that_it_cannot_write(home):
    home.listen(1)
    (home.state / "serve.log").mkdir()
    done = home.run("run", "true")
    assert done.returncode == 1
    assert "no daemon can be started: %s: Is a directory" % (
        home.state / "serve.log") in done.stderr


def test_project_of_the_folder(home):
    """`.` means the same to run, env and connect."""
    done = home.run("env", "--project", ".", cwd=home.path)
    assert "/~p=home/" in done.stdout and "/~p=./" not in done.stdout
    done = home.run("connect", "codex", "--yes", "--project", ".",
                    cwd=home.path)
    assert "/~p=home/" in done.stdout and "/~p=./" not in done.stdout


def test_env_of_a_project_and_of_a_token(home):
    told, _ = environment(home, "--project", "a b")
    assert told["ANTHROPIC_BASE_URL"] == HERE + "/~p=a%20b/anthropic"
    assert told["OPENCODE_BASE_URL"] == HERE + "/~p=a%20b"
    retagged, _ = environment(home, "--project", "c", env=told)
    assert retagged["ANTHROPIC_BASE_URL"] == HERE + "/~p=c/anthropic"
    home.configure('token = "secret-token-of-a-test"\n')
    told, _ = environment(home)
    assert told["OPENCODE_BASE_URL"] == HERE + "/~secret-token-of-a-test"


def fake_client(home, name):
    """A client that prints its environment and arguments, and ends with 7."""
    path = home.bin / name
    path.write_text('#!/bin/sh\nenv\nprintf "ARG=%s\\n" "$@"\nexit 7\n')
    path.chmod(0o755)
    return path


def test_run_gives_its_place_to_the_command(home, feed):
    home.listen(feed.port)
    fake_client(home, "opencode")
    done = home.run("run", "--project", ".", "--", "opencode", "run", "--x",
                    "a b", cwd=home.path)
    assert done.returncode == 7
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    base = "http://127.0.0.1:%d/~p=home" % feed.port
    assert seen["OPENCODE_BASE_URL"] == base
    assert seen["ANTHROPIC_BASE_URL"] == base + "/anthropic"
    assert re.findall("ARG=(.*)", done.stdout) == ["run", "--x", "a b"]


def of_home(home):
    """Processes of ours with that home."""
    mark = ("HOME=%s" % home.path).encode()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except (OSError, ValueError):
            pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_run_starts_a_daemon_that_stays(home):
    if "--port-file" not in home.run("serve", "--help").stdout:
        pytest.skip("no daemon in this build")
    home.listen(free_port())
    fake_client(home, "opencode")
    try:
        done = home.run("run", "opencode")
        assert done.returncode == 7
        assert "started a daemon" in done.stderr
        assert "serve.log" in done.stderr
        assert home.run("status").returncode == 0
        again = home.run("run", "opencode")
        assert again.returncode == 7 and "started" not in again.stderr
        assert len(list(of_home(home))) == 1
    finally:
        for pid in of_home(home):
            os.kill(pid, signal.SIGTERM)


def test_run_says_why_there_is_no_daemon(home, feed):
    """Something else has the port: said, and not waited for for ever."""
    feed.health = "not turnmeter"
    home.listen(feed.port)
    done = home.run("run", "--", "true")
    assert done.returncode == 3
    assert "does not answer" in done.stderr and "serve.log" in done.stderr


def test_run_without_dashes(home, feed):
    home.listen(feed.port)
    fake_client(home, "opencode")
    done = home.run("run", "opencode", "--json")
    assert done.returncode == 7 and "ARG=--json" in done.stdout


def test_run_of_what_is_not_there(home, feed):
    home.listen(feed.port)
    done = home.run("run", "--", "nosuch")
    assert done.returncode == 127 and "nosuch" in done.stderr
    (home.bin / "plain").write_text("x")
    assert home.run("run", "--", home.bin / "plain").returncode == 126


@pytest.mark.parametrize("config, override", [
    ("", 'openai_base_url="%s/openai/v1"'),
    (CODEX, 'openai_base_url="%s/openai/v1"'),
    (CODEX_OTHER, 'model_providers.zai.base_url="%s/zai/api/paas/v4"'),
])
def test_run_of_codex(home, feed, place, config, override):
    home.listen(feed.port)
    place("codex", config)
    client = fake_client(home, "codex")
    base = "http://127.0.0.1:%d" % feed.port
    done = home.run("run", "--", client, "exec", "hi")
    assert re.findall("ARG=(.*)", done.stdout) == ["-c", override % base,
                                                   "exec", "hi"]
    done = home.run("run", "--", client, "-c", 'openai_base_url="x"')
    assert re.findall("ARG=(.*)", done.stdout) == ["-c",
                                                   'openai_base_url="x"']


def test_codex_with_a_chatgpt_login(home, feed, place):
    home.listen(feed.port)
    place("codex", CODEX)
    (home.path / ".codex/auth.json").write_text(
        '{"OPENAI_API_KEY": null, "tokens": {"access_token": "t"}}')
    done = home.run("connect", "codex", "--yes")
    assert "/chatgpt/backend-api/codex" in done.stdout
    assert "access_token" not in done.stdout + done.stderr


@pytest.mark.parametrize("client, text, wanted", [
    ("claude", CLAUDE, ["ANTHROPIC_BASE_URL", "ENABLE_TOOL_SEARCH"]),
    ("codex", CODEX, ["openai_base_url"]),
    ("codex", CODEX_OTHER, ["zai/api/paas/v4"]),
    ("opencode", OPENCODE, ["llamacpp/v1"]),
])
def test_connect_and_undo(home, place, client, text, wanted):
    """Every line that does not change stays; a second time changes nothing;
    undo is byte for byte."""
    path = place(client, text)
    path.chmod(0o640)
    done = home.run("connect", client, "--yes")
    assert done.returncode == 0
    after = path.read_text()
    for name in wanted:
        assert name in after and name in done.stdout
    assert path.stat().st_mode & 0o777 == 0o640
    backup = path.with_name(path.name + ".turnmeter-backup")
    assert backup.read_text() == text
    assert backup.stat().st_mode & 0o077 == 0
    changed = [line for line in done.stdout.splitlines()
               if line.startswith("- ")]
    kept = [line for line in text.splitlines()
            if not any(line.split(":")[0] in c for c in changed)]
    for line in kept:
        assert line.rstrip(",") in after
    again = home.run("connect", client, "--yes")
    assert again.returncode == 0 and path.read_text() == after
    assert "points here already" in again.stdout
    undone = home.run("connect", client, "--undo", "--yes")
    assert undone.returncode == 0
    assert path.read_bytes() == text.encode()
    assert not backup.exists()
    assert home.run("connect", client, "--undo", "--yes").returncode == 1


def test_connect_opencode_in_detail(home, place):
    path = place("opencode", OPENCODE)
    done = home.run("connect", "opencode", "--yes", "--project", "shop")
    after = plain(path.read_text())
    base = HERE + "/~p=shop"
    expected = plain(OPENCODE)
    provider = expected["provider"]
    provider["cerebras"]["options"]["baseURL"] = base + "/cerebras/v1"
    provider["local"]["options"]["baseURL"] = base + "/llamacpp/v1"
    provider["anthropic"] = {"options": {"baseURL": base + "/anthropic/v1"}}
    provider["opencode"] = {"options": {"baseURL": base + "/opencode/zen/v1"}}
    assert after == expected
    assert "// what I work with" in path.read_text()
    assert "/* at home */" in path.read_text()
    assert 'upstream mine { url = "https://llm.example.com/v1" }' \
        in done.stderr


def test_connect_makes_and_unmakes_a_file(home):
    path = home.path / ".claude/settings.json"
    assert home.run("connect", "claude", "--yes").returncode == 0
    assert json.loads(path.read_text())["env"] == {
        "ANTHROPIC_BASE_URL": HERE + "/anthropic",
        "ENABLE_TOOL_SEARCH": "true"}
    assert home.run("connect", "claude", "--undo", "--yes").returncode == 0
    assert not path.exists()
    assert os.listdir(path.parent) == []


def test_connect_follows_a_link(home, place):
    real = home.path / "dotfiles.json"
    real.write_text(CLAUDE)
    path = home.path / ".claude/settings.json"
    path.parent.mkdir()
    path.symlink_to(real)
    assert home.run("connect", "claude", "--yes").returncode == 0
    assert path.is_symlink()
    assert "ANTHROPIC_BASE_URL" in real.read_text()


def test_connect_hides_secrets(home, place):
    place("claude", CLAUDE)
    done = home.run("connect", "claude", "--yes")
    assert "sk-ant" not in done.stdout + done.stderr
    assert '"ANTHROPIC_API_KEY": "…"' in done.stdout


def test_connect_asks_first(home, place):
    """Without a terminal nothing is changed; on one, only after y."""
    path = place("codex", CODEX)
    done = home.run("connect", "codex")
    assert done.returncode == 1 and "--yes" in done.stderr
    assert path.read_text() == CODEX
    for answer, changed in (("n\n", False), ("\n", False), ("y\n", True)):
        screen = home.terminal("connect", "codex")
        screen.wait_for(r"\+ openai_base_url")
        screen.wait_for(r"\[y/N\] ")
        screen.write(answer)
        screen.rest()
        assert (path.read_text() != CODEX) == changed


@pytest.mark.parametrize("client, text", [
    ("claude", "{ not json"), ("claude", "[]"),
    ("claude", '{"env": [1]}'), ("codex", 'notice = """\nx\n"""\n'),
    ("opencode", '{"provider": 7}'),
    ("opencode", '{"a": 1, "a": 2}'),
])
def test_connect_leaves_what_it_does_not_understand(home, place, client,
                                                    text):
    path = place(client, text)
    done = home.run("connect", client, "--yes")
    assert done.returncode == 1
    assert path.read_text() == text
    assert "cannot be changed safely; put in it" in done.stderr
    assert sorted(os.listdir(path.parent)) == [path.name]


def test_connect_does_not_write_what_it_cannot_read(home, place):
    path = place("codex", "\0")
    done = home.run("connect", "codex", "--yes")
    assert done.returncode == 1 and "cannot be read" in done.stderr
    assert path.read_text() == "\0"
