"""Line-API widgets: each keeps its rows, compares, and refreshes only what changed."""
