"""gputui: is the NVIDIA card you rent the card you pay for?"""

__version__ = "0.1.0"
