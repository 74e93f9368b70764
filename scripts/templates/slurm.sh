#!/bin/bash
# One rank count of a scaling study as an array job, a task for each of its points. Copy it, put in
# what your machine asks for (partition, account, modules), and give the copy to
# `catena study --slurm`. @WORDS@ are filled in there.
#SBATCH --job-name=@NAME@
#SBATCH --ntasks=@RANKS@
#SBATCH --cpus-per-task=1
#SBATCH --array=1-@TASKS@%1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=%x-%a.log

# %1: one task at a time, so that points of the same study do not disturb each other
launch() { srun --cpu-bind=cores "$@"; }

@COMMANDS@
