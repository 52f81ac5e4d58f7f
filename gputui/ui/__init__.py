"""The screen: draws frames, decides nothing. Only this room imports textual."""
