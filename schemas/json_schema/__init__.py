"""The engine for JSON Schemas that users wrote: SAP contracts and the manifests of Summit.

It takes bounded time and memory and never uses the network.  `graph` and `cost` determine what a
schema could require before it is used, `validator` checks values with counted keywords, and
`defaults` fills in defaults.
"""
