"""Coverage-guided fuzzing, bounded by a count of runs: nothing but coded errors may come out."""
