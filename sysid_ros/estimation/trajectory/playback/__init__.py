"""Parameters of flexible objects and other discrete mechanics, from what a robot feels of them."""
