"""The live page of a robot: its state as nodes tell it, who operates it, and what is under way.

Nothing here knows ROS or how a page is drawn: nodes fill the state in, pages show it.
"""
