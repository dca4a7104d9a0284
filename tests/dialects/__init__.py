"""The provider dialects: canonical form, parts, weight, provider rules."""
