#!/bin/bash
# Several MPI ranks on each GPU, for Slurm: sbatch ranks-per-gpu.sh ./solver input.dat
#
# Each rank takes one of the node's GPUs, and an even share of its memory.  For that it must see all of them, so nothing
# here binds a rank to a GPU (--gpus-per-task, --gpu-bind).  And it must know how many ranks there are on its node, which
# Slurm tells if --ntasks-per-node is given.  Words after sbatch count before these lines.  Four ranks on one GPU:
#   sbatch --nodes=1 --ntasks-per-node=4 --gpus-per-node=1 --mem=64G ranks-per-gpu.sh ./solver input.dat
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=16
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --mem=256G
#SBATCH --time=01:00:00
set -euo pipefail
# module load blaslift    # where blaslift is a module of the site

if (($# == 0)); then
  echo "usage: sbatch ranks-per-gpu.sh program [arguments]" >&2
  exit 2
fi
if [[ -z ${SLURM_JOB_ID:-} || -z ${SLURM_NTASKS_PER_NODE:-} ]]; then
  echo "ranks-per-gpu.sh: error: not in a job of Slurm that has --ntasks-per-node" >&2
  exit 2
fi

# Each rank has its cores, also for calls that stay on the CPU: srun no longer takes the job's --cpus-per-task by itself
# (Slurm 22.05), and a BLAS would start a thread for each core of the node.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$SRUN_CPUS_PER_TASK}

# NVIDIA's MPS lets ranks compute on a GPU at the same time; without it they take turns.  One daemon on each node, as a
# step of its own, since a step's processes end with the step.  Its files must lie on a disk of the node.  Where the
# site runs MPS itself, that is used as it is.
on_each_node() { srun --overlap --cpus-per-task=1 --ntasks-per-node=1 --ntasks="$SLURM_JOB_NUM_NODES" "$@"; }
daemons=
if [[ -e ${CUDA_MPS_PIPE_DIRECTORY:-/nowhere}/control ]]; then
  echo "MPS is the site's own, in $CUDA_MPS_PIPE_DIRECTORY" >&2
elif command -v nvidia-cuda-mps-control >/dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps-$SLURM_JOB_ID/pipe CUDA_MPS_LOG_DIRECTORY=/tmp/mps-$SLURM_JOB_ID/log
  # shellcheck disable=SC2016
  on_each_node bash -c 'mkdir -m 700 "${CUDA_MPS_PIPE_DIRECTORY%/pipe}" &&
    mkdir "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY" && exec nvidia-cuda-mps-control -f' &
  daemons=$!
  # shellcheck disable=SC2016
  on_each_node bash -c 'for ((i = 0; i < 300; ++i)); do
      [[ -e $CUDA_MPS_PIPE_DIRECTORY/control ]] && exit
      sleep 0.1
    done
    echo "$(hostname): MPS has not started, so ranks take turns" >&2' || true
else
  echo "no nvidia-cuda-mps-control here: ranks take turns on a GPU" >&2
fi

status=0
srun blaslift run -q --report "${SLURM_SUBMIT_DIR:-$PWD}/$SLURM_JOB_ID.jsonl" -- "$@" || status=$?

if [[ -n $daemons ]]; then
  # shellcheck disable=SC2016
  on_each_node bash -c 'echo quit | nvidia-cuda-mps-control; rm -rf "${CUDA_MPS_PIPE_DIRECTORY%/pipe}"' || true
  wait "$daemons" || true
fi
exit "$status"
