"""One engine for JSON Schemas that others wrote: SAP contracts and the manifests of Summit.

It takes bounded time and memory, without the network.  `graph` and `cost` say what a schema could
ask for before it is used, `validator` checks values with counted keywords, and `defaults` fills
them in.
"""
