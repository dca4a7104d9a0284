"""`ebbtide breaker`: looks at sessions whose summaries fail, and lets them try again."""
