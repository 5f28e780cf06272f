"""Runs the command of verify.py in forked processes, for tests: a fork takes a tenth of the time of a new interpreter.

As a program, it reads requests from standard input, one JSON object per line: `arguments` (texts) and `stdin` (base64). For each request it
writes one line to standard output: a JSON object with `status`, `out` and `err`. It exits when its standard input ends."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback

import verify

SECONDS_MAX = 60


def run_forked(arguments, stdin=b'', folder=None):
    """Runs `verify.py ARGUMENTS` in a folder. Returns what subprocess.run returns.

    The return code is -14 if the command does not end within SECONDS_MAX."""
    with tempfile.TemporaryFile() as stdin_file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        stdin_file.write(stdin)
        stdin_file.seek(0)
        pid = os.fork()
        if pid == 0:
            _run(arguments, (stdin_file, out, errors), folder)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), out.read(), errors.read())


def _run(arguments, streams, folder):
    """Runs the command in the child process, and then ends the child process."""
    code = os.EX_SOFTWARE
    try:
        signal.alarm(SECONDS_MAX)
        for descriptor, stream in enumerate(streams):
            os.dup2(stream.fileno(), descriptor)
        sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, 'w', closefd=False), open(2, 'w', closefd=False)
        sys.argv[0] = 'verify.py'
        if folder is not None:
            os.chdir(folder)
        code = verify.main(arguments)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        process = run_forked(request['arguments'], base64.b64decode(request['stdin']))
        response = {'status': process.returncode, 'out': process.stdout.decode(), 'err': process.stderr.decode()}
        print(json.dumps(response), flush=True)


if __name__ == '__main__':
    main()
