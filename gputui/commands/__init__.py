"""One module a command. Text commands never import textual."""
