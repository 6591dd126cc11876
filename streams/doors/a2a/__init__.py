"""Agent2Agent (A2A) 1.0 at `/a2a/{agentId}`: the agents of Summit, for all clients that speak it.

A task of A2A is a run of Summit.  The door decides nothing and keeps nothing: messages and cancels
become calls on the log, and tasks and streams are read from runs and their facts, so any gateway
answers any request and goes on with any stream.
"""
