"""APC/1.0: packets between swarms, their throttling, delivery, verification and spread."""
