"""SAP 2.0: tasks, outcomes, the constitutional cache, and learning from outcomes."""
