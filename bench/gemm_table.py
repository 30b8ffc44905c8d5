#!/usr/bin/env python3
"""Times host-to-host gemm in one run: the CPU's BLAS, blaslift, NVBLAS, NVBLAS with autopin.

Each candidate is the same program, gemm_time, with another library preloaded; medians of several calls, two sets of
operands in turn, results checked by the program.  Writes gemm_table.md and gemm_table.json.
"""

import argparse
import datetime
import glob
import json
import os
import subprocess
import sys
import tempfile

SIZES = {
    "d": ["1024", "2048", "4096", "8192", "16384"],
    "s": ["1024", "2048", "4096", "8192", "16384"],
    "z": ["1024", "2048", "4096", "8192"],
}
QUICK = {"d": ["1024", "4096"], "s": ["4096"], "z": ["2048"]}


def repetitions(precision, size):
    """Many for small products, few where one call takes seconds."""
    n = int(size) * (2 if precision == "z" else 1)
    return 15 if n <= 2048 else 7 if n <= 4096 else 3 if n <= 8192 else 1


def find_library(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            return os.path.realpath(path)
    return None


def cpu_blas():
    """The CPU's best BLAS on this machine, as the program's libblas.so.3."""
    return find_library(
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/libopenblas*.so*",
        "/usr/lib/x86_64-linux-gnu/libblas.so.3",
    )


def nvblas():
    found = find_library(
        "/usr/local/cuda/lib64/libnvblas.so.*", "/usr/local/cuda*/targets/*/lib/libnvblas.so.*",
        "/usr/lib/x86_64-linux-gnu/libnvblas.so.*",
    )
    if found:
        return found
    for directory in sys.path:
        found = find_library(os.path.join(directory, "nvidia/*/lib/libnvblas.so.*"))
        if found:
            return found
    return None


def candidates(build, scratch, blas):
    """name -> (command prefix, environment)"""
    base = {"LD_LIBRARY_PATH": scratch + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
    found = {
        "CPU": ([], base),
        "blaslift": ([os.path.join(build, "bin/blaslift"), "run", "--json", os.path.join(scratch, "run.json"), "-q"], base),
    }
    library = nvblas()
    if library:
        for name, pin in (("NVBLAS", False), ("NVBLAS autopin", True)):
            config = os.path.join(scratch, f"nvblas-{pin}.conf")
            with open(config, "w") as f:
                f.write(f"NVBLAS_LOGFILE {scratch}/nvblas.log\nNVBLAS_CPU_BLAS_LIB {blas}\nNVBLAS_GPU_LIST 0\n")
                f.write("NVBLAS_AUTOPIN_MEM_ENABLED\n" if pin else "")
            path = os.path.dirname(library) + ":" + base["LD_LIBRARY_PATH"]
            found[name] = ([], base | {"LD_PRELOAD": library, "NVBLAS_CONFIG_FILE": config, "LD_LIBRARY_PATH": path})
    else:
        print("NVBLAS was not found: its columns are missing", file=sys.stderr)
    return found


def measure(program, prefix, environment, precision, size):
    command = prefix + [program, precision, str(repetitions(precision, size)), size]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        print(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}", file=sys.stderr)
        return None
    return float(done.stdout.split()[4])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--precisions", default="dsz")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bin/gemm_time")
    blas = cpu_blas()
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    head = {
        "gpu": gpu.stdout.strip() or "none",
        "date": datetime.date.today().isoformat(),
        "commit": arguments.commit,
        "cores": os.cpu_count(),
        "cpu_blas": blas,
    }
    rows, right = [], True
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(blas, os.path.join(scratch, "libblas.so.3"))
        found = candidates(arguments.build, scratch, blas)
        lines = [
            f"{head['gpu']}, {head['cores']} cores, {os.path.basename(blas)}, {head['date']}, commit {head['commit']}: "
            "median milliseconds a call, operands and result in pageable host memory",
            "",
            "| product | " + " | ".join(found) + " | blaslift ran on |",
            "|---|" + "---:|" * len(found) + "---|",
        ]
        print("\n".join(lines), flush=True)
        for precision in arguments.precisions:
            for size in (QUICK if arguments.quick else SIZES)[precision]:
                row = {"precision": precision, "n": int(size)}
                where = "?"
                for name, (prefix, environment) in found.items():
                    row[name] = measure(program, prefix, environment, precision, size)
                    right = right and row[name] is not None
                    if name == "blaslift" and row[name] is not None:
                        with open(os.path.join(scratch, "run.json")) as f:
                            routine = json.load(f)["routines"][precision + "gemm"]
                        row["routed"], row["calls"], row["stayed"] = routine["routed"], routine["calls"], routine["stayed"]
                        where = "GPU" if row["routed"] == row["calls"] else f"GPU {row['routed']} of {row['calls']}"
                        if routine["stayed"]:
                            where += " (" + ", ".join(f"{k} {v}" for k, v in routine["stayed"].items()) + ")"
                rows.append(row)
                times = " | ".join("failed" if row[n] is None else f"{row[n] * 1e3:.2f}" for n in found)
                lines.append(f"| {precision}gemm {size} | {times} | {where} |")
                print(lines[-1], flush=True)
    with open(os.path.join(arguments.results, "gemm_table.md"), "w") as f:
        f.write("\n".join(lines) + "\n")
    with open(os.path.join(arguments.results, "gemm_table.json"), "w") as f:
        json.dump(head | {"rows": rows}, f, indent=1)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
