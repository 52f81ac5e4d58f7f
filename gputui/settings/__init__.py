"""What a person prefers: a flag, else an environment variable, else the settings file, else the default."""
