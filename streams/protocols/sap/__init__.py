"""SAP 2.0: tasks, outcomes, the constitutional cache, and what is learned from both."""
