"""Operator tools: brokers, topics, ACLs, audits, redrives, rewinds, sinks, the doctor."""
