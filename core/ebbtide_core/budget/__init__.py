"""How large a request will be, and where to cut: tokenizer, measure, boundary."""
