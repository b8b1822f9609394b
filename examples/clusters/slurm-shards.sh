#!/bin/bash
# Replays sessions in shards on Slurm, each in a task of a job array; the folder is one that all
# nodes see.
#
#   shards=$(sbatch --parsable --array=1-64 slurm-shards.sh SESSIONS FOLDER [OPTIONS OF recap bench])
#   sbatch --dependency="afterok:$shards" slurm-merge.sh FOLDER
#
# Tasks that failed are submitted again by their numbers, and go on with what they had finished:
#
#   SHARDS=64 sbatch --array=5,9 slurm-shards.sh SESSIONS FOLDER [THE SAME OPTIONS]
#
#SBATCH --job-name=recap-shards
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=12:00:00
#SBATCH --requeue
set -euo pipefail

sessions=$1 folder=$2
shift 2
exec recap bench "$sessions" --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" \
    --out "$folder/shards/$SLURM_ARRAY_TASK_ID" --resume --jobs "$SLURM_CPUS_PER_TASK" --quiet "$@"
