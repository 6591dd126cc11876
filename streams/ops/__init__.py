"""What operators run: brokers, topics, rights, audits, redrives, rewinds, sinks, the doctor."""
