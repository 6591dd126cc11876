"""The HTTP gateway: the routes over live views and Kafka."""
