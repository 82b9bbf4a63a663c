# SPDX-License-Identifier: Apache-2.0
# timeout: 5400
# labels: long
# processors: 2
"""test_bad_input.py and test_fit_options.py with a program built under AddressSanitizer and UndefinedBehaviorSanitizer together.

The build is made here (build/variants/bad-input-sanitized), incrementally. A finding ends the program with code 99,
which no row allows.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(os.environ.get("ARTEL_BUILD") or os.path.join(SOURCE, "build"), "variants", "bad-input-sanitized")


def build():
    os.makedirs(BUILD, exist_ok=True)
    for command in (["cmake", "-S", SOURCE, "-B", BUILD, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Sanitize",
                     "-DARTEL_SANITIZE=address,undefined", "-DARTEL_SCRIPT_TESTS=OFF", "-DARTEL_EXAMPLES=OFF", "-DARTEL_TESTS=OFF"],
                    ["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", "programs"]):
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            sys.exit("%s\n%s" % (" ".join(command), made.stdout[-3000:].decode(errors="replace")))


if __name__ == "__main__":
    build()
    env = dict(os.environ, ARTEL=os.path.join(BUILD, "artel"), ARTEL_SANITIZED="1", ARTEL_MUTANTS=os.environ.get("ARTEL_MUTANTS", "300"),
               ASAN_OPTIONS="exitcode=99:detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="halt_on_error=1:exitcode=99:print_stacktrace=1")
    env.setdefault("ARTEL_RUNS", "400")
    wrong = [name for name, words in (("test_bad_input.py", sys.argv[1:]), ("test_fit_options.py", []))
             if subprocess.run([sys.executable, os.path.join(HERE, name), *words], env=env).returncode]
    sys.exit("%s failed" % " ".join(wrong) if wrong else 0)
