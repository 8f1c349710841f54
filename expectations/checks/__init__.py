"""The checks: one a file, each the name that `gate:` states it by."""
