"""Brokers and state stores other than one plain server: real servers, hosts and workers."""
