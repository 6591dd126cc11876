"""Reading from brokers, inflated within bounds: for workers, and for readers of single records.

It uses aiokafka's internals, each time with the reason.
"""
