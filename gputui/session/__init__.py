"""What leaves the program: the JSON document, snapshots, redaction."""
