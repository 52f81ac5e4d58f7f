"""What a person asked to be told about: conditions on cards, the alerts they become, the command they start."""
