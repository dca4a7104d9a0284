"""Test vectors of canonical form and chain, for whoever writes a second implementation."""
