#!/bin/bash
# Puts the shards of slurm-shards.sh together: the run is FOLDER/run. Shards that are missing are
# named, and nothing is written.
#
#   sbatch --dependency="afterok:$shards" slurm-merge.sh FOLDER [OPTIONS OF recap merge]
#
#SBATCH --job-name=recap-merge
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=01:00:00
set -euo pipefail

folder=$1
shift
exec recap merge "$folder"/shards/* --out "$folder/run" "$@"
