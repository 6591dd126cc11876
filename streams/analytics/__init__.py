"""The log as columns: an export of topics into a folder of Parquet files.

Needs the extra `analytics`.  Nothing of it runs in workers or gateways.
"""
