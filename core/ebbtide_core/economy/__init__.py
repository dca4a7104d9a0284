"""What requests cost: rates of models, bills of requests, and when a swap pays."""
