"""`ebbtide account`: how the providers' accounts stand, and lifting a block once its cause is mended."""
