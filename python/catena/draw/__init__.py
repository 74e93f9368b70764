"""Pictures of snapshots with VTK: `Result.picture` and scripts/user/render.py."""
