"""Events that are posted to addresses which clients name: webhooks of MCP, push of A2A.

A door says which events a subscription is owed, and in which form.  Here are the store of
subscriptions on the log, and the sender that posts in order, again and again, until each event is
taken.  What a gateway had not finished, another one goes on with.
"""
